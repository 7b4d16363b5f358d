// Runs of one task over very many keys, each under a limit of 1, beside the same without limits.

#include <algorithm>
#include <cstdint>
#include <expected>
#include <string>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <fmt/format.h>

#include "base/clock.h"
#include "bench/vortex/benches.h"
#include "bench/vortex/fleet.h"
#include "bench/vortex/measure.h"
#include "cli/local/cluster.h"

namespace vortex::cli::bench {
namespace {

namespace asio = boost::asio;

constexpr std::uint32_t kRunsPerCall = 1'000;
constexpr std::size_t kRounds = 5;

enum class Side : std::uint8_t { kFree, kLimited };

std::string dag_of(Side side) {
  constexpr const char* kLimit = R"("concurrency":{"key":"${{ params.k }}","limit":1},)";
  return fmt::format(R"({{"name":"{}",{}"tasks":{{"a":{{"run":["true"]}}}}}})",
                     side == Side::kLimited ? "limited" : "free",
                     side == Side::kLimited ? kLimit : "");
}

struct KeyedLoad {
  Side side = Side::kFree;
  std::uint64_t runs = 0;
  std::uint32_t keys = 1;
  std::string trouble;
};

asio::awaitable<void> submit_all(asio::io_context& io, const Door& server, KeyedLoad& load) {
  net::Client client(io.get_executor(), server);
  const std::string dag = dag_of(load.side);
  for (std::uint64_t done = 0; done < load.runs && load.trouble.empty(); done += kRunsPerCall) {
    std::string body = fmt::format(R"({{"dag":{},"runs":[)", dag);
    for (std::uint64_t i = done; i < done + kRunsPerCall; ++i) {
      body += fmt::format(R"({}{{"params":{{"k":{}}}}})", i == done ? "" : ",", i % load.keys);
    }
    net::Call call;
    call.method = net::Method::kPost;
    call.target = "/api/runs:batch";
    call.body = body + "]}";
    const auto answer = co_await client.send(std::move(call));
    if (!answer) {
      load.trouble = answer.error().detail;
    } else if (answer->status >= 300) {
      load.trouble = answer->body;
    }
  }
}

// From the first submit until every run has ended.
std::expected<double, std::string> runs_per_second(const Door& server, const Fleet& fleet,
                                                   KeyedLoad load) {
  const std::uint64_t before = fleet.completed();
  asio::io_context io{1};
  asio::co_spawn(io, submit_all(io, server, load), asio::detached);
  const Instant begin = boot_clock_now();
  io.run();
  if (!load.trouble.empty()) return std::unexpected(load.trouble);
  while (fleet.completed() - before < load.runs) rest(millis(2));
  return static_cast<double>(load.runs) / seconds_of(boot_clock_now() - begin);
}

}  // namespace

std::expected<void, std::string> run_limits_bench(const LimitsBench& bench) {
  const local::TempFolder folder;
  local::ControllerConfig config;
  config.folder = folder.path();
  auto child = local::ControllerProcess::start(config);
  if (!child) return std::unexpected(child.error());
  const Door server((*child)->client());
  const Fleet fleet({.server = server, .workers = 4, .slots = 500}, {});
  while (fleet.calls() < 4) rest(millis(1));
  const std::uint64_t runs = bench.runs / kRunsPerCall * kRunsPerCall;
  std::vector<double> rates[2];
  std::vector<double> ratios;
  fmt::print("limits: {} runs of one task over {} keys, without limits and with 1 at once\n", runs,
             bench.keys);
  fmt::print("  {:>8} {:>12} {:>12} {:>8}\n", "round", "without/s", "with/s", "ratio");
  for (std::size_t round = 0; round < kRounds; ++round) {
    for (std::size_t turn : {0U, 1U}) {
      const std::size_t side = (round + turn) % 2;
      const auto rate = runs_per_second(
          server, fleet, {side == 0 ? Side::kFree : Side::kLimited, runs, bench.keys, {}});
      if (!rate) return std::unexpected(rate.error());
      rates[side].push_back(*rate);
    }
    ratios.push_back(rates[1].back() / rates[0].back());
    fmt::print("  {:>8} {:>12.0f} {:>12.0f} {:>8.2f}\n", round + 1, rates[0].back(),
               rates[1].back(), ratios.back());
  }
  for (auto* all : {&rates[0], &rates[1], &ratios}) std::ranges::sort(*all);
  fmt::print(
      "{{\"bench\":\"limits\",\"runs\":{},\"keys\":{},\"runs_per_s\":{:.0f},"
      "\"limited_runs_per_s\":{:.0f},\"ratio\":{:.3f}}}\n",
      runs, bench.keys, rates[0][kRounds / 2], rates[1][kRounds / 2], ratios[kRounds / 2]);
  return {};
}

}  // namespace vortex::cli::bench
