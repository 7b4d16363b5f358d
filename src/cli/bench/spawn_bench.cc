#include "cli/bench/spawn_bench.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include <boost/json.hpp>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/bench/fleet.h"
#include "cli/bench/measure.h"
#include "cli/local/cluster.h"
#include "cli/local/folder.h"

namespace vortex::cli::bench {

namespace {

constexpr auto kLook = std::chrono::milliseconds(20);  // looking costs what is measured
constexpr Duration kLimit = seconds(300);

// The least a program could do: start `true` and wait for it, so many at once.
double bare_loop(std::uint32_t tasks, std::uint32_t at_once) {
  char name[] = "true";
  char* argv[] = {name, nullptr};
  const Instant begin = boot_clock_now();
  std::uint32_t started = 0;
  std::uint32_t ended = 0;
  while (ended < tasks) {
    while (started < tasks && started - ended < at_once) {
      pid_t pid = 0;
      if (::posix_spawnp(&pid, "true", nullptr, nullptr, argv, ::environ) != 0) return 0;
      ++started;
    }
    int status = 0;
    if (::waitpid(-1, &status, 0) > 0) ++ended;
  }
  return tasks / seconds_of(boot_clock_now() - begin);
}

// Tasks per second from submit to done; 0: it did not end.
double through_vortex(const local::Cluster& cluster, std::uint32_t tasks) {
  const Instant begin = boot_clock_now();
  const auto run = submit(cluster.endpoint(), map_run("spawn", tasks), {});
  if (!run) return 0;
  const Instant until = begin + kLimit;
  while (boot_clock_now() < until) {
    const auto text = get(cluster.endpoint(), "/api/runs/" + *run);
    if (text && text->contains(R"("state":"Completed")")) {
      return tasks / seconds_of(boot_clock_now() - begin);
    }
    std::this_thread::sleep_for(kLook);
  }
  return 0;
}

double median(std::vector<double> all) {
  std::ranges::sort(all);
  return all[all.size() / 2];
}

}  // namespace

std::expected<void, std::string> run_spawn_bench(const SpawnBench& bench) {
  // Before anything else: the bare loop waits for any child.
  std::vector<double> bare;
  for (std::uint32_t i = 0; i < bench.rounds; ++i)
    bare.push_back(bare_loop(bench.tasks, bench.slots));
  const local::TempFolder folder;
  local::ClusterConfig config;
  config.folder = folder.path();
  config.workers = bench.workers;
  config.slots = std::max(1U, bench.slots / bench.workers);
  auto cluster = local::Cluster::start(std::move(config));
  if (!cluster) return std::unexpected(cluster.error());
  through_vortex(**cluster, bench.tasks / 4);  // runners are up, and tasks have proved short
  std::vector<double> ours;
  for (std::uint32_t i = 0; i < bench.rounds; ++i) {
    ours.push_back(through_vortex(**cluster, bench.tasks));
  }
  const double cpu = (*cluster)->controller().use().cpu_seconds;
  (*cluster)->stop();
  if (median(ours) == 0) return std::unexpected("a run did not end in time");
  const double ratio = median(ours) / median(bare);
  fmt::print("spawn: {} x true, {} slots on {} workers, median of {} rounds\n", bench.tasks,
             bench.slots, bench.workers, bench.rounds);
  fmt::print("  submit -> done        {:>10.0f} tasks/s\n", median(ours));
  fmt::print("  bare posix_spawn      {:>10.0f} tasks/s\n", median(bare));
  fmt::print("  ratio                 {:>10.2f}\n", ratio);
  fmt::print("  controller CPU        {:>10.1f} us per task\n",
             cpu * 1e6 / (bench.tasks * (bench.rounds + 0.25)));
  fmt::print(R"({{"bench":"spawn","tasks":{},"tasks_per_s":{:.0f},"bare_tasks_per_s":{:.0f},)"
             R"("ratio":{:.3f}}})"
             "\n",
             bench.tasks, median(ours), median(bare), ratio);
  return {};
}

}  // namespace vortex::cli::bench
