// Faults of workers and tasks with real processes and real signals (RELIABILITY
// 5), judged by the simulator's history checkers and by what the tasks wrote
// themselves.
//
//   chaos_workers --program PATH --scene
//   storm|task|freeze|freeze_workers|freeze_hosts|stopped_runner|killed_runner|
//   poison|vanish|flood|drain|untold [--size N]
//
// Closes with `scene=NAME broken=B`; exit 1 when B is not 0. --size is the
// strength of the fault: kills of the storm, megabytes of the flood.

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <fmt/format.h>

#include "base/clock.h"
#include "base/rng.h"
#include "tests/chaos/stage.h"

namespace vortex::chaos {
namespace {

#ifdef VX_SANITIZED
constexpr std::uint64_t kFloodMemoryMax = 1024ULL << 20U;  // most of it is the sanitizer's own
#else
constexpr std::uint64_t kFloodMemoryMax = 64ULL << 20U;
#endif

struct Options {
  std::string program;
  std::string scene;
  std::uint32_t size = 0;  // 0: of the scene's choice
  std::uint64_t seed = 0;
};

class Findings {
 public:
  void expect(bool holds, const std::string& what) {
    if (!holds) broken_.push_back(what);
  }
  void add(std::vector<std::string> what) {
    broken_.insert(broken_.end(), what.begin(), what.end());
  }
  int report(const Options& options) const {
    for (const std::string& what : broken_) fmt::print("BROKEN: {}\n", what);
    fmt::print("scene={} broken={}\n", options.scene, broken_.size());
    return broken_.empty() ? 0 : 1;
  }

