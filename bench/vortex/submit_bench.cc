// Submits of runs of one task: one by one over many connections, then many in one call.

#include <atomic>
#include <cstdint>
#include <exception>
#include <expected>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <fmt/format.h>

#include "base/clock.h"
#include "bench/vortex/bare_loop.h"
#include "bench/vortex/benches.h"
#include "bench/vortex/fleet.h"
#include "bench/vortex/measure.h"
#include "cli/local/cluster.h"

namespace vortex::cli::bench {
namespace {

namespace asio = boost::asio;

constexpr const char* kDag = R"({"name":"one","tasks":{"a":{"run":["true"]}}})";
constexpr std::uint32_t kBareSet = 1'000;

std::string single_body() { return fmt::format(R"({{"dag":{}}})", kDag); }

std::string batch_body(std::uint32_t runs) {
  std::string body = fmt::format(R"({{"dag":{},"runs":[{{}})", kDag);
  for (std::uint32_t i = 1; i < runs; ++i) body += ",{}";
  return body + "]}";
}

// What all connections of one measurement share; on one thread.
struct Load {
  std::string target;
  std::string body;
  std::uint64_t calls_left = 0;
  std::string trouble;  // the first; ends all
};

asio::awaitable<void> send_calls(asio::io_context& io, const Door& server, Load& load) {
  net::Client client(io.get_executor(), server);
  while (load.calls_left > 0 && load.trouble.empty()) {
    --load.calls_left;
    net::Call call;
    call.method = net::Method::kPost;
    call.target = load.target;
    call.body_view = load.body;
    const auto answer = co_await client.send(std::move(call));
    if (!answer) {
      load.trouble = answer.error().detail;
    } else if (answer->status >= 300) {
      load.trouble = answer->body;
    }
  }
}

struct Submits {
  double per_second = 0;
  double controller_cpu_us = 0;  // per run
};

struct Shape {
  std::uint64_t runs = 0;
  std::uint32_t runs_per_call = 1;
  std::uint32_t connections = 1;
};

std::expected<Submits, std::string> measure(local::ControllerProcess& controller,
                                            const Shape& shape) {
  Load load;
  load.target = shape.runs_per_call == 1 ? "/api/runs" : "/api/runs:batch";
  load.body = shape.runs_per_call == 1 ? single_body() : batch_body(shape.runs_per_call);
  load.calls_left = shape.runs / shape.runs_per_call;
  const double runs = static_cast<double>(load.calls_left * shape.runs_per_call);
  asio::io_context io{1};
  const Door server(controller.client());
  for (std::uint32_t i = 0; i < shape.connections; ++i) {
    asio::co_spawn(io, send_calls(io, server, load), asio::detached);
  }
  const double cpu_before = controller.use().cpu_seconds;
  const Instant begin = boot_clock_now();
  io.run();
  if (!load.trouble.empty()) return std::unexpected(load.trouble);
  return Submits{runs / seconds_of(boot_clock_now() - begin),
                 (controller.use().cpu_seconds - cpu_before) / runs * 1e6};
}

}  // namespace

std::expected<void, std::string> run_submit_bench(const SubmitBench& bench) {
  const local::TempFolder folder;
  local::ControllerConfig config;
  config.folder = folder.path();
  auto child = local::ControllerProcess::start(config);
  if (!child) return std::unexpected(child.error());
  // Once for nothing: connections, caches and the plan are warm for both.
  const auto warm = measure(**child, {.runs = 1'000, .connections = bench.connections});
  if (!warm) return std::unexpected(warm.error());
  const auto single = measure(**child, {.runs = bench.runs, .connections = bench.connections});
  if (!single) return std::unexpected(single.error());
  const auto batch =
      measure(**child, {.runs = bench.runs, .runs_per_call = bench.batch, .connections = 2});
  if (!batch) return std::unexpected(batch.error());
  (*child)->stop();
  const auto bare = store::run_bare_loop(folder.path() + "/bare.db", bench.runs, kBareSet);
  if (!bare) return std::unexpected(bare.error().detail);
  const double lives = bare->tasks_per_second();
  fmt::print("submit: {} runs of one task, SQLite FULL\n", bench.runs);
  fmt::print("  {:<32}{:>10} {:>8} {:>14}\n", "", "runs/s", "ratio", "CPU per run");
  fmt::print("  {:<32}{:>10.0f} {:>8.2f} {:>11.1f} us\n",
             fmt::format("one by one, {} connections", bench.connections), single->per_second,
             single->per_second / lives, single->controller_cpu_us);
  fmt::print("  {:<32}{:>10.0f} {:>8.2f} {:>11.1f} us\n",
             fmt::format("{} in each call", bench.batch), batch->per_second,
             batch->per_second / lives, batch->controller_cpu_us);
  fmt::print("  {:<32}{:>10.0f}\n", "bare loop, whole lives of tasks", lives);
  fmt::print(
      "{{\"bench\":\"submit\",\"runs\":{},\"single_per_s\":{:.0f},\"batch_per_s\":{:.0f},"
      "\"bare_tasks_per_s\":{:.0f},\"ratio_single\":{:.3f},\"ratio_batch\":{:.3f}}}\n",
      bench.runs, single->per_second, batch->per_second, lives, single->per_second / lives,
      batch->per_second / lives);
  return {};
}

}  // namespace vortex::cli::bench
