// How fast `true` runs through the executor, against a bare loop of posix_spawn and waitpid with as
// many in flight. Rounds of both alternate, so that a change of the machine's mood hits both.
//
// bench_spawn [--tasks N] [--slots N] [--rounds N] [--tree]

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "worker/cgroup.h"
#include "worker/executor.h"
#include "worker/slot/runner.h"
#include "worker/slot/runner_messages.h"

namespace vortex::worker {
namespace {

struct Options {
  std::uint32_t tasks = 4000;
  std::uint32_t slots = 4;
  int rounds = 5;
  Containment containment = Containment::kAuto;
};

std::string group_name() { return fmt::format("bench-{}", ::getpid()); }

class NoSink : public LogSink {
 public:
  void write(Attempt, std::string_view) override {}
  void close(Attempt, std::function<void()> flushed) override { flushed(); }
};

// One way of running tasks: how fast, and how much processor time of all processes together. The
// second says the same on a busy machine.
struct Figures {
  double per_second = 0;
  double cpu_us = 0;  // per task
};

double cpu_us_of(int whom) {
  rusage use{};
  ::getrusage(whom, &use);
  const auto us = [](timeval time) {
    return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_usec);
  };
  return us(use.ru_utime) + us(use.ru_stime);
}
double cpu_us() { return cpu_us_of(RUSAGE_SELF) + cpu_us_of(RUSAGE_CHILDREN); }

double per_second(std::uint32_t tasks, Duration time) {
  return static_cast<double>(tasks) * 1e6 / static_cast<double>(time.us);
}

double bare_loop(const Options& options) {
  std::string program = "true";
  char* argv[] = {program.data(), nullptr};
  std::uint32_t started = 0;
  std::uint32_t ended = 0;
  const Instant begin = boot_clock_now();
  while (ended < options.tasks) {
    while (started < options.tasks && started - ended < options.slots) {
      pid_t pid = 0;
      if (::posix_spawnp(&pid, "true", nullptr, nullptr, argv, ::environ) != 0) std::abort();
      ++started;
    }
    if (::waitpid(-1, nullptr, 0) > 0) ++ended;
  }
  return per_second(options.tasks, boot_clock_now() - begin);
}

class Measured {
 public:
  Measured(const Options& options, const std::string& folder)
      : options_(options),
        executor_(io_, config_of(options, folder), sink_,
                  [this](const agent::Input& input) { on_told(input); }) {}

  double round() {
    started_ = 0;
    ended_ = 0;
    const Instant begin = boot_clock_now();
    while (ended_ < options_.tasks) {
      while (started_ < options_.tasks && started_ - ended_ < options_.slots) start();
      io_.run_one();
    }
    return per_second(options_.tasks, boot_clock_now() - begin);
  }

 private:
  static ExecutorConfig config_of(const Options& options, const std::string& folder) {
    ExecutorConfig config;
    config.slots = options.slots;
    config.work_dir = folder + "/work";
    config.record_path = folder + "/bench.slots";
    config.containment = options.containment;
    config.group = {.supervisor = group_name(), .worker = "w"};
    return config;
  }
  void start() {
    Launch launch;
    launch.attempt = {.task = {.run = {1}, .index = next_++}, .epoch = {1}};
    launch.argv = {"true"};
    executor_.start(std::move(launch));
    ++started_;
  }
  void on_told(const agent::Input& input) {
    if (std::holds_alternative<agent::ProcessExited>(input)) ++ended_;
    if (const auto* failed = std::get_if<agent::ProcessCouldNotStart>(&input)) {
      fmt::print(stderr, "{}\n", failed->message);
      std::exit(1);
    }
  }

  Options options_;
  boost::asio::io_context io_{1};
  NoSink sink_;
  std::uint32_t next_ = 0;
  std::uint32_t started_ = 0;
  std::uint32_t ended_ = 0;
  Executor executor_;
};

Figures bare_figures(const Options& options) {
  const double before = cpu_us();
  const double speed = std::max(bare_loop(options), bare_loop(options));
  return {speed, (cpu_us() - before) / (2.0 * options.tasks)};
}

Figures executor_figures(const Options& options, const std::string& folder) {
  const double before = cpu_us();
  double speed = 0;
  {
    Measured measured(options, folder);
    speed = std::max(measured.round(), measured.round());
  }
  return {speed, (cpu_us() - before) / (2.0 * options.tasks)};
}

template <class Part>
double median(std::vector<Figures> values, Part part) {
  std::ranges::sort(values, {}, part);
  return values[values.size() / 2].*part;
}

void print_row(const std::string& name, Figures bare, Figures ours) {
  fmt::print("{:>8} {:>10.0f} {:>12.0f} {:>7.1f}% {:>12.0f} {:>14.0f} {:>7.1f}%\n", name,
             bare.per_second, ours.per_second, 100 * ours.per_second / bare.per_second, bare.cpu_us,
             ours.cpu_us, 100 * bare.cpu_us / ours.cpu_us);
}

int run(const Options& options) {
  std::string folder = (std::filesystem::temp_directory_path() / "vortex-spawn-XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) return 1;
  std::vector<Figures> bare;
  std::vector<Figures> ours;
  fmt::print("{:>8} {:>10} {:>12} {:>8} {:>12} {:>14} {:>8}\n", "round", "bare/s", "executor/s",
             "ratio", "bare cpu us", "executor cpu us", "ratio");
  for (int round = 0; round < options.rounds; ++round) {
    bare.push_back(bare_figures(options));
    ours.push_back(executor_figures(options, folder));
    print_row(std::to_string(round + 1), bare.back(), ours.back());
  }
  print_row("median", {median(bare, &Figures::per_second), median(bare, &Figures::cpu_us)},
            {median(ours, &Figures::per_second), median(ours, &Figures::cpu_us)});
  std::filesystem::remove_all(folder);
  const GroupName group{.supervisor = group_name(), .worker = {}};
  const CgroupRoots roots = find_cgroup_roots(group.supervisor);
  for (const std::string* root : {&roots.unified, &roots.memory, &roots.cpu, &roots.pids}) {
    if (!root->empty()) remove_group(group_folder(*root, group));
  }
  return 0;
}

}  // namespace
}  // namespace vortex::worker

int main(int argc, char** argv) {
  using namespace vortex::worker;
  const std::vector<std::string_view> arguments(argv + 1, argv + argc);
  if (!arguments.empty() && arguments[0] == "task-runner") return run_task_runner(kRunnerControl);
  Options options;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const auto number = [&] { return i + 1 < arguments.size() ? std::atoi(argv[i + 2]) : 0; };
    if (arguments[i] == "--tasks") options.tasks = static_cast<std::uint32_t>(number());
    if (arguments[i] == "--slots") options.slots = static_cast<std::uint32_t>(number());
    if (arguments[i] == "--rounds") options.rounds = number();
    if (arguments[i] == "--tree") options.containment = Containment::kTreeOnly;
  }
  if (options.tasks == 0 || options.slots == 0 || options.rounds <= 0) return 2;
  return run(options);
}
