// The whole-state check finds every kind of damage to memory: each is done by hand here, and named.
// (That a sound state has no findings is looked at after every step of every test of this folder.)

#include "core/reconcile.h"

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "tests/core/harness.h"

namespace vortex::core {
namespace {

std::vector<std::string> texts(const std::vector<Finding>& findings) {
  std::vector<std::string> texts;
  for (const Finding& finding : findings) texts.push_back(finding.what);
  return texts;
}

bool has(const std::vector<std::string>& found, const std::string& what) {
  return std::ranges::find(found, what) != found.end();
}

// A map of so many items, of which so many may be in play.
NodeSpec limited(const char* name, std::uint32_t items, std::uint32_t parallel) {
  NodeSpec spec = mapped(name, range(1, items));
  spec.map->max_parallel = parallel;
  return spec;
}

// A fleet in the middle of work: a holds one task with resources, b nothing, one is gone.
class Reconcile : public LifeTest {
 protected:
  Reconcile() {
    ignore_comings_and_goings();
    ignore_everything_from_here();
    WorkerInfo strong = worker_info("a", 2);
    strong.resources.cpu_milli = 8'000;
    strong.resources.memory_bytes = 1 << 30;
    Hand& a = join(strong);
    kill(join("gone"));
    NodeSpec heavy = with_retries(node("heavy"), 3);
    heavy.requirements.resources.cpu_milli = 500;
    heavy.requirements.resources.memory_bytes = 1 << 20;
    run = submit({heavy, node("after", {"heavy"}), limited("m", 4, 2)});
    held = take_and_start(a);
    // Ended, so that something of this run is final: a failure in backoff has no place in any list.
    const Attempt failing = take_and_start(a);
    complete(a, failing);
    WorkerInfo other = worker_info("b");
    other.queues = {"other"};
    join(other);
    expect_clean = false;
    EXPECT_EQ(texts(check_state(*state, Depth::kThorough)), std::vector<std::string>{});
  }

  // What is found after the damage, and that nothing is without it.
  std::vector<std::string> light() { return texts(check_state(*state, Depth::kLight)); }
  std::vector<std::string> thorough() { return texts(check_state(*state, Depth::kThorough)); }
  core::Run& in_memory() { return state->runs[state->runs.find(run)]; }
  Task& task(std::uint32_t index) { return state->tasks[in_memory().tasks.at(index)]; }
  TaskIx ix_of(std::uint32_t index) { return in_memory().tasks.at(index); }
  Worker& worker(const char* name) { return state->workers[state->workers.find(WorkerId(name))]; }

