// 30 to 35: what was asked for is kept, and what follows from it follows.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sim/checkers_story.h"

namespace vortex::sim {
namespace {

using testing::Contains;
using testing::ElementsAre;

// A running task whose cancel is durable and acknowledged.
struct Stopped {
  Stopped() {
    s.task(id).stop = StopReason::kCancel;
    s.commit();
    s.tell(ClientTold{core::CancelTask{{}, id}, core::Done{}});
  }
  Story s;
  WorkerId w = s.join("w1");
  TaskId id = s.running_task(w);
};

TEST(StopChecker, CancelledTaskThatEndsCancelledIsClean) {
  Stopped t;
  t.s.cancel(t.id);
  t.s.end_run(t.id.run, RunState::kFailed);
  t.s.run(t.id.run).levels_passed = 1;
  t.s.commit();
  EXPECT_EQ(t.s.report(), "");
}

TEST(StopChecker, StopForgottenByTheNextLeader) {
  Stopped t;
  t.s.tell(TermBegan{{2}, t.s.now});
  t.s.task(t.id).stop = StopReason::kNone;
  t.s.commit();
  EXPECT_THAT(t.s.broken(), Contains("30-stop-kept"));
}

TEST(StopChecker, CancelledTaskThatEndsOtherwise) {
  Stopped done;
  done.s.complete(done.id);
  done.s.end_run(done.id.run, RunState::kCompleted);
  done.s.commit();
  EXPECT_THAT(done.s.broken(), ElementsAre("30-stop-kept"));
  Stopped again;
  again.s.fail(again.id);
  again.s.commit();
  EXPECT_THAT(again.s.broken(), ElementsAre("30-stop-kept"));
}

TEST(StopChecker, AcknowledgedAndNotDurable) {
  Story s;
  const TaskId id = s.running_task(s.join("w1"));
  s.tell(ClientTold{core::CancelTask{{}, id}, core::Done{}});
  EXPECT_THAT(s.broken(), Contains("30-stop-kept"));
  Story all;
  const TaskId other = all.running_task(all.join("w1"));
  all.tell(ClientTold{core::CancelRun{{}, other.run}, core::Done{}});
  EXPECT_THAT(all.broken(), Contains("30-stop-kept"));
}

TEST(StopChecker, EndOfARunTakenBack) {
  Story s;
  const TaskId id = s.running_task(s.join("w1"));
  s.run(id.run).ending = RunEnding::kCancelled;
  s.commit();
  s.run(id.run).ending = RunEnding::kNone;
  s.commit();
  EXPECT_THAT(s.broken(), ElementsAre("30-stop-kept"));
}

TEST(StopChecker, TimeoutForgottenByTheNextLeader) {
  Story s;
  const TaskId id = s.running_task(s.join("w1"));
  s.task(id).stop = StopReason::kStale;
  s.commit();
  s.task(id).stop = StopReason::kNone;
  s.commit();
  EXPECT_THAT(s.broken(), Contains("30-stop-kept"));
}

// One task that ended like this, in a run that ended like that.
std::set<std::string> ended(TaskState task, RunState run) {
  Story s;
  const TaskId id = s.running_task(s.join("w1"));
  if (task == TaskState::kCompleted) s.complete(id);
  if (task == TaskState::kFailed) s.die(id);
  if (task == TaskState::kCancelled) s.cancel(id);
  s.end_run(id.run, run);
  s.run(id.run).levels_passed = 1;
  s.commit();
  return s.broken();
}

TEST(RunEndChecker, EndFollowsFromTheNodes) {
  EXPECT_THAT(ended(TaskState::kCompleted, RunState::kCompleted), ElementsAre());
  EXPECT_THAT(ended(TaskState::kFailed, RunState::kFailed), ElementsAre());
  EXPECT_THAT(ended(TaskState::kCancelled, RunState::kFailed), ElementsAre());
}

TEST(RunEndChecker, RunWithACancelledTaskDoesNotComplete) {
  EXPECT_THAT(ended(TaskState::kCancelled, RunState::kCompleted),
              ElementsAre("31-run-end-follows"));
  EXPECT_THAT(ended(TaskState::kFailed, RunState::kCompleted), ElementsAre("31-run-end-follows"));
  EXPECT_THAT(ended(TaskState::kCompleted, RunState::kFailed), ElementsAre("31-run-end-follows"));
}

TEST(RunEndChecker, RunThatGoesOnWithNothingLeft) {
  EXPECT_THAT(ended(TaskState::kCompleted, RunState::kRunning), Contains("31-run-end-follows"));
}

// A map of three items of which the first so many are made, and completed; the rest is not there,
// or skipped.
enum class Rest : std::uint8_t { kNotMade, kSkipped };
std::set<std::string> map_that_made(std::uint32_t items, Rest rest = Rest::kNotMade) {
  Story s;
  NodeSpec spec = node("a");
  spec.map = MapSpec{};
  spec.map->over = MapRange{1, 3, 1};
  const WorkerId w = s.join("w1");
  const RunId run = s.submit(dag({spec}));
  s.commit();
  for (std::uint32_t i = 0; i < items; ++i) {
    s.queue({run, i});
    s.grant({run, i}, w);
    s.commit();
    s.start({run, i});
    s.commit();
    s.complete({run, i});
    s.commit();
  }
  for (std::uint32_t i = items; i < 3 && rest == Rest::kSkipped; ++i) s.skip({run, i});
  s.end_run(run, RunState::kCompleted);
  s.run(run).levels_passed = 1;
  s.commit();
  return s.broken();
}

TEST(MapChecker, MapThatDidNotStopSkipsNone) {
  EXPECT_TRUE(map_that_made(2, Rest::kSkipped).contains("35-map-complete"));
}

TEST(MapChecker, MapMakesAllOfItsItems) {
  EXPECT_FALSE(map_that_made(3).contains("35-map-complete"));
  EXPECT_TRUE(map_that_made(2).contains("35-map-complete"));
}

TEST(BlameDueChecker, StartedTaskIsBlamedForTheDeathOfItsWorker) {
  for (const Evidence evidence : {Evidence::kExit, Evidence::kOperator}) {
    for (const bool blamed : {true, false}) {
      Story s;
      const WorkerId w = s.join("w1");
      const TaskId id = s.running_task(w);
      s.lose(w, evidence);
      const std::uint16_t one = blamed ? 1 : 0;
      s.task(id).counters.crashes = one;
      s.task(id).counters.releases = static_cast<std::uint16_t>(1 - one);
      s.commit();
      const bool right = blamed == (evidence == Evidence::kExit);
      EXPECT_EQ(s.broken().contains("32-blame-where-due"), !right);
    }
  }
}

TEST(BlameDueChecker, NotStartedInTimeCounts) {
  for (const bool counted : {true, false}) {
    Story s;
    const WorkerId w = s.join("w1");
    const TaskId id{s.submit(dag({node("a")})), 0};
    s.grant(id, w);
    s.commit();
    s.end_attempt(id, Verdict::kNotStartedInTime);
    s.put_back(id);
    s.task(id).counters.releases = 1;
    s.task(id).counters.unstarted = counted ? 1 : 0;
    s.commit();
    EXPECT_EQ(s.broken().contains("32-blame-where-due"), !counted);
  }
}

TEST(LifeChecker, OneRecoveryPerLifeIsClean) {
  Story s;
  const WorkerId w = s.join("w1");
  s.running_task(w);
  s.lose(w, Evidence::kNewIncarnation);
  s.join("w1");
  s.commit();
  s.lose(w, Evidence::kExit);
  s.commit();
  EXPECT_EQ(s.report(), "");
}

TEST(LifeChecker, LifeThatWasRecoveredBefore) {
  Story s;
  const WorkerId w = s.join("w1");
  s.commit();
  s.lose(w, Evidence::kExit);
  s.commit();
  s.lose(w, Evidence::kExit);
  s.commit();
  EXPECT_THAT(s.broken(), ElementsAre("33-one-recovery-a-life"));
}

TEST(LifeChecker, LifeThatWasReplacedWithoutARecovery) {
  Story s;
  s.join("w1");
  s.commit();
  s.join("w1");
  s.commit();
  EXPECT_THAT(s.broken(), ElementsAre("33-one-recovery-a-life"));
}

// A request under a key that made a run, sent again.
std::set<std::string> sent_again(const std::string& params) {
  Story s;
  const DagSpec spec = dag({node("a")});
  s.submit(spec, "key");
  s.commit();
  core::SubmitRun submit;
  submit.dag = spec;
  submit.idempotency_key = "key";
  submit.params = params;
  s.tell(ClientTold{submit, core::Refusal{core::RefusalKind::kKeyReused, {}, {}, {}}});
  return s.broken();
}

TEST(KeyChecker, RepeatedRequestIsNeverRefused) {
  EXPECT_THAT(sent_again(""), Contains("34-key-answered"));
  EXPECT_FALSE(sent_again("{\"other\":1}").contains("34-key-answered"));
}

}  // namespace
}  // namespace vortex::sim