 private:
  std::vector<std::string> broken_;
};

void rest(Duration time) { std::this_thread::sleep_for(std::chrono::microseconds(time.us)); }

bool is_alive(pid_t pid) { return ::kill(pid, 0) == 0; }

DagSpec dag_of(std::string name, std::vector<NodeSpec> nodes) {
  DagSpec dag;
  dag.name = std::move(name);
  dag.nodes = std::move(nodes);
  return dag;
}

StageConfig config_for(const Options& options, std::uint32_t supervisors, std::uint32_t workers) {
  StageConfig config;
  config.program = options.program;
  config.supervisors = supervisors;
  config.workers = workers;
  return config;
}

// What the ledger says: one item for each attempt that was lost with its
// worker.
void check_ledger(Stage& stage, RunId run, Findings& findings) {
  std::uint64_t lost = 0;
  std::uint32_t failures = 0;
  for (const store::TaskView& task : stage.tasks(run)) {
    failures += task.row.counters.failures;
    for (const AttemptRow& attempt : stage.attempts(task.row.id)) {
      lost += attempt.verdict == Verdict::kWorkerLost ? 1 : 0;
    }
  }
  std::uint64_t items = 0;
  const auto recoveries = stage.reader().recoveries({}, {10'000, {}});
  if (recoveries) {
    for (const auto& recovery : recoveries->items) {
      const auto page = stage.reader().recovery_items(recovery.row.id, {10'000, {}});
      items += page ? page->items.size() : 0;
    }
  }
  findings.expect(failures == 0,
                  fmt::format("{} failures are counted, none was a task's", failures));
  findings.expect(items == lost,
                  fmt::format("{} items in the ledger for {} lost attempts", items, lost));
  fmt::print("{} attempts were lost with their worker, {} ledger items\n", lost, items);
}

// A worker is killed again and again while a wide DAG runs.
void storm(const Options& options, Findings& findings) {
  const std::uint32_t kills = options.size > 0 ? options.size : 10;
  const std::uint32_t tasks = std::max(60U, kills * 500 / 60);
  StageConfig config = config_for(options, 1, 4);
  // The killer is outside here; a task must not be taken for poison because it
  // was near.
  config.settings = {"--controller.crash-limit=100", "--controller.worker-cordon-after=100",
                     "--worker.max-respawn-attempts=20"};
  Stage stage(config);
  NodeSpec wide = Stage::task("wide", "sleep 0.5");
  MapSpec map;
  map.over = MapRange{1, tasks, 1};
  wide.map = map;
  NodeSpec last = Stage::task("last", "true");
  last.needs = {"wide"};
  const RunId run = stage.submit(dag_of("storm", {wide, last}));
  Rng rng(options.seed);
  for (std::uint32_t i = 0; i < kills; ++i) {
    rest(kills > 20 ? seconds(1) : millis(400));
    const auto pids = stage.worker_pids();
    if (!pids.empty()) ::kill(pids[rng.below(pids.size())], SIGKILL);
  }
  const auto end = stage.wait_for_end(run, seconds(180));
  findings.expect(end && end->state == RunState::kCompleted, "the run has not completed");
  check_ledger(stage, run, findings);
  findings.expect(stage.overlaps() == 0,
                  fmt::format("{} processes started beside a living one", stage.overlaps()));
  findings.add(stage.finish());
}

// The task alone is killed: that is a failure of the task, with its signal.
void task(const Options& options, Findings& findings) {
  Stage stage(config_for(options, 1, 2));
  NodeSpec node = Stage::task("t", "if [ \"$VORTEX_ATTEMPT\" = 1 ]; then sleep 100; fi");
  RetryPolicy retry;
  retry.backoff.delay = millis(100);
  node.retry = retry;
  const RunId run = stage.submit(dag_of("task", {node}));
  const auto start = stage.wait_for_start(run, 0, 1, seconds(20));
  findings.expect(start.has_value(), "the task did not start");
  if (start) ::kill(start->pid, SIGKILL);
  const auto end = stage.wait_for_end(run, seconds(30));
  findings.expect(end && end->state == RunState::kCompleted, "the run has not completed");
  const auto tasks = stage.tasks(run);
  const auto attempts = stage.attempts(tasks.at(0).row.id);
  findings.expect(attempts.size() == 2 && attempts[0].verdict == Verdict::kSignal &&
                      attempts[0].code == SIGKILL,
                  "the first attempt did not end with its signal");
  findings.expect(tasks[0].row.counters.failures == 1 && tasks[0].row.counters.crashes == 0,
                  "it was not counted as one failure");
  findings.add(stage.finish());
}

constexpr const char* kUntilOn = "while [ ! -e \"$GO/on\" ]; do sleep 0.05; done";

// SIGSTOP past the lease, then SIGCONT: the runners end the tasks by themselves
// before the lease does, exclusive or not; the zombie is refused and is of use
// afterwards.
void frozen_worker(const Options& options, Findings& findings, bool with_supervisor) {
  Stage stage(config_for(options, 2, 1));
  NodeSpec plain = Stage::task("plain", kUntilOn);
  NodeSpec exclusive = Stage::task("exclusive", std::string("trap '' TERM; ") + kUntilOn);
  exclusive.exclusive = true;
  const RunId run = stage.submit(dag_of("freeze", {plain, exclusive}));
  std::vector<TaskStart> first;
  for (std::uint32_t i = 0; i < 2; ++i) {
    const auto start = stage.wait_for_start(run, i, 1, seconds(20));
    if (!start) return findings.expect(false, "the tasks did not start");
    first.push_back(*start);
  }
  const Instant frozen = boot_clock_now();
  const auto to_all = [&](int signal) {
    for (std::size_t i = 0; i < 2 && with_supervisor; ++i)
      ::kill(stage.supervisor(i).pid(), signal);
    for (const TaskStart& start : first) ::kill(start.worker_pid, signal);
  };
  to_all(SIGSTOP);
  const auto all_gone = [&] {
    return std::ranges::none_of(first, [](const TaskStart& start) { return is_alive(start.pid); });
  };
  findings.expect(stage.wait_until(all_gone, seconds(20)), "the runners did not end their tasks");
  const Duration ended = boot_clock_now() - frozen;
  findings.expect(ended < seconds(5), fmt::format("the copies ended {} ms after the freeze; the "
                                                  "lease has 5 s",
                                                  ended.us / 1'000));
  to_all(SIGCONT);
  for (std::uint32_t i = 0; i < 2; ++i) {
    findings.expect(stage.wait_for_start(run, i, 2, seconds(40)).has_value(),
                    "it did not run again");
  }
  stage.let_go("on");
  const auto end = stage.wait_for_end(run, seconds(30));
  findings.expect(end && end->state == RunState::kCompleted, "the run has not completed");
  for (const store::TaskView& view : stage.tasks(run)) {
    std::uint32_t successes = 0;
    for (const AttemptRow& attempt : stage.attempts(view.row.id)) {
      successes += attempt.verdict == Verdict::kCompleted ? 1 : 0;
    }
    findings.expect(successes == 1, fmt::format("{}: {} successes", view.name, successes));
    findings.expect(view.row.counters.failures + view.row.counters.crashes == 0,
                    view.name + " is blamed");
  }
  findings.expect(stage.overlaps() == 0, "two copies ran at the same time");
  fmt::print("the copies ended {} ms after the freeze\n", ended.us / 1'000);
  findings.add(stage.finish());
}

void freeze(const Options& options, Findings& findings) {
  Stage stage(config_for(options, 1, 3));
  NodeSpec node = Stage::task("t", kUntilOn);
  node.exclusive = true;
  const RunId run = stage.submit(dag_of("freeze", {node}));
  const auto first = stage.wait_for_start(run, 0, 1, seconds(20));
  if (!first) return findings.expect(false, "the task did not start");
  const Instant frozen = boot_clock_now();
  ::kill(first->worker_pid, SIGSTOP);
  const auto second = stage.wait_for_start(run, 0, 2, seconds(40));
  findings.expect(second.has_value(), "it did not run elsewhere");
  const Duration away = boot_clock_now() - frozen;
  findings.expect(away >= millis(4'400), fmt::format("reclaimed after {} ms, before the lease of "
                                                     "5 s could end",
                                                     away.us / 1'000));
  findings.expect(!is_alive(first->pid), "the first copy is still there");
  findings.expect(stage.overlaps() == 0, "two copies ran at the same time");
  ::kill(first->worker_pid, SIGCONT);
  stage.let_go("on");
  const auto end = stage.wait_for_end(run, seconds(30));
  findings.expect(end && end->state == RunState::kCompleted, "the run has not completed");
  std::uint32_t successes = 0;
  for (const AttemptRow& attempt : stage.attempts(stage.tasks(run).at(0).row.id)) {
    successes += attempt.verdict == Verdict::kCompleted ? 1 : 0;
  }
  findings.expect(successes == 1, fmt::format("{} successes", successes));
  fmt::print("running elsewhere {} ms after the freeze\n", away.us / 1'000);
  findings.expect(stage.wait_until(
                      [&] {
                        store::WorkerFilter live;
                        live.live_only = true;
                        const auto page = stage.reader().workers(live, {10, {}});
                        return page && page->items.size() == 3;
                      },
                      seconds(20)),
                  "the thawed worker is not of use again");
  findings.add(stage.finish());
}

void freeze_workers(const Options& options, Findings& findings) {
  frozen_worker(options, findings, false);
}

void freeze_hosts(const Options& options, Findings& findings) {
  frozen_worker(options, findings, true);
}

// A task that stops its runner, again and again: its timeout ends it all the
// same, and the slot is of use afterwards.
void stopped_runner(const Options& options, Findings& findings) {
  StageConfig config = config_for(options, 1, 1);
  config.slots = 1;
  Stage stage(config);
  NodeSpec bad = Stage::task("bad", "trap '' TERM; while :; do kill -STOP $PPID; done");
  bad.execution_timeout = seconds(1);
  RetryPolicy none;
  none.max_retries = 0;
  bad.retry = none;
  const NodeSpec good = Stage::task("good", "true");
  const RunId run = stage.submit(dag_of("stopped", {bad, good}));
  const auto end = stage.wait_for_end(run, seconds(60));
  findings.expect(end && end->state == RunState::kFailed, "the run has not ended");
  for (const store::TaskView& view : stage.tasks(run)) {
    const bool is_bad = view.name == "bad";
    findings.expect(view.row.state == (is_bad ? TaskState::kFailed : TaskState::kCompleted),
                    view.name + " did not end as it should");
    findings.expect(!is_bad || view.row.counters.stalls == 1, "it was not counted as a timeout");
  }
  findings.expect(stage.overlaps() == 0, "a process started beside a living one");
  findings.add(stage.finish());
}

// kill -9 of the runner under a task: the worker's loss, not the task's.
void killed_runner(const Options& options, Findings& findings) {
  Stage stage(config_for(options, 1, 2));
  NodeSpec node =
      Stage::task("t", "if [ \"$VORTEX_ATTEMPT\" = 1 ]; then kill -9 $PPID; sleep 100; fi; exit 0");
  RetryPolicy none;
  none.max_retries = 0;
  node.retry = none;
  const RunId run = stage.submit(dag_of("runner", {node}));
  const auto end = stage.wait_for_end(run, seconds(30));
  findings.expect(end && end->state == RunState::kCompleted, "the run has not completed");
  const auto tasks = stage.tasks(run);
  const TaskCounters& counters = tasks.at(0).row.counters;
  findings.expect(counters.failures == 0 && counters.crashes == 0, "the task is blamed");
  findings.expect(counters.releases == 1, "it was not counted as a release");
  findings.expect(stage.overlaps() == 0, "a process started beside a living one");
  findings.add(stage.finish());
}

// A task that kills its worker: quarantined after exactly the limit; bystanders
// are not blamed.
void poison(const Options& options, Findings& findings) {
  Stage stage(config_for(options, 1, 4));
  const NodeSpec bad = Stage::task("bad", "kill -9 $VORTEX_WORKER_PID; sleep 100");
  NodeSpec good = Stage::task("good", "sleep 0.2");
  MapSpec map;
  map.over = MapRange{1, 20, 1};
  good.map = map;
  const RunId run = stage.submit(dag_of("poison", {bad, good}));
  const auto end = stage.wait_for_end(run, seconds(60));
  findings.expect(end && end->state == RunState::kFailed, "the run has not failed");
  for (const store::TaskView& view : stage.tasks(run)) {
    const bool is_bad = view.name == "bad";
    const TaskState wanted = is_bad ? TaskState::kFailed : TaskState::kCompleted;
    findings.expect(view.row.state == wanted, to_text(view.row.id) + " did not end as it should");
    findings.expect(view.row.counters.failures == 0, to_text(view.row.id) + " is blamed");
    if (is_bad) {
      findings.expect(view.row.counters.crashes == 3,
                      fmt::format("quarantined after {} crashes", view.row.counters.crashes));
      // However fast it is: a task is on record before it does anything.
      findings.expect(view.row.counters.attempts == 3,
                      fmt::format("{} workers taken down", view.row.counters.attempts));
    }
  }
  const auto letters = stage.reader().dead_letters({}, {100, {}});
  findings.expect(letters && letters->items.size() == 1, "not exactly one dead letter");
  findings.add(stage.finish());
}

// Most of the fleet vanishes at once with nobody left to prove it: the
// controller suspects itself.
void vanish(const Options& options, Findings& findings) {
  Stage stage(config_for(options, 5, 1));
  NodeSpec node = Stage::task("t", "while [ ! -e \"$GO/on\" ]; do sleep 0.05; done");
  MapSpec map;
  map.over = MapRange{1, 5, 1};
  node.map = map;
  const RunId run = stage.submit(dag_of("vanish", {node}));
  for (std::uint32_t i = 0; i < 5; ++i) {
    if (!stage.wait_for_start(run, i, 1, seconds(20))) {
      return findings.expect(false, "the tasks did not start");
    }
  }
  for (std::size_t i = 0; i < 3; ++i) {
    // Frozen it proves nothing; killed first, it would leave its worker the time to say goodbye.
    stage.supervisor(i).signal(SIGSTOP);
    for (const pid_t pid : stage.worker_pids(i)) ::kill(pid, SIGKILL);
    stage.supervisor(i).kill_now();
  }
  findings.expect(
      stage.wait_until([&] { return stage.count_events("brake_engaged") > 0; }, seconds(20)),
      "the brake was not engaged");
  const std::uint64_t before = stage.count_events("worker_offline");
  findings.expect(before == 0, fmt::format("{} workers were given up under the brake", before));
  for (std::size_t i = 0; i < 3; ++i) stage.start_supervisor(i);
  stage.let_go("on");
  const auto end = stage.wait_for_end(run, seconds(90));
  findings.expect(end && end->state == RunState::kCompleted, "the run has not completed");
  findings.expect(stage.overlaps() == 0, "a process started beside a living one");
  findings.add(stage.finish());
}

std::uint64_t resident_max(pid_t pid) { return cli::local::use_of(pid).resident_bytes_max; }

// A flood of output: bounded memory, heartbeats on time, the end of the output
// kept.
void flood(const Options& options, Findings& findings) {
  const std::uint32_t megabytes = options.size > 0 ? options.size : 200;
  Stage stage(config_for(options, 1, 1));
  NodeSpec node = Stage::task(
      "t", fmt::format("head -c {}000000 /dev/zero | tr '\\0' 'x'; echo; echo the end", megabytes));
  const RunId run = stage.submit(dag_of("flood", {node}));
  const auto start = stage.wait_for_start(run, 0, 1, seconds(20));
  if (!start) return findings.expect(false, "the task did not start");
  const auto end = stage.wait_for_end(run, seconds(180));
  findings.expect(end && end->state == RunState::kCompleted, "the run has not completed");
  const std::uint64_t resident = resident_max(start->worker_pid);
  findings.expect(resident < kFloodMemoryMax,
                  fmt::format("the worker took {} MiB", resident >> 20U));
  findings.expect(stage.count_events("heartbeat_stale") == 0, "a heartbeat was late");
  const Attempt attempt{stage.tasks(run).at(0).row.id, {1}};
  const auto log = stage.reader().log({attempt, 0, 1U << 22U, true});
  findings.expect(log && log->data.ends_with("the end\n"), "the end of the output is missing");
  findings.expect(log && log->data.contains("[vortex: "), "there is no mark where it was cut");
  fmt::print("{} MB of output, the worker took {} MiB at most\n", megabytes, resident >> 20U);
  findings.add(stage.finish());
}

// SIGTERM: nothing new, what runs finishes, exit 0; a task that fails meanwhile
// is reported.
void drain(const Options& options, Findings& findings) {
  Stage stage(config_for(options, 2, 1));
  NodeSpec node = Stage::task("t", "sleep 1; exit $(( $VORTEX_MAP_INDEX % 2 ))");
  RetryPolicy none;
  none.max_retries = 0;
  node.retry = none;
  MapSpec map;
  map.over = MapRange{1, 4, 1};
  node.map = map;
  const RunId run = stage.submit(dag_of("drain", {node}));
  for (std::uint32_t i = 0; i < 4; ++i)
    static_cast<void>(stage.wait_for_start(run, i, 1, seconds(20)));
  findings.expect(stage.supervisor(0).stop() == 0, "the supervisor did not end with 0");
  const auto end = stage.wait_for_end(run, seconds(30));
  findings.expect(end && end->state == RunState::kFailed, "the run has not ended as it should");
  for (const store::TaskView& view : stage.tasks(run)) {
    findings.expect(view.row.counters.attempts == 1, to_text(view.row.id) + " was run again");
  }
  findings.expect(stage.count_events("worker_inactive") == 1, "it has not left on purpose");
  findings.add(stage.finish());
}

// Who checks the checkers: a history that lacks an event is not believed.
void untold(const Options& options, Findings& findings) {
  Stage stage(config_for(options, 1, 1));
  stage.history().leave_out(EventKind::kTaskStarted);
  const RunId run = stage.submit(dag_of("untold", {Stage::task("t", "true")}));
  const auto end = stage.wait_for_end(run, seconds(30));
  findings.expect(end && end->state == RunState::kCompleted, "the run has not completed");
  const std::vector<std::string> found = stage.finish();
  const bool noticed = std::ranges::any_of(
      found, [](const std::string& what) { return what.starts_with("36-events-tell-all"); });
  findings.expect(noticed, "nobody noticed that the starts of tasks are not in the log");
}

int run(const Options& options) {
  fmt::print("seed {}\n", options.seed);
  const std::map<std::string, void (*)(const Options&, Findings&)> scenes{
      {"storm", storm},
      {"task", task},
      {"freeze", freeze},
      {"freeze_workers", freeze_workers},
      {"freeze_hosts", freeze_hosts},
      {"stopped_runner", stopped_runner},
      {"killed_runner", killed_runner},
      {"poison", poison},
      {"vanish", vanish},
      {"flood", flood},
      {"drain", drain},
      {"untold", untold}};
  Findings findings;
  scenes.at(options.scene)(options, findings);
  return findings.report(options);
}

}  // namespace
}  // namespace vortex::chaos

int main(int argc, char** argv) {
  vortex::chaos::Options options;
  options.seed = static_cast<std::uint64_t>(vortex::wall_clock_now().us);
  CLI::App app("Faults of workers with real processes");
  app.add_option("--program", options.program, "The vortex to test")->required();
  app.add_option("--scene", options.scene)
      ->required()
      ->check(CLI::IsMember({"storm", "task", "freeze", "freeze_workers", "freeze_hosts",
                             "stopped_runner", "killed_runner", "poison", "vanish", "flood",
                             "drain", "untold"}));
  app.add_option("--size", options.size);
  app.add_option("--seed", options.seed);
  CLI11_PARSE(app, argc, argv);
  return vortex::chaos::run(options);
}