  RunId run;
  Attempt held;
};

using Texts = std::vector<std::string>;

TEST_F(Reconcile, ATaskInTheListOfAWorkerThatDoesNotHoldItIsFound) {
  std::get<Running>(task(0).phase).grant.worker = state->workers.find(WorkerId("b"));
  EXPECT_EQ(light(), Texts{"worker 'a': lists a task that it does not hold"});
}

TEST_F(Reconcile, AWrongCountOfHeldTasksIsFound) {
  ++worker("a").held.size;
  EXPECT_EQ(light(), Texts{"worker 'a': count of held tasks is wrong"});
}

TEST_F(Reconcile, ResourcesThatNobodyUsesAreFound) {
  worker("a").used.cpu_milli += 1;
  EXPECT_EQ(light(), Texts{"worker 'a': resources in use do not match its tasks"});
  worker("a").used.cpu_milli -= 1;
  worker("a").used.memory_bytes -= 1;
  EXPECT_EQ(light(), Texts{"worker 'a': resources in use do not match its tasks"});
}

TEST_F(Reconcile, AStateThatDoesNotMatchItsTasksIsFound) {
  worker("b").state = WorkerState::kRunning;
  EXPECT_EQ(light(), Texts{"worker 'b': state does not match its tasks"});
  worker("b").state = WorkerState::kIdle;
  worker("a").state = WorkerState::kIdle;
  EXPECT_EQ(light(), Texts{"worker 'a': state does not match its tasks"});
}

TEST_F(Reconcile, AWorkerThatIsGoneAndHoldsTasksIsFound) {
  worker("a").state = WorkerState::kOffline;
  const Texts found = light();
  EXPECT_TRUE(has(found, "worker 'a': gone, but still holds tasks"));
}

TEST_F(Reconcile, AWrongCountOrStatusOfAMachineIsFound) {
  Machine& machine = state->machines.at(worker("a").info->machine);
  ++machine.present;
  const std::string name = "machine '" + worker("a").info->machine.text + "': ";
  EXPECT_EQ(light(), Texts{name + "count of workers is wrong"});
  --machine.present;
  machine.online = false;
  EXPECT_EQ(light(), Texts{name + "status is wrong"});
}

TEST_F(Reconcile, WrongCountsOfANodeAreFound) {
  struct {
    std::uint32_t NodeRun::* count;
    const char* told;
  } const counts[] = {{&NodeRun::created, "count of tasks is wrong"},
                      {&NodeRun::finals, "count of finished tasks is wrong"},
                      {&NodeRun::in_play, "count of tasks in play is wrong"}};
  for (const auto& [count, told] : counts) {
    ++(in_memory().nodes[2].*count);
    EXPECT_EQ(thorough(), Texts{to_text(run) + " node m: " + told});
    EXPECT_EQ(light(), Texts{}) << "the light pass looks at workers";
    --(in_memory().nodes[2].*count);
  }
}

TEST_F(Reconcile, MoreInPlayThanAllowedIsFound) {
  // Two may be in play, and two are.
  auto& spec = const_cast<NodeSpec&>(in_memory().plan->node_spec(2));
  spec.map->max_parallel = 1;
  EXPECT_EQ(thorough(), Texts{to_text(run) + " node m: more in play than max_parallel"});
}

TEST_F(Reconcile, ANodeThatIsDoneWithOpenTasksIsFound) {
  in_memory().nodes[0].phase = NodePhase::kDone;
  const Texts found = thorough();
  EXPECT_TRUE(has(found, to_text(run) + " node heavy: done with open tasks"));
  EXPECT_TRUE(has(found, to_text(run) + ": count of open nodes is wrong"));
  EXPECT_TRUE(has(found, to_text(run) + ": open nodes by level are wrong"));
  EXPECT_EQ(found.size(), 3U);
}

TEST_F(Reconcile, WrongCountsOfARunAreFound) {
  ++in_memory().nodes_open;
  EXPECT_EQ(thorough(), Texts{to_text(run) + ": count of open nodes is wrong"});
  --in_memory().nodes_open;
  ++in_memory().made[number_of(TaskState::kCompleted)];
  EXPECT_EQ(thorough(), Texts{to_text(run) + ": count of tasks by state is wrong"});
  --in_memory().made[number_of(TaskState::kCompleted)];
  ++in_memory().level_open[1];
  EXPECT_EQ(thorough(), Texts{to_text(run) + ": open nodes by level are wrong"});
}

TEST_F(Reconcile, ALevelThatWasPassedWithOpenTasksIsFound) {
  in_memory().levels_passed = 1;
  EXPECT_EQ(thorough(), Texts{to_text(run) + ": level was marked done with open tasks"});
}

TEST_F(Reconcile, AHeldTaskWithoutADeadlineIsFound) {
  state->timers.clear({TimerKind::kTask, ix_of(0).value});
  EXPECT_EQ(thorough(), Texts{to_text(run) + " task 0: a task that needs a deadline has none"});
}

TEST_F(Reconcile, ATaskInBackoffWithoutADeadlineIsFound) {
  expect_clean = true;
  fail(hands.at("a"), held);
  ASSERT_EQ(std::get<Queued>(task(0).phase).place, Queued::Place::kNowhere);
  expect_clean = false;
  state->timers.clear({TimerKind::kTask, ix_of(0).value});
  EXPECT_EQ(thorough(), Texts{to_text(run) + " task 0: a task that needs a deadline has none"});
}

TEST_F(Reconcile, AFinishedTaskWithADeadlineIsFound) {
  const auto done = std::ranges::find_if(in_memory().tasks, [&](TaskIx ix) {
    return ix.valid() && is_final(state->tasks[ix].state());
  });
  ASSERT_NE(done, in_memory().tasks.end());
  state->timers.set({TimerKind::kTask, done->value}, Judged{1});
  EXPECT_EQ(thorough(), Texts{to_text(run) + " task " + std::to_string(state->tasks[*done].index) +
                              ": a finished task has a deadline"});
}

TEST_F(Reconcile, AReadyListThatDoesNotMatchItsCountIsFound) {
  ++state->ready[ClassIx{0}].ready;
  EXPECT_EQ(thorough(), Texts{"a ready list does not match its count"});
}

// The periodic pass.

TEST_F(Reconcile, QuietPassesAreToldOfOncePerHour) {
  take_all(EventKind::kStateReconcileComplete);
  advance(hours(3));
  const auto ends = take_all(EventKind::kStateReconcileComplete);
  EXPECT_EQ(ends.size(), 3U);
  for (const Event& end : ends) {
    EXPECT_EQ(number(end, "passes"), hours(1).us / policy.reconcile_interval.us);
  }
}

TEST_F(Reconcile, WhatWasFoundIsNotedWithWhatWasDoneAboutIt) {
  for (const bool repaired : {true, false}) {
    raw(NoteFindings{.findings = {"one", "two"}, .repaired = repaired});
    const auto notes = take_all(EventKind::kStateReconcileFix);
    ASSERT_EQ(notes.size(), 2U);
    EXPECT_EQ(text(notes[0], "what"), "one");
    EXPECT_EQ(text(notes[1], "what"), "two");
    EXPECT_EQ(text(notes[1], "repair"),
              repaired ? "state reloaded from the database" : "none needed");
  }
}

// Before a node or a level counts as done it is counted anew.

TEST_F(Reconcile, ANodeIsNotDoneWhileATaskOfItIsOpen) {
  expect_reload = true;
  // One of its four items has ended. Counted wrongly, the next end would be the last.
  in_memory().nodes[2].finals = 3;
  const Attempt next = take_and_start(hands.at("a"));
  SyncRequest request = request_of(hands.at("a"));
  request.reports = {{next, Completed{}}};
  const Effects effects = raw(Sync{{99}, std::move(request)});
  EXPECT_TRUE(effects.reload);
  EXPECT_EQ(effects.findings,
            Texts{to_text(run) + " node m: marked as done, but 2 of its tasks are open"});
}

// In parts, for states too large to be looked at between two steps.

class ReconcileInParts : public Reconcile {
 protected:
  // All parts, and what is done between the first two that look at a run.
  Texts in_parts(CheckProgress& progress, const std::function<void()>& between = {}) {
    while (check_part(*state, progress)) {
      ++parts;
      if (between && progress.next > 0) between();
      if (parts > 1'000) {
        ADD_FAILURE() << "it never ends";
        break;
      }
    }
    return progress.findings;
  }
  int parts = 0;
};

TEST_F(ReconcileInParts, AllPartsTogetherLookAtEverything) {
  CheckProgress sound;
  EXPECT_EQ(in_parts(sound), Texts{});
  EXPECT_EQ(sound.runs, 1U);
  EXPECT_EQ(sound.tasks, in_memory().plan->tasks);
  ++worker("a").held.size;
  ++in_memory().nodes_open;
  ++state->ready[ClassIx{0}].ready;
  CheckProgress damaged;
  Texts found = in_parts(damaged);
  std::ranges::sort(found);
  EXPECT_EQ(found, (Texts{"a ready list does not match its count",
                          to_text(run) + ": count of open nodes is wrong",
                          "worker 'a': count of held tasks is wrong"}));
}

TEST_F(ReconcileInParts, APartEndsAfterSomeThousandTasks) {
  expect_clean = true;
  std::vector<RunId> runs;
  for (int i = 0; i < 3; ++i) runs.push_back(submit({limited("m", 3'000, 1)}));
  CheckProgress progress;
  EXPECT_EQ(in_parts(progress), Texts{});
  EXPECT_EQ(progress.runs, 4U);
  EXPECT_EQ(progress.tasks, in_memory().plan->tasks + 9'000U);
  // The first is about the workers; 5,000 tasks are in the first two large runs, not in one.
  EXPECT_EQ(parts, 2);
}

// Its counts must be of one moment: a change between two parts begins them again, not for ever.
class ReconcileLargeRun : public ReconcileInParts {
 protected:
  ReconcileLargeRun() { large = submit({limited("big", 120'000, 1)}); }
  core::Run& large_run() { return state->runs[state->runs.find(large)]; }
  RunId large;
};

TEST_F(ReconcileLargeRun, ALargeRunIsCountedInPartsAndJudgedAtTheEnd) {
  CheckProgress sound;
  EXPECT_EQ(in_parts(sound), Texts{});
  EXPECT_EQ(sound.runs, 2U);
  EXPECT_EQ(sound.tasks, in_memory().plan->tasks + 120'000U);
  ++large_run().nodes[0].created;
  CheckProgress damaged;
  EXPECT_EQ(in_parts(damaged), Texts{to_text(large) + " node big: count of tasks is wrong"});
}

TEST_F(ReconcileLargeRun, AChangeBetweenTwoPartsBeginsTheCountAgain) {
  ++large_run().nodes[0].created;
  CheckProgress progress;
  bool changed = false;
  const Texts found = in_parts(progress, [&] {
    if (!std::exchange(changed, true)) ++large_run().changes;
  });
  EXPECT_EQ(progress.restarts, 1U);
  EXPECT_EQ(found, Texts{to_text(large) + " node big: count of tasks is wrong"});
}

TEST_F(ReconcileLargeRun, ARunThatAlwaysChangesIsLeftToAQuieterMoment) {
  ++large_run().nodes[0].created;
  CheckProgress progress;
  const Texts found = in_parts(progress, [&] { ++large_run().changes; });
  EXPECT_EQ(progress.restarts, 4U);
  EXPECT_EQ(found, Texts{}) << "counts of several moments prove nothing";
  EXPECT_EQ(progress.runs, 2U) << "it goes on behind it";
}

}  // namespace
}  // namespace vortex::core
