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
#include "bench/vortex/benches.h"
#include "bench/vortex/fleet.h"
#include "bench/vortex/measure.h"
#include "cli/local/cluster.h"
#include "cli/local/folder.h"

namespace vortex::cli::bench {

namespace {

constexpr auto kLook = std::chrono::milliseconds(4);
constexpr double kFastest = 1e6;
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

// In a process of its own: the loop waits for any child, and there are others here.
double bare_apart(std::uint32_t tasks, std::uint32_t at_once) {
  int ends[2];
  if (::pipe(ends) != 0) return 0;
  const pid_t pid = ::fork();
  if (pid == 0) {
    const double rate = bare_loop(tasks, at_once);
    const bool told = ::write(ends[1], &rate, sizeof rate) == sizeof rate;
    ::_exit(told ? 0 : 1);
  }
  ::close(ends[1]);
  double rate = 0;
  if (pid < 0 || ::read(ends[0], &rate, sizeof rate) != sizeof rate) rate = 0;
  ::close(ends[0]);
  if (pid > 0) ::waitpid(pid, nullptr, 0);
  return rate;
}

// Tasks per second from submit to done; 0: it did not end. Looking costs what is measured, so it
// begins shortly before the end is expected, at `rate` tasks a second.
double through_vortex(const local::Cluster& cluster, std::uint32_t tasks, double rate) {
  const Instant begin = boot_clock_now();
  const auto run = submit(cluster.client(), map_run("spawn", tasks), {});
  if (!run) return 0;
  const Instant until = begin + kLimit;
  std::this_thread::sleep_for(std::chrono::duration<double>(tasks / rate));
  while (boot_clock_now() < until) {
    const auto text = get(cluster.client(), "/api/runs/" + *run);
    if (text && text->contains(R"("state":"Completed")")) {
      return tasks / seconds_of(boot_clock_now() - begin);
    }
    std::this_thread::sleep_for(kLook);
  }
  return 0;
}

// One round of either side.
struct Side {
  double rate = 0;  // 0: it did not end
  MachineTime machine;

  double busy_us(std::uint32_t tasks) const { return machine.busy_seconds * 1e6 / tasks; }
  double idle_share() const {
    const double all = machine.busy_seconds + machine.idle_seconds + machine.stolen_seconds;
    return all > 0 ? machine.idle_seconds / all : 0;
  }
};

template <class Work>
Side measure(const Work& work) {
  const MachineTime before = machine_time();
  const double rate = work();
  return {rate, machine_time() - before};
}

template <class Part>
double median(const std::vector<Side>& sides, const Part& part) {
  std::vector<double> all;
  for (const Side& side : sides) all.push_back(part(side));
  std::ranges::sort(all);
  return all[all.size() / 2];
}

// Processor time says how much work it was, also when the machine is slower for a while.
void print_time(const char* name, const std::vector<Side>& sides, std::uint32_t tasks) {
  const double busy = median(sides, [&](const Side& side) { return side.busy_us(tasks); });
  const double idle = median(sides, [](const Side& side) { return side.idle_share(); });
  fmt::print("  {:<22} {:>6.0f} us of CPU time per task, {:.0f} % idle\n", name, busy, idle * 100);
}

}  // namespace

namespace {

std::expected<std::unique_ptr<local::Cluster>, std::string> start_cluster(
    const SpawnBench& bench, const local::TempFolder& folder, bool secured) {
  local::ClusterConfig config;
  config.folder = folder.path();
  config.workers = bench.workers;
  config.slots = std::max(1U, bench.slots / bench.workers);
  config.tokens = false;
  config.secured = secured;
  return local::Cluster::start(std::move(config));
}

// A second cluster with TLS and tokens beside the first, and how it does in each round.
struct SecuredSide {
  local::TempFolder folder;
  std::unique_ptr<local::Cluster> cluster;  // null: not asked for
  std::vector<double> ratios;               // with / without

