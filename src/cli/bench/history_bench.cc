#include <filesystem>

#include <fmt/format.h>

#include "cli/bench/drive.h"
#include "cli/bench/other_benches.h"
#include "cli/bench/replay.h"
#include "cli/local/controller_process.h"

namespace vortex::cli::bench {
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
