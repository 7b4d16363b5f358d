#include "sim/demo.h"

#include <algorithm>
#include <map>
#include <string>

#include <fmt/format.h>
#include <time.h>
#include <unistd.h>

#include "model/dag.h"
#include "sim/world.h"

namespace vortex::sim {

namespace {

NodeSpec node(std::string name, std::vector<std::string> needs) {
  NodeSpec spec;
  spec.name = std::move(name);
  spec.needs = std::move(needs);
  return spec;
}

NodeTraits takes(Duration low, Duration high) {
  NodeTraits traits;
  traits.runs_min = low;
  traits.runs_max = high;
  traits.progress_every = millis(500);
  traits.checkpoints = true;
  return traits;
}

RunDraft demo_run() {
  RunDraft draft;
  draft.dag.name = "s0";
  draft.key = "demo";
  const auto add = [&](NodeSpec spec, NodeTraits traits) {
    draft.dag.nodes.push_back(std::move(spec));
    draft.traits.push_back(traits);
  };
  add(node("fetch", {}), takes(millis(700), millis(800)));
  NodeSpec clean = node("clean", {"fetch"});
  clean.map = MapSpec{MapRange{1, 8, 1}, 0, std::nullopt};
  add(std::move(clean), takes(millis(1500), millis(2500)));
  add(node("train-a", {"clean"}), takes(millis(3000), millis(3500)));
  add(node("train-b", {"clean"}), takes(millis(3000), millis(3500)));
  add(node("compare", {"train-a", "train-b"}), takes(millis(600), millis(900)));
  add(node("publish", {"compare"}), takes(millis(300), millis(400)));
  return draft;
}

Timings demo_timings() {
  Timings t;
  core::Policy& p = t.policy;
  p.worker_lease = seconds(5);
  p.heartbeat_interval = millis(500);
  p.kill_time = seconds(1);
  p.scheduled_timeout = seconds(10);
  p.reconnect_grace = seconds(2);
  p.sweep = millis(250);
  t.self_fence = millis(2500);
  t.agent_tick = millis(200);
  t.leader_lease = seconds(2);
  t.store_limit = millis(1100);
  t.store_stalled = millis(400);
  t.client_limit = seconds(2);
  t.keep_alive = seconds(1);
  return t;
}

Setup demo_setup() {
  Setup setup;
  setup.seed = 20;
  setup.on.assign(kFaultKinds, false);
  setup.timings = demo_timings();
  setup.controllers = 1;
  setup.machines = 5;
  for (std::uint32_t w = 0; w < setup.machines; ++w) {
    WorkerSetup worker;
    worker.machine = w;
    worker.info.id = WorkerId(fmt::format("w{}", w + 1));
    worker.info.machine = MachineId(fmt::format("machine-{}", w + 1));
    worker.info.address = fmt::format("machine-{}:9000", w + 1);
    worker.info.slots = 2;
    setup.workers.push_back(worker);
    setup.machine_clocks.emplace_back(seconds(100), 20 * w);
  }
  setup.controller_clocks.emplace_back(seconds(500), 0);
  setup.drafts.push_back(demo_run());
  Act submit;
  submit.at = Instant{} + millis(400);
  setup.acts.push_back(submit);
  setup.faults_end = Instant{} + seconds(14);
  setup.heals_all = true;
  return setup;
}

void sleep_for(Duration d) {
  const timespec span{d.us / 1'000'000, (d.us % 1'000'000) * 1000};
  ::nanosleep(&span, nullptr);
}

// Follows the history, tells it in plain words and keeps count for the summary.
class Narrator {
 public:
  explicit Narrator(World& world) : world_(world), paced_(::isatty(STDOUT_FILENO) != 0) {}

  void say(Instant at, std::string_view who, const std::string& what) {
    if (paced_ && at > told_until_ && !finished_) sleep_for(at - told_until_);
    told_until_ = std::max(told_until_, at);
    fmt::print("{:>3}.{:03} s  {:<12} {}\n", at.us / 1'000'000, at.us / 1000 % 1000, who, what);
    std::fflush(stdout);
  }

  void kill_busy(Instant at, bool with_supervisor) {
    // Two different ones: a worker that comes back at once would hide the first death.
    const auto busiest = std::ranges::max_element(world_.workers(), {}, [this](const auto& worker) {
      const bool spared = dead_since_.contains(worker->id().text);
      return spared ? 0 : worker->tasks_running() + 1;
    });
    WorkerHost& victim = **busiest;
    dead_since_[victim.id().text] = at;
    say(at, victim.id().text,
        fmt::format("KILLED with {} tasks on it ({})", victim.tasks_running(),
                    with_supervisor ? "kill -9 on supervisor and worker: nothing is reported"
                                    : "kill -9 on the worker process"));
    if (with_supervisor) {
      victim.crash_both();
    } else {
      victim.crash();
    }
  }