  std::expected<void, std::string> start(const SpawnBench& bench) {
    auto started = start_cluster(bench, folder, true);
    if (!started) return std::unexpected(started.error());
    cluster = *std::move(started);
    if (through_vortex(*cluster, bench.tasks / 4 + 1, kFastest) > 0) return {};
    return std::unexpected("a run did not end in time");
  }
  void measure_against(double plain, const SpawnBench& bench, double bare) {
    if (!cluster) return;
    const double rate = through_vortex(*cluster, bench.tasks, bare * 1.25);
    ratios.push_back(rate / plain);
    fmt::print("  {:>8} {:>12} {:>14.0f} {:>8.2f}  with TLS and tokens / without\n", "", "", rate,
               rate / plain);
  }
  void print() {
    if (!cluster) return;
    std::ranges::sort(ratios);
    const double ratio = ratios[ratios.size() / 2];
    fmt::print("  tls_ratio {:.2f}\n", ratio);
    fmt::print(R"({{"bench":"spawn_tls","tls_ratio":{:.3f}}})"
               "\n",
               ratio);
  }
};

}  // namespace

std::expected<void, std::string> run_spawn_bench(const SpawnBench& bench) {
  const local::TempFolder folder;
  auto cluster = start_cluster(bench, folder, false);
  if (!cluster) return std::unexpected(cluster.error());
  SecuredSide secured;
  if (bench.tls) {
    if (auto started = secured.start(bench); !started) return started;
  }
  // Runners are up, and tasks have proved short.
  if (through_vortex(**cluster, bench.tasks / 4 + 1, kFastest) == 0) {
    return std::unexpected("a run did not end in time");
  }
  fmt::print("spawn: {} x true, {} slots on {} workers\n", bench.tasks, bench.slots, bench.workers);
  fmt::print("  {:>8} {:>12} {:>14} {:>8}\n", "round", "bare/s", "submit->done/s", "ratio");
  // In turn: a machine that is slower for a while is so for both.
  std::vector<Side> bare;
  std::vector<Side> ours;
  std::vector<double> ratios;
  for (std::uint32_t i = 0; i < bench.rounds; ++i) {
    bare.push_back(measure([&] { return bare_apart(bench.tasks, bench.slots); }));
    const double bare_rate = bare.back().rate;
    if (bare_rate == 0) return std::unexpected("`true` cannot be started");
    ours.push_back(
        measure([&] { return through_vortex(**cluster, bench.tasks, bare_rate * 1.25); }));
    if (ours.back().rate == 0) return std::unexpected("a run did not end in time");
    ratios.push_back(ours.back().rate / bare_rate);
    fmt::print("  {:>8} {:>12.0f} {:>14.0f} {:>8.2f}\n", i + 1, bare_rate, ours.back().rate,
               ratios.back());
    secured.measure_against(ours.back().rate, bench, bare_rate);
  }
  const double cpu = (*cluster)->controller().use().cpu_seconds;
  (*cluster)->stop();
  std::ranges::sort(ratios);
  const double ratio = ratios[ratios.size() / 2];
  const double bare_rate = median(bare, [](const Side& side) { return side.rate; });
  const double our_rate = median(ours, [](const Side& side) { return side.rate; });
  fmt::print("  {:>8} {:>12.0f} {:>14.0f} {:>8.2f}\n", "median", bare_rate, our_rate, ratio);
  print_time("bare loop, machine", bare, bench.tasks);
  print_time("vortex, machine", ours, bench.tasks);
  fmt::print("  {:<22} {:>6.0f} us of CPU time per task\n", "of it, controller",
             cpu * 1e6 / (bench.tasks * (bench.rounds + 0.25)));
  fmt::print(R"({{"bench":"spawn","tasks":{},"tasks_per_s":{:.0f},"bare_tasks_per_s":{:.0f},)"
             R"("ratio":{:.3f}}})"
             "\n",
             bench.tasks, our_rate, bare_rate, ratio);
  secured.print();
  return {};
}

}  // namespace vortex::cli::bench
