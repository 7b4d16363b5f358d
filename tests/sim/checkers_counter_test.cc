// 13 to 17: what is counted, and who is blamed.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sim/checkers_story.h"

namespace vortex::sim {
namespace {

using testing::Contains;
using testing::ElementsAre;

TEST(CounterChecker, AttemptThatIsNotCounted) {
  Story s;
  const WorkerId w = s.join("w1");
  const TaskId id{s.submit(dag({node("a")})), 0};
  s.grant(id, w);
  s.task(id).counters.attempts = 2;
  s.commit();
  EXPECT_THAT(s.broken(), ElementsAre("13-attempts-add-up"));
}

TEST(CounterChecker, OneRetryTooMany) {
  Story s;
  const WorkerId w = s.join("w1");
  const TaskId id = s.running_task(w);
  s.fail(id);
  s.grant(id, w);
  s.commit();
  s.start(id);
  s.commit();
  EXPECT_EQ(s.task(id).counters.failures, 1);
  s.fail(id);  // the second failure: one retry was all there was
  s.commit();
  EXPECT_THAT(s.broken(), ElementsAre("13-attempts-add-up"));
}

TEST(CounterChecker, RetriesOfTheNodeItself) {
  NodeSpec often = node("a");
  often.retry.emplace().max_retries = 5;
  Story s;
  const WorkerId w = s.join("w1");
  const TaskId id = s.running_task(w, dag({often}));
  for (int i = 0; i < 5; ++i) {
    s.fail(id);
    s.grant(id, w);
    s.commit();
  }
  EXPECT_EQ(s.report(), "");
}

TEST(CounterChecker, A01_WhatIsDroppedAfterAStopMustCountAsNotStarted) {
  for (const Verdict verdict : {Verdict::kLostInTransit, Verdict::kNotStartedInTime}) {
    Story s;
    const WorkerId w = s.join("w1");
    const TaskId id{s.submit(dag({node("a")})), 0};
    s.grant(id, w);
    s.commit();
    s.pass(s.policy.scheduled_timeout);
    s.task(id).stop = StopReason::kNotStarted;
    s.commit();
    s.end_attempt(id, verdict);
    ++s.task(id).counters.releases;
    if (verdict == Verdict::kNotStartedInTime) ++s.task(id).counters.unstarted;
    s.task(id).stop = StopReason::kNone;
    s.put_back(id);
    s.commit();
    if (verdict == Verdict::kNotStartedInTime) {
      EXPECT_EQ(s.report(), "");
    } else {
      EXPECT_THAT(s.broken(), ElementsAre("13-not-started-counts"));
    }
  }
}

TEST(CounterChecker, AttemptNumbersThatBeginAnewAfterARetry) {
  Story s;
  const TaskId id = s.running_task(s.join("w1"));
  s.die(id);
  s.commit();
  s.revive(id);
  s.task(id).counters.attempts = 0;
  s.commit();
  EXPECT_THAT(s.broken(), Contains("13-attempts-add-up"));
}

TEST(CounterChecker, CountersGoBack) {
  Story s;
  const TaskId id = s.running_task(s.join("w1"));
  s.fail(id);
  s.commit();
  s.task(id).counters = {};
  s.commit();
  EXPECT_THAT(s.broken(), Contains("13-attempts-add-up"));
}

TEST(CounterChecker, CancelledWhileHeldIsClean) {
  Story s;
  const TaskId id = s.running_task(s.join("w1"));
  s.cancel(id);
  s.end_run(id.run, RunState::kFailed);
  s.commit();
  EXPECT_EQ(s.report(), "");
}

TEST(VerdictChecker, CrashCountedAsFailure) {
  Story s;
  const WorkerId w = s.join("w1");
  const TaskId id = s.running_task(w);
  s.lose(w, Evidence::kExit);
  s.task(id).counters.crashes = 0;
  s.task(id).counters.failures = 1;
  s.commit();
  EXPECT_THAT(s.broken(), Contains("14-crash-is-no-failure"));
}

TEST(VerdictChecker, FailureCountedAsCrash) {
  Story s;
  const TaskId id = s.running_task(s.join("w1"));
  s.fail(id);
  s.task(id).counters.failures = 0;
  s.task(id).counters.crashes = 1;
  s.commit();
  EXPECT_THAT(s.broken(), ElementsAre("14-crash-is-no-failure", "15-blame-only-started",
                                      "17-nobody-blamed", "32-blame-where-due"));
}

TEST(BlameChecker, CrashOfATaskThatWasNeverStarted) {
  Story s;
  const WorkerId w = s.join("w1");
  const TaskId id{s.submit(dag({node("a")})), 0};
  s.grant(id, w);
  s.commit();
  s.lose(w, Evidence::kExit);
  s.task(id).counters.releases = 0;
  s.task(id).counters.crashes = 1;
  s.commit();
  EXPECT_THAT(s.broken(), Contains("15-blame-only-started"));
}

TEST(BlameChecker, ScheduledTaskIsReleasedCleanly) {
  Story s;
  const WorkerId w = s.join("w1");
  const TaskId id{s.submit(dag({node("a")})), 0};
  s.grant(id, w);
  s.commit();
  s.lose(w, Evidence::kExit);
  s.commit();
  EXPECT_EQ(s.report(), "");
}

// Two workers die under it: that is the limit.
struct Poison {
  Poison() {
    const WorkerId w2 = s.join("w2");
    s.lose(WorkerId("w1"), Evidence::kExit);
    s.grant(id, w2);
    s.commit();
    s.start(id);
    s.commit();
    s.lose(w2, Evidence::kExit);
  }
  Story s;
  TaskId id = s.running_task(s.join("w1"));
};

TEST(CrashLimitChecker, QueuedAtTheLimit) {
  Poison p;
  p.s.commit();
  EXPECT_THAT(p.s.broken(), ElementsAre("16-crash-limit"));
}

TEST(CrashLimitChecker, FailedWithoutADeadLetter) {
  Poison p;
  p.s.task(p.id).state = TaskState::kFailed;
  p.s.commit();
  EXPECT_THAT(p.s.broken(), ElementsAre("16-crash-limit", "22-one-dead-letter"));
}

TEST(NobodyBlamedChecker, WorkerThatLeftOnPurpose) {
  for (const auto evidence : {Evidence::kOperator, Evidence::kGoodbye, Evidence::kReconciler}) {
    Story s;
    const WorkerId w = s.join("w1");
    const TaskId id = s.running_task(w);
    s.lose(w, evidence);
    s.task(id).counters.releases = 0;
    s.task(id).counters.crashes = 1;
    s.commit();
    EXPECT_THAT(s.broken(), Contains("17-nobody-blamed"));
  }
}

TEST(NobodyBlamedChecker, DrainCountedAsCrash) {
  Story s;
  const TaskId id = s.running_task(s.join("w1"));
  s.end_attempt(id, Verdict::kDrained);
  ++s.task(id).counters.crashes;
  s.put_back(id);
  s.commit();
  EXPECT_THAT(s.broken(), Contains("17-nobody-blamed"));
}

TEST(NobodyBlamedChecker, LossOfTheFleet) {
  for (const auto evidence : {Evidence::kSilence, Evidence::kExit}) {
    Story s;
    const WorkerId w = s.join("w1");
    s.running_task(w);
    s.pass(minutes(1));
    s.event(EventKind::kBrakeEngaged).data = {{"phase", std::string("trickle")}};
    s.commit();
    s.lose(w, evidence);
    s.commit();
    const bool weak = evidence == Evidence::kSilence;
    EXPECT_EQ(s.broken().contains("17-nobody-blamed"), weak) << s.report();
  }
}

}  // namespace
}  // namespace vortex::sim