  void fact(Instant at, const Fact& fact) {
    if (const auto* commit = std::get_if<Committed>(&fact)) committed(at, *commit);
    if (const auto* started = std::get_if<ProcessStarted>(&fact)) process(at, *started);
    if (const auto* term = std::get_if<TermBegan>(&fact)) {
      say(at, "controller", fmt::format("is the leader, term {}", term->term.value));
    }
  }

  int summary(const Result& result, std::size_t invariants) const {
    const Tables& tables = world_.scene().store.tables();
    const auto done = std::ranges::count_if(tables.tasks(), [](const auto& task) {
      return task.second.state == TaskState::kCompleted;
    });
    fmt::print("\n{} of {} tasks completed in {} attempts\n", done, tables.tasks().size(),
               tables.attempts().size());
    for (const auto& [id, row] : tables.recoveries()) {
      const auto slowest = slowest_.find(row.worker.text);
      fmt::print("recovery {}: {} lost (evidence: {}), {} tasks", id.value, row.worker.text,
                 to_text(row.evidence), row.num_tasks);
      if (slowest != slowest_.end()) {
        fmt::print(", all running elsewhere {} ms after its death", slowest->second.us / 1000);
      }
      fmt::print("\n");
    }
    fmt::print("{} ledger rows, {} invariants checked, {} violated\n",
               tables.recovery_items().size(), invariants, result.violations.size());
    for (const Violation& broken : result.violations) {
      fmt::print("violated {}: {}\n", broken.invariant, broken.detail);
    }
    return result.violations.empty() && done > 0 ? 0 : 1;
  }

 private:
  std::string name_of(TaskId task) const {
    const auto& runs = world_.scene().store.tables().runs();
    const auto run = runs.find(task.run);
    if (run == runs.end()) return "?";
    const DagPlan& plan = *run->second.plan;
    const std::string item = plan.map_item(task.index);
    const std::string& name = plan.node_spec(plan.node_of_task(task.index)).name;
    return item.empty() ? name : fmt::format("{}[{}]", name, item);
  }

  void process(Instant at, const ProcessStarted& started) {
    const TaskId task = started.attempt.task;
    const bool again = started.attempt.epoch.value >
                       first_epoch_.try_emplace(task, started.attempt.epoch.value).first->second;
    say(at, started.worker.text,
        fmt::format("starts {}{}", name_of(task), again ? ", again with a new epoch" : ""));
    const auto lost = lost_on_.find(task);
    if (lost == lost_on_.end()) return;
    Duration& slowest = slowest_[lost->second];
    slowest = std::max(slowest, at - dead_since_[lost->second]);
    lost_on_.erase(lost);
  }

  void committed(Instant at, const Committed& commit) {
    for (const RecoveryRow& row : commit.rows.recoveries) {
      say(at, "controller",
          fmt::format("{} is gone (evidence: {}): {} tasks back in the queue", row.worker.text,
                      to_text(row.evidence), row.num_tasks));
    }
    for (const RecoveryItemRow& row : commit.rows.recovery_items) {
      if (row.new_worker.empty()) lost_on_[row.task] = row.old_worker.text;
    }
    for (const Event& event : commit.events) tell(at, event);
  }

  void tell(Instant at, const Event& event) {
    switch (event.kind) {
      case EventKind::kWorkerReady:
        return say(at, event.worker.text, "is ready");
      case EventKind::kRunSubmitted:
        return say(at, "client", "submits the DAG: the response came after the commit");
      case EventKind::kTaskComplete:
        return say(at, event.worker.text, fmt::format("completed {}", name_of(*event.task)));
      case EventKind::kHeartbeatStale:
        return say(at, "controller", event.worker.text + " is suspect: it gets no new tasks");
      case EventKind::kRunComplete:
        say(at, "controller", "the run is complete");
        finished_ = true;
        return;
      default:
        return;
    }
  }

  World& world_;
  bool paced_;
  bool finished_ = false;
  Instant told_until_;
  std::map<TaskId, std::uint64_t> first_epoch_;
  std::map<TaskId, std::string> lost_on_;  // tasks that wait for a new worker
  std::map<std::string, Instant> dead_since_;
  std::map<std::string, Duration> slowest_;  // from death to running elsewhere
};

}  // namespace

int run_demo() {
  const Setup setup = demo_setup();
  World world(setup);
  Narrator narrator(world);
  Scene& scene = world.scene();
  scene.recorder.set_tap([&](Instant at, const Fact& fact) { narrator.fact(at, fact); });
  const Instant first = Instant{} + millis(2500);
  const Instant second = Instant{} + millis(5500);
  scene.agenda.at(first, [&] { narrator.kill_busy(scene.agenda.now(), false); });
  scene.agenda.at(second, [&] { narrator.kill_busy(scene.agenda.now(), true); });
  fmt::print(
      "A DAG of six nodes (one of them eight tasks wide) on five workers, in virtual time.\n\n");
  const Result result = world.run();
  return narrator.summary(result, scene.recorder.invariants());
}

}  // namespace vortex::sim
