#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "base/clock.h"
#include "bench/vortex/bare_loop.h"
#include "bench/vortex/benches.h"
#include "bench/vortex/drive.h"
#include "bench/vortex/fleet.h"
#include "bench/vortex/measure.h"
#include "bench/vortex/postgres_bench.h"
#include "bench/vortex/replay.h"
#include "cli/local/cluster.h"

namespace vortex::cli::bench {
namespace {

constexpr std::uint32_t kHandOvers = 300;
constexpr std::uint32_t kBareSet = 1'000;

// From the submit of a run of one task to its arrival at an idle, waiting agent.
std::expected<void, std::string> hand_overs(const net::Endpoint& server, Samples& latency) {
  std::atomic<std::int64_t> arrived_us{0};
  BenchWorkerWatch watch;
  watch.on_assigned = [&](const Assignment&) { arrived_us = boot_clock_now().us; };
  const Fleet fleet({.server = server, .workers = 4, .slots = 1, .prefix = "idle"}, watch);
  while (fleet.calls() < 4) rest(millis(1));
  for (std::uint32_t i = 0; i < kHandOvers; ++i) {
    arrived_us = 0;
    const Instant begin = boot_clock_now();
    const auto run = submit(server, R"({"dag":{"name":"one","tasks":{"a":{"run":["true"]}}}})");
    if (!run) return std::unexpected(run.error());
    while (arrived_us == 0) rest(micros(50));
    latency.add(Instant{arrived_us} - begin);
  }
  return {};
}

void print_table(const EngineBench& bench, const Throughput& t, const Samples& latency, double bare,
                 double replayed) {
  const auto tasks = static_cast<double>(bench.tasks);
  fmt::print("engine: {} no-op tasks, {} agents with {} slots, {}\n", bench.tasks, bench.agents,
             bench.slots, bench.database_url.empty() ? "SQLite FULL" : "PostgreSQL");
  fmt::print("  submit -> done        {:>10.0f} tasks/s\n", tasks / t.seconds);
  fmt::print("  bare loop, sets of {}  {:>8.0f} tasks/s\n", kBareSet, bare);
  fmt::print("  ratio                 {:>10.2f}\n", tasks / t.seconds / bare);
  fmt::print("  our rows, bare        {:>10.0f} tasks/s  (ratio to the bare loop {:.2f})\n",
             replayed, replayed / bare);
  fmt::print("  commits               {:>10.0f} /s  with {:.0f} rows each\n", t.commits / t.seconds,
             t.commits > 0 ? t.rows / t.commits : 0);
  fmt::print("  rows per task         {:>10.2f}\n", t.rows / tasks);
  fmt::print("  CPU per task          {:>10.1f} us controller, {:.1f} us agents\n",
             t.controller_cpu / tasks * 1e6, t.agents_cpu / tasks * 1e6);
  fmt::print("  controller memory     {:>10.1f} MiB at most\n",
             static_cast<double>(t.resident_max) / (1 << 20));
  fmt::print("  other requests        {:>10.2f} ms p99, {:.2f} ms at most, of {}\n",
             t.requests_p99_ms, t.requests_max_ms, t.requests);
  fmt::print("  hand-over             {:>10.2f} ms p50, {:.2f} ms p99\n",
             seconds_of(latency.percentile(500)) * 1e3, seconds_of(latency.percentile(990)) * 1e3);
}

void print_json(const EngineBench& bench, const Throughput& t, const Samples& latency, double bare,
                double replayed) {
  const auto tasks = static_cast<double>(bench.tasks);
  fmt::print(
      "{{\"bench\":\"engine\",\"database\":\"{}\",\"tasks\":{},\"agents\":{},\"tasks_per_s\":{:.0f}"
      ","
      "\"bare_tasks_per_s\":{:.0f},\"ratio\":{:.3f},\"replayed_tasks_per_s\":{:.0f},"
      "\"commits_per_s\":{:.1f},\"rows_per_commit\":{:.1f},\"controller_cpu_us\":{:.2f},"
      "\"handover_p50_ms\":{:.3f},\"handover_p99_ms\":{:.3f},\"request_max_ms\":{:.2f},"
      "\"resident_mib\":{:.1f}}}\n",
      bench.database_url.empty() ? "sqlite" : "postgresql", bench.tasks, bench.agents,
      tasks / t.seconds, bare, tasks / t.seconds / bare, replayed, t.commits / t.seconds,
      t.commits > 0 ? t.rows / t.commits : 0, t.controller_cpu / tasks * 1e6,
      seconds_of(latency.percentile(500)) * 1e3, seconds_of(latency.percentile(990)) * 1e3,
      t.requests_max_ms, static_cast<double>(t.resident_max) / (1 << 20));
}

}  // namespace

namespace {

constexpr std::size_t kTlsRounds = 5;

// One controller with TLS and tokens, one without; the same work for each in turn, so that a
// machine that is slower for a while is so for both.
std::expected<void, std::string> run_tls_bench(const EngineBench& bench) {
  const local::TempFolder folders[2];
  std::unique_ptr<local::ControllerProcess> controllers[2];
  std::vector<double> rates[2];
  double cpu[2] = {0, 0};
  for (std::size_t side : {0U, 1U}) {
    local::ControllerConfig config;
    config.folder = folders[side].path();
    config.secured = side == 1;
    auto child = local::ControllerProcess::start(config);
    if (!child) return std::unexpected(child.error());
    controllers[side] = *std::move(child);
  }
  fmt::print("engine: {} no-op tasks, {} agents with {} slots, without and with TLS and tokens\n",
             bench.tasks, bench.agents, bench.slots);
  fmt::print("  {:>8} {:>12} {:>12} {:>8}\n", "round", "without/s", "with/s", "ratio");
  for (std::size_t round = 0; round < kTlsRounds; ++round) {
    for (std::size_t turn : {0U, 1U}) {
      const std::size_t side = (round + turn) % 2;
      const auto done = drive({bench.tasks, bench.agents, bench.slots}, *controllers[side]);
      if (!done) return std::unexpected(done.error());
      rates[side].push_back(static_cast<double>(bench.tasks) / done->seconds);
      cpu[side] += done->controller_cpu / static_cast<double>(bench.tasks * kTlsRounds) * 1e6;
    }
    fmt::print("  {:>8} {:>12.0f} {:>12.0f} {:>8.2f}\n", round + 1, rates[0].back(),
               rates[1].back(), rates[1].back() / rates[0].back());
  }
  // Round by round: what slows the machine down for a while slows both sides of a round.
  std::vector<double> ratios;
  for (std::size_t i = 0; i < kTlsRounds; ++i) ratios.push_back(rates[1][i] / rates[0][i]);
  std::ranges::sort(ratios);
  const double ratio = ratios[kTlsRounds / 2];
  for (auto& side : rates) std::ranges::sort(side);
  const double without = rates[0][kTlsRounds / 2];
  const double with = rates[1][kTlsRounds / 2];
  fmt::print("  CPU per task          {:>10.1f} us without, {:.1f} us with\n", cpu[0], cpu[1]);
  fmt::print("  tls_ratio             {:>10.2f}\n", ratio);
  fmt::print(
      "{{\"bench\":\"engine_tls\",\"tasks\":{},\"tasks_per_s\":{:.0f},"
      "\"tls_tasks_per_s\":{:.0f},\"tls_ratio\":{:.3f}}}\n",
      bench.tasks, without, with, ratio);
  return {};
}

}  // namespace

namespace {

// The same three databases of either kind: for the controller, for the bare loop, for the replay.
struct Yardsticks {
  double bare = 0;
  double replayed = 0;
};

std::expected<Yardsticks, std::string> measure_yardsticks(const EngineBench& bench,
                                                          const std::string& folder) {
  ReplayConfig rows{folder + "/replay.db", bench.tasks, 1, bench.agents, bench.slots, {}};
  store::Result<store::BareResult> bare;
  store::BenchSchema bare_schema(bench.database_url, "bare");
  store::BenchSchema replay_schema(bench.database_url, "replay");
  if (bench.database_url.empty()) {
    bare = store::run_bare_loop(folder + "/bare.db", bench.tasks, kBareSet);
  } else {
    for (auto* schema : {&bare_schema, &replay_schema}) {
      if (auto made = schema->make(); !made) return std::unexpected(made.error().detail);
    }
    bare = store::run_bare_postgres(bare_schema.url(), bench.tasks, kBareSet);
    rows.url = replay_schema.url();
  }
  if (!bare) return std::unexpected(bare.error().detail);
  const auto replayed = replay(rows);
  if (!replayed) return std::unexpected(replayed.error());
  return Yardsticks{bare->tasks_per_second(),
                    static_cast<double>(bench.tasks) / seconds_of(replayed->writing)};
}

}  // namespace

std::expected<void, std::string> run_engine_bench(const EngineBench& bench) {
  if (bench.tls) return run_tls_bench(bench);
  const local::TempFolder folder;
  store::BenchSchema schema(bench.database_url, "engine");
  local::ControllerConfig config;
  config.folder = folder.path();
  if (!bench.database_url.empty()) {
    if (auto made = schema.make(); !made) return std::unexpected(made.error().detail);
    config.environment.push_back("VORTEX_DATABASE_URL=" + schema.url());
  }
  auto child = local::ControllerProcess::start(config);
  if (!child) return std::unexpected(child.error());
  const net::Endpoint server{"127.0.0.1", (*child)->port()};
  Samples latency;
  if (auto done = hand_overs(server, latency); !done) return done;
  const auto throughput = drive({bench.tasks, bench.agents, bench.slots}, **child);
  if (!throughput) return std::unexpected(throughput.error());
  (*child)->stop();
  const auto yardsticks = measure_yardsticks(bench, folder.path());
  if (!yardsticks) return std::unexpected(yardsticks.error());
  print_table(bench, *throughput, latency, yardsticks->bare, yardsticks->replayed);
  print_json(bench, *throughput, latency, yardsticks->bare, yardsticks->replayed);
  return {};
}

}  // namespace vortex::cli::bench
