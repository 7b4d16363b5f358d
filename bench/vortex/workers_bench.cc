#include <chrono>
#include <filesystem>
#include <thread>

#include <fmt/format.h>

#include "base/clock.h"
#include "bench/vortex/benches.h"
#include "bench/vortex/drive.h"
#include "bench/vortex/fleet.h"
#include "bench/vortex/measure.h"
#include "bench/vortex/replay.h"
#include "cli/local/cluster.h"

namespace vortex::cli::bench {
std::expected<void, std::string> run_workers_bench(const WorkersBench& bench) {
  const local::TempFolder folder;
  local::ControllerConfig config;
  config.folder = folder.path();
  auto child = local::ControllerProcess::start(config);
  if (!child) return std::unexpected(child.error());
  const net::Endpoint server{"127.0.0.1", (*child)->port()};
  FleetConfig fleet_config{.server = server, .workers = bench.workers, .slots = 4};
  fleet_config.wait = seconds(10);
  const Fleet fleet(fleet_config, {});
  // Everybody has registered and waits in a second call.
  while (fleet.calls() < bench.workers) rest(millis(10));
  rest(seconds(2));
  const Instant begin = boot_clock_now();
  const double cpu = (*child)->use().cpu_seconds;
  rest(seconds(bench.seconds));
  const double took = seconds_of(boot_clock_now() - begin);
  const double used = (*child)->use().cpu_seconds - cpu;
  const auto text = get(server, "/metrics");
  if (!text) return std::unexpected(text.error());
  const double passes = metric(*text, "vortex_health_pass_seconds_count");
  const double pass_ms =
      passes > 0 ? metric(*text, "vortex_health_pass_seconds_sum") / passes * 1e3 : 0;
  if (passes == 0) return std::unexpected("no health pass in this time; measure for longer");
  const double offline = metric(*text, "vortex_workers{state=\"OFFLINE\"}");
  const double stale = metric(*text, "vortex_workers_stale_total");
  const double memory = static_cast<double>((*child)->use().resident_bytes) / (1 << 20);
  fmt::print("workers: {} registered, each with a waiting call, for {:.0f} s\n", bench.workers,
             took);
  fmt::print("  controller CPU        {:>10.2f} % of a core\n", used / took * 100);
  fmt::print("  health pass           {:>10.3f} ms on average, {:.0f} passes\n", pass_ms, passes);
  fmt::print("  OFFLINE, stale        {:>10.0f} , {:.0f}\n", offline, stale);
  fmt::print("  failed calls          {:>10}\n", fleet.failures());
  fmt::print("  controller memory     {:>10.1f} MiB\n", memory);
  fmt::print(
      "{{\"bench\":\"workers\",\"workers\":{},\"cpu_percent\":{:.3f},\"health_pass_ms\":{:.4f},"
      "\"offline\":{:.0f},\"stale\":{:.0f},\"resident_mib\":{:.1f}}}\n",
      bench.workers, used / took * 100, pass_ms, offline, stale, memory);
  return {};
}

namespace {

constexpr std::uint64_t kTasksPerRun = 100'000;

std::expected<double, std::string> rate_in(const std::string& folder, std::uint64_t tasks) {
  local::ControllerConfig config;
  config.folder = folder;
  auto child = local::ControllerProcess::start(config);
  if (!child) return std::unexpected(child.error());
  const auto result = drive({.tasks = tasks}, **child);
  if (!result) return std::unexpected(result.error());
  (*child)->stop();
  return static_cast<double>(tasks) / result->seconds;
}

}  // namespace

std::expected<void, std::string> run_history_bench(const HistoryBench& bench) {
  const local::TempFolder full;
  const local::TempFolder fresh;
  const std::string path = full.path() + "/vortex.db";
  const auto runs = static_cast<std::uint32_t>((bench.finished + kTasksPerRun - 1) / kTasksPerRun);
  fmt::print(stderr, "writing {} finished tasks first\n", runs * kTasksPerRun);
  const auto made = replay({path, kTasksPerRun, runs, 4, 500});
  if (!made) return std::unexpected(made.error());
  // In turns, so that a machine that slows down meanwhile hurts both.
  double with_history = 0;
  double without = 0;
  for (int turn = 0; turn < 2; ++turn) {
    const auto old_file = rate_in(full.path(), bench.tasks);
    if (!old_file) return std::unexpected(old_file.error());
    const auto new_file = rate_in(fresh.path(), bench.tasks);
    if (!new_file) return std::unexpected(new_file.error());
    with_history = std::max(with_history, *old_file);
    without = std::max(without, *new_file);
  }
  const auto bytes = static_cast<double>(std::filesystem::file_size(path));
  fmt::print("history: {} finished tasks in the file, {:.0f} bytes each\n", runs * kTasksPerRun,
             bytes / static_cast<double>(runs * kTasksPerRun));
  fmt::print("  with them             {:>10.0f} tasks/s\n", with_history);
  fmt::print("  fresh file            {:>10.0f} tasks/s\n", without);
  fmt::print("  ratio                 {:>10.2f}\n", with_history / without);
  fmt::print(
      "{{\"bench\":\"history\",\"finished\":{},\"tasks_per_s\":{:.0f},"
      "\"fresh_tasks_per_s\":{:.0f},\"ratio\":{:.3f}}}\n",
      runs * kTasksPerRun, with_history, without, with_history / without);
  return {};
}

}  // namespace vortex::cli::bench
