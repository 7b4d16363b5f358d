// 6, 7, 8, 20: who holds a task, and what really runs.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sim/checkers_story.h"

namespace vortex::sim {
namespace {

using testing::Contains;
using testing::ElementsAre;

TEST(OwnerChecker, SameEpochGrantedToTwo) {
  Story s;
  const WorkerId w1 = s.join("w1");
  const WorkerId w2 = s.join("w2");
  const TaskId id = s.running_task(w1);
  s.task(id).worker = w2;
  s.commit();
  EXPECT_THAT(s.broken(), ElementsAre("06-one-owner"));
}

TEST(OwnerChecker, QueuedTaskWithAnOwner) {
  Story s;
  const WorkerId w = s.join("w1");
  const TaskId id = s.running_task(w);
  s.fail(id);
  s.task(id).worker = w;
  s.commit();
  EXPECT_THAT(s.broken(), ElementsAre("06-one-owner"));
}

TEST(GoneWorkerChecker, OfflineWhileATaskIsAssigned) {
  Story s;
  const WorkerId w = s.join("w1");
  s.running_task(w);
  s.rows().recoveries.push_back({{1}, w, {1}, Evidence::kExit, 0, s.now});
  s.worker(w).state = WorkerState::kOffline;
  s.commit();
  EXPECT_THAT(s.broken(), ElementsAre("20-no-work-on-the-gone"));
}

TEST(GoneWorkerChecker, NewLifeWhileATaskIsAssignedToTheOld) {
  Story s;
  s.running_task(s.join("w1"));
  s.statuses_follow = false;
  s.join("w1");
  s.commit();
  EXPECT_THAT(s.broken(), Contains("20-no-work-on-the-gone"));
}

TEST(GoneWorkerChecker, GrantToAWorkerThatIsGone) {
  Story s;
  const WorkerId w = s.join("w1");
  const TaskId id{s.submit(dag({node("a")})), 0};
  s.lose(w, Evidence::kExit);
  s.commit();
  s.grant(id, w);
  s.commit();
  EXPECT_THAT(s.broken(), ElementsAre("20-no-work-on-the-gone"));
}

TEST(ProcessChecker, SameEpochStartedTwice) {
  Story s;
  const TaskId id = s.running_task(s.join("w1"));
  s.end_process(s.start_process(id));
  s.start_process(id);
  EXPECT_THAT(s.broken(), ElementsAre("07-epoch-starts-once"));
}

// The first holder still runs the task when the second starts it.
struct Overlap {
  explicit Overlap(bool exclusive = false) {
    NodeSpec spec = node("a");
    spec.exclusive = exclusive;
    const WorkerId second = s.join("w2");
    id = s.running_task(first, dag({spec}));
    process = s.start_process(id);
    s.lose(first, Evidence::kHint);
    s.grant(id, second);
    s.commit();
  }
  std::set<std::string> broken() {
    s.start_process(id);
    return s.broken();
  }
  Story s;
  WorkerId first = s.join("w1");
  TaskId id;
  std::uint64_t process = 0;
};

TEST(ProcessChecker, TwoProcessesOfOneTask) {
  Overlap o;
  EXPECT_THAT(o.broken(), ElementsAre("08-no-two-processes"));
}

TEST(ProcessChecker, OneAfterTheOtherIsClean) {
  Overlap o;
  o.s.end_process(o.process);
  EXPECT_THAT(o.broken(), ElementsAre());
}

TEST(ProcessChecker, OverlapIsExcusedByWhatNoProtocolPrevents) {
  Overlap replaced;
  replaced.s.tell(HolderReplaced{replaced.first, {1}});
  EXPECT_THAT(replaced.broken(), ElementsAre());
  Overlap clock;
  clock.s.tell(ClockBeyondMargin{clock.first});
  EXPECT_THAT(clock.broken(), ElementsAre());
  Overlap forged;
  forged.s.tell(HintForged{forged.first, {1}});
  EXPECT_THAT(forged.broken(), ElementsAre());
}

TEST(ProcessChecker, OnlyTheFirstHolderIsAnExcuse) {
  Overlap o;
  o.s.tell(HintForged{WorkerId("w2"), {1}});
  o.s.tell(HintForged{o.first, {2}});
  EXPECT_THAT(o.broken(), ElementsAre("08-no-two-processes"));
}

TEST(ProcessChecker, ForgedHintIsNoExcuseForExclusiveTasks) {
  Overlap forged(true);
  forged.s.tell(HintForged{forged.first, {1}});
  EXPECT_THAT(forged.broken(), ElementsAre("08-exclusive-not-by-hint", "08-no-two-processes"));
}

TEST(ProcessChecker, ExclusiveTaskThatWasOnlyGrantedIsNotTakenByAHint) {
  for (const Evidence evidence : {Evidence::kHint, Evidence::kSilence}) {
    Story s;
    NodeSpec spec = node("a");
    spec.exclusive = true;
    const WorkerId w = s.join("w1");
    s.grant({s.submit(dag({spec})), 0}, w);
    s.commit();
    s.pass(minutes(1));
    s.lose(w, evidence);
    s.task({{1}, 0}).counters = {.attempts = 1, .releases = 1};
    s.commit();
    EXPECT_EQ(s.broken().contains("08-exclusive-not-by-hint"), evidence == Evidence::kHint);
  }
}

TEST(ProcessChecker, AnExcuseHoldsForOneLease) {
  for (const bool in_time : {true, false}) {
    Overlap forged;
    forged.s.tell(HintForged{forged.first, {1}});
    forged.s.pass(in_time ? seconds(10) : seconds(11));
    EXPECT_EQ(forged.broken().contains("08-no-two-processes"), !in_time);
  }
}

TEST(ProcessChecker, OnlyASecondLifeExcusesAnOverlapOnOneWorker) {
  for (const bool twin : {true, false}) {
    Story s;
    const WorkerId w = s.join("w1");
    const TaskId id = s.running_task(w);
    s.start_process(id);
    if (twin) s.tell(HolderReplaced{w, {1}});
    s.tell(ClockBeyondMargin{w});
    s.tell(HintForged{w, {1}});
    s.lose(w, Evidence::kNewIncarnation);
    s.join("w1");
    s.grant(id, w);
    s.commit();
    s.start_process(id);
    EXPECT_EQ(s.broken().contains("08-no-two-processes"), !twin);
  }
}

TEST(ProcessChecker, FrozenWorkerIsNoExcuse) {
  Overlap paused;
  paused.s.tell(HolderPaused{paused.first, {1}});
  EXPECT_THAT(paused.broken(), ElementsAre("08-no-two-processes"));
}

TEST(ProcessChecker, OperatorWhoCalledALiveWorkerDeadIsAnExcuse) {
  Story s;
  const WorkerId w1 = s.join("w1");
  const WorkerId w2 = s.join("w2");
  const TaskId id = s.running_task(w1);
  s.start_process(id);
  s.lose(w1, Evidence::kOperator);
  s.grant(id, w2);
  s.commit();
  s.start_process(id);
  EXPECT_EQ(s.report(), "");
}

}  // namespace
}  // namespace vortex::sim
