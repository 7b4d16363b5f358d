// 58 to 61, and what 3, 12, 24 and 31 make of waits and of `finally`.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sim/checkers_story.h"

namespace vortex::sim {
namespace {

using testing::Contains;
using testing::ElementsAre;

NodeSpec waiting(WaitSpec wait, std::vector<std::string> needs = {}) {
  NodeSpec spec = node("a", std::move(needs));
  spec.command = {};
  spec.wait = std::move(wait);
  return spec;
}
WaitSpec for_time(Duration length) { return {.kind = WaitKind::kFor, .length = length}; }
WaitSpec signal() { return {.kind = WaitKind::kSignal, .text = "s", .timeout = seconds(30)}; }
WaitSpec approval() {
  return {.kind = WaitKind::kApproval, .text = "ok?", .by = {Role::kOperator}};
}

// One task that waits, from its first commit on.
struct Waiting {
  explicit Waiting(const WaitSpec& wait) {
    run = s.submit(dag({waiting(wait), node("b")}));
    s.task(a).ready_at = kNever;
    if (wait.kind == WaitKind::kFor) s.task(a).ready_at = s.now + wait.length;
    if (wait.timeout) s.task(a).ready_at = s.now + *wait.timeout;
    s.commit();
  }
  SignalRow said(SignalKind kind, std::string data = {}) {
    SignalRow row{.run = run, .number = 1, .kind = kind, .name = "s", .data = std::move(data)};
    row.taken_by = 0;
    row.taken_epoch = {1};
    return row;
  }
  void complete(const std::string& outputs = {}) {
    s.task(a).state = TaskState::kCompleted;
    if (!outputs.empty()) {
      s.rows().task_data.push_back({.id = a, .epoch = {1}, .outputs = outputs});
    }
    s.commit();
  }
  void fail(DeathReason reason) {
    s.task(a).state = TaskState::kFailed;
    s.rows().dead_letters.push_back({{a, {1}}, reason, {}, s.now, {}});
    s.commit();
  }
  Story s;
  RunId run{1};
  TaskId a{run, 0};
  TaskId b{run, 1};
};

TEST(WaitChecker, AWaitThatEndsAtItsTimeIsClean) {
  Waiting w(for_time(seconds(2)));
  w.s.pass(seconds(2));
  w.complete();
  EXPECT_THAT(w.s.report(), "");
}

TEST(WaitChecker, AWaitThatEndsEarlyOrBeginsAnewIsFound) {
  Waiting early(for_time(seconds(20)));
  early.s.pass(seconds(2));
  early.complete();
  EXPECT_THAT(early.s.broken(), ElementsAre("58-waits-end-right"));
  Waiting moved(for_time(seconds(20)));
  moved.s.task(moved.a).ready_at = moved.s.now + seconds(40);
  moved.s.commit();
  EXPECT_THAT(moved.s.broken(), ElementsAre("58-waits-end-right"));
}

TEST(WaitChecker, AWaitThatNobodyEndsIsFound) {
  Waiting w(for_time(seconds(2)));
  for (int i = 0; i < 40; ++i) {
    w.s.pass(seconds(1));
    w.s.commit();
  }
  EXPECT_THAT(w.s.broken(), Contains("58-waits-end-right"));
}

TEST(WaitChecker, AWaitThatIsGivenToAWorkerIsFound) {
  Waiting w(for_time(seconds(2)));
  const WorkerId worker = w.s.join("w1");
  w.s.grant(w.a, worker);
  w.s.commit();
  EXPECT_THAT(w.s.broken(), testing::IsSupersetOf({"12-only-drawn-edges", "58-waits-end-right"}));
}

TEST(WaitChecker, ASignalThatComesAndIsTakenIsClean) {
  Waiting w(signal());
  w.s.rows().signals = {w.said(SignalKind::kSignal, R"({"v":1})")};
  w.complete(R"({"v":1})");
  EXPECT_THAT(w.s.report(), "");
}

TEST(WaitChecker, AnEndWithoutASignalOrWithOtherOutputsIsFound) {
  Waiting none(signal());
  none.complete();
  EXPECT_THAT(none.s.broken(), ElementsAre("58-waits-end-right"));
  Waiting other(signal());
  other.s.rows().signals = {other.said(SignalKind::kSignal, R"({"v":1})")};
  other.complete(R"({"v":2})");
  EXPECT_THAT(other.s.broken(), ElementsAre("58-waits-end-right"));
}

TEST(WaitChecker, ATimeoutBeforeItIsDueIsFoundAndOneInTimeIsClean) {
  Waiting early(signal());
  early.fail(DeathReason::kWaitTimedOut);
  EXPECT_THAT(early.s.broken(), ElementsAre("58-waits-end-right"));
  Waiting fine(signal());
  fine.s.pass(seconds(30));
  fine.fail(DeathReason::kWaitTimedOut);
  EXPECT_THAT(fine.s.report(), "");
}

TEST(WaitChecker, ARejectionByNobodyIsFound) {
  Waiting w(approval());
  w.fail(DeathReason::kRejected);
  EXPECT_THAT(w.s.broken(), ElementsAre("58-waits-end-right"));
}

TEST(SaidChecker, ASignalThatAWaitPassesOverIsFound) {
  Waiting w(signal());
  SignalRow row = w.said(SignalKind::kSignal);
  row.taken_by.reset();
  w.s.rows().signals = {row};
  w.s.commit();
  EXPECT_THAT(w.s.broken(), ElementsAre("59-said-is-taken"));
}

TEST(SaidChecker, ASignalThatChangesOrIsTakenTwiceIsFound) {
  Waiting w(signal());
  w.s.rows().signals = {w.said(SignalKind::kSignal)};
  w.complete();
  SignalRow row = w.said(SignalKind::kSignal);
  row.taken_by = 1;
  w.s.rows().signals = {row};
  w.s.commit();
  EXPECT_THAT(w.s.broken(), ElementsAre("59-said-is-taken"));
}

TEST(SaidChecker, AnAnswerThatIsToldOtherwiseThanItIsKeptIsFound) {
  Waiting w(approval());
  w.s.rows().signals = {w.said(SignalKind::kApproved, "{}")};
  w.complete("{}");
  core::AnswerApproval no;
  no.task = w.a;
  no.approved = false;
  w.s.tell(ClientTold{no, core::SignalKept{w.said(SignalKind::kApproved, "{}"), true}, {}});
  EXPECT_THAT(w.s.broken(), ElementsAre("59-said-is-taken"));
}

TEST(SaidChecker, ASignalThatWasAcknowledgedAndIsNotThereIsFound) {
  Waiting w(signal());
  const core::SignalRun sent{{}, w.run, "s"};
  w.s.tell(ClientTold{sent, core::SignalKept{w.said(SignalKind::kSignal), false}, {}});
  EXPECT_THAT(w.s.broken(), ElementsAre("59-said-is-taken"));
}

// a runs, last runs when that has ended.
struct Ending {
  Ending() {
    NodeSpec last = node("last");
    last.finally = true;
    run = s.submit(dag({node("a"), last}));
    s.task(z).state = TaskState::kWaiting;
    s.commit();
  }
  Story s;
  WorkerId w = s.join("w1");
  RunId run{1};
  TaskId a{run, 0};
  TaskId z{run, 1};
};

TEST(FinallyChecker, AfterACancelTheyRunAndThatIsClean) {
  Ending e;
  e.s.run(e.run).ending = RunEnding::kCancelled;
  e.s.cancel(e.a);
  e.s.commit();
  e.s.queue(e.z);
  e.s.grant(e.z, e.w);
  e.s.commit();
  e.s.start(e.z);
  e.s.commit();
  e.s.complete(e.z);
  e.s.end_run(e.run, RunState::kCancelled);
  e.s.commit();
  EXPECT_THAT(e.s.report(), "");
}

TEST(FinallyChecker, AStartBeforeTheRestHasEndedIsFound) {
  Ending e;
  e.s.queue(e.z);
  e.s.commit();
  EXPECT_THAT(e.s.broken(), Contains("60-finally-is-last"));
}

TEST(FinallyChecker, ARunThatEndsWithoutThemIsFound) {
  Ending e;
  e.s.run(e.run).ending = RunEnding::kCancelled;
  e.s.cancel(e.a);
  e.s.task(e.z).state = TaskState::kSkipped;
  e.s.end_run(e.run, RunState::kCancelled);
  e.s.commit();
  EXPECT_THAT(e.s.broken(), Contains("61-finally-runs"));
}

TEST(FinallyChecker, AStopThatNobodyAskedForIsFound) {
  Ending e;
  e.s.run(e.run).ending = RunEnding::kCancelled;
  e.s.run(e.run).finally_ending = RunEnding::kCancelled;
  e.s.cancel(e.a);
  e.s.cancel(e.z);
  e.s.end_run(e.run, RunState::kCancelled);
  e.s.commit();
  EXPECT_THAT(e.s.broken(), ElementsAre("61-finally-runs"));
}

TEST(FinallyChecker, AnOrdinaryTaskThatStartsAfterTheCancelIsStillFound) {
  Ending e;
  e.s.run(e.run).ending = RunEnding::kCancelled;
  e.s.commit();
  e.s.grant(e.a, e.w);
  e.s.commit();
  EXPECT_THAT(e.s.broken(), Contains("24-cancel-holds"));
}

TEST(FinallyChecker, ATaskThatIsToldAnotherEndingIsFound) {
  Ending e;
  e.s.run(e.run).ending = RunEnding::kCancelled;
  e.s.cancel(e.a);
  e.s.commit();
  e.s.queue(e.z);
  e.s.grant(e.z, e.w);
  e.s.commit();
  Assignment given;
  given.attempt = {e.z, {1}};
  given.number = 1;
  PlannedWork work{e.s.run(e.run).plan, 1, e.s.run(e.run).request};
  work.run_result = RunResult::kCompleted;
  given.work = work;
  given.execution_timeout = e.s.policy.execution_timeout;
  given.kill_grace = e.s.policy.kill_time;
  e.s.tell(WorkerGiven{e.w, {1}, {given}});
  EXPECT_THAT(e.s.broken(), ElementsAre("60-finally-is-last"));
}

}  // namespace
}  // namespace vortex::sim
