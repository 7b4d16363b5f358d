// Named limits: slots are held by tasks on workers, rates are kept over reloads, and nobody who
// cannot run keeps a slot from somebody who can.

#include <gmock/gmock.h>

#include "core/explain.h"
#include "core/machine.h"
#include "tests/core/harness.h"

namespace vortex::core {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

class Limits : public LifeTest {
 protected:
  Limits() {
    ignore_comings_and_goings();
    ignore({EventKind::kTaskFailed, EventKind::kTaskDeadLettered, EventKind::kTaskCancelled,
            EventKind::kRunCancelRequested, EventKind::kLimitChanged, EventKind::kTaskTimeout});
  }
  void set(std::uint32_t slots, std::uint32_t rate = 0, Duration window = {}) {
    ask_done(SetLimit{{}, "api", slots, rate, window, {}});
  }
  static NodeSpec limited(NodeSpec spec, std::vector<std::string> limits = {"api"}) {
    spec.limits = std::move(limits);
    return spec;
  }
  RunId submit_items(std::uint32_t items) {
    NodeSpec spec = limited(with_retries(mapped("each", range(1, items)), 0));
    return submit({spec});
  }
  const Limit& api() { return (*state).limits[state->limits.find("api")]; }
};

TEST_F(Limits, NoMoreTasksHoldItThanItHasSlots) {
  set(2);
  Hand& w = join("w", 10);
  submit_items(5);
  EXPECT_THAT(w.assigned, SizeIs(2));
  EXPECT_EQ(api().held, 2u);
  const Attempt first = take_and_start(w);
  reload();
  EXPECT_EQ(api().held, 2u);
  complete(w, first);
  EXPECT_EQ(api().held, 2u);
  w.assigned.clear();
}

TEST_F(Limits, ALostWorkerSetsItsSlotsFree) {
  set(1);
  Hand& a = join("a", 4);
  submit_items(2);
  take_and_start(a);
  Hand& b = join("b", 4);
  EXPECT_TRUE(b.assigned.empty());
  kill(a);
  EXPECT_THAT(b.assigned, SizeIs(1));
  EXPECT_EQ(api().held, 1u);
  b.assigned.clear();
}

TEST_F(Limits, WhatNoWorkerCanTakeKeepsTheSlotFromNobody) {
  set(1);
  NodeSpec gpu = limited(node("gpu"));
  gpu.requirements.labels = {{"gpu", "yes"}};
  gpu.priority = 10;
  Hand& w = join("w", 4);
  submit({gpu, limited(node("cpu"))});
  ASSERT_THAT(w.assigned, SizeIs(1));
  EXPECT_EQ(take_and_start(w).task.index, 1u);
}

TEST_F(Limits, PriorityThenAgeDecidesWhoIsNext) {
  set(1);
  Hand& w = join("w", 4);
  NodeSpec low = limited(node("low"));
  NodeSpec high = limited(node("high"));
  low.priority = -5;
  high.priority = 5;
  high.requirements.labels = {};
  const RunId held = submit({limited(node("held"))});
  const RunId last = submit({low});
  const RunId plain = submit({limited(node("plain"))});
  const RunId first = submit({high});
  for (const RunId run : {held, first, plain, last}) {
    const Attempt work = take_and_start(w);
    EXPECT_EQ(work.task.run, run);
    EXPECT_TRUE(w.assigned.empty());
    complete(w, work);
  }
}

TEST_F(Limits, TasksWithoutLimitsPassThoseThatWait) {
  set(1);
  Hand& w = join("w", 4);
  submit_items(3);
  submit({node("free")});
  EXPECT_THAT(w.assigned, SizeIs(2));
  w.assigned.clear();
}

TEST_F(Limits, ALimitThatNobodySetMakesItsTasksWait) {
  Hand& w = join("w", 4);
  const RunId run = submit({limited(node("one"))});
  EXPECT_TRUE(w.assigned.empty());
  const Explanation why = explain(*state, {run, 0}, now);
  ASSERT_FALSE(why.obstacles.empty());
  EXPECT_EQ(why.reason, WaitReason::kNoSuchLimit);
  EXPECT_EQ(why.obstacles[0].what, "limit 'api' does not exist");
  EXPECT_EQ(why.obstacles[0].action, "vortex limits set api --slots 5");
  EXPECT_THAT(standstills(*state, {}, now), SizeIs(1));
  EXPECT_THAT(standstills(*state, run, now), SizeIs(1));
  reload();
  set(1);
  EXPECT_THAT(w.assigned, SizeIs(1));
  w.assigned.clear();
}

TEST_F(Limits, CanBeChangedWhileTasksRun) {
  set(1);
  Hand& w = join("w", 10);
  submit_items(6);
  EXPECT_THAT(w.assigned, SizeIs(1));
  set(3);
  EXPECT_THAT(w.assigned, SizeIs(3));
  set(1);
  const Attempt a = take_and_start(w);
  const Attempt b = take_and_start(w);
  const Attempt c = take_and_start(w);
  complete(w, a);
  complete(w, b);
  EXPECT_TRUE(w.assigned.empty());
  complete(w, c);
  EXPECT_THAT(w.assigned, SizeIs(1));
  ask_done(DeleteLimit{{}, "api", {}});
  EXPECT_EQ(ask_in_vain(DeleteLimit{{}, "api", {}}), RefusalKind::kUnknownLimit);
  complete(w, take_and_start(w));
  EXPECT_TRUE(w.assigned.empty());
  reload();
  set(9);
  EXPECT_THAT(w.assigned, SizeIs(2));
  w.assigned.clear();
}

TEST_F(Limits, SeveralLimitsMustAllHaveRoom) {
  set(5);
  ask_done(SetLimit{{}, "db", 1, 0, {}, {}});
  Hand& w = join("w", 10);
  submit({limited(mapped("both", range(1, 3)), {"api", "db"})});
  EXPECT_THAT(w.assigned, SizeIs(1));
  submit_items(9);
  EXPECT_THAT(w.assigned, SizeIs(5));
  w.assigned.clear();
}

TEST_F(Limits, ARateIsKeptInEveryWindowAndOverReloads) {
  set(0, 3, minutes(1));
  Hand& w = join("w", 100);
  submit_items(20);
  std::vector<Instant> starts;
  for (int i = 0; i < 150; ++i) {
    while (!w.assigned.empty()) {
      starts.push_back(now);
      complete(w, take_and_start(w));
    }
    if (i % 7 == 0) reload();
    advance(seconds(2));
  }
  EXPECT_GE(starts.size(), 12u);
  for (std::size_t i = 0; i + 3 < starts.size(); ++i) {
    EXPECT_GE(starts[i + 3] - starts[i], minutes(1)) << i;
  }
  w.assigned.clear();
}

TEST_F(Limits, ANewWindowCountsWhatWasStartedLately) {
  set(0, 3, minutes(1));
  Hand& w = join("w", 100);
  submit_items(20);
  EXPECT_THAT(w.assigned, SizeIs(3));
  set(0, 3, minutes(2));
  EXPECT_THAT(w.assigned, SizeIs(3));
  advance(seconds(90));
  EXPECT_THAT(w.assigned, SizeIs(3));
  advance(seconds(40));
  EXPECT_THAT(w.assigned, SizeIs(6));
  w.assigned.clear();
}

TEST_F(Limits, ExplainNamesTheHoldersAndThePlaceInLine) {
  set(1);
  Hand& w = join("w", 4);
  const RunId run = submit_items(3);
  w.assigned.clear();
  const Explanation why = explain(*state, {run, 2}, now);
  EXPECT_EQ(why.reason, WaitReason::kLimitFull);
  EXPECT_THAT(why.obstacles[0].what,
              HasSubstr("limit 'api' is full (1 of 1 slot): r1-L0-0 holds it; number 2 in line"));
  set(0, 1, minutes(1));
  w.assigned.clear();
  const Explanation rate = explain(*state, {run, 2}, now);
  EXPECT_THAT(rate.obstacles[0].what,
              HasSubstr("limit 'api' is full: 1 of 1 were started within 1m; number 1 in line"));
  EXPECT_TRUE(rate.moves_at);
}

TEST_F(Limits, ShowsWhatIsHeldAndWaits) {
  set(2);
  Hand& w = join("w", 4);
  submit_items(5);
  w.assigned.clear();
  const auto infos = limit_infos(*state, now);
  ASSERT_THAT(infos, SizeIs(1));
  EXPECT_EQ(infos[0].held, 2u);
  EXPECT_EQ(infos[0].waiting, 3u);
  EXPECT_THAT(infos[0].holders, SizeIs(2));
}

TEST_F(Limits, AreRefusedWhenTheyMakeNoSense) {
  const auto refused = [&](SetLimit limit) { return ask<Refusal>(std::move(limit)).detail; };
  EXPECT_THAT(refused({{}, "api", 0, 0, {}, {}}), HasSubstr("needs slots, a rate or both"));
  EXPECT_THAT(refused({{}, "a b", 1, 0, {}, {}}), HasSubstr("the name of the limit"));
  EXPECT_THAT(refused({{}, "api", 0, 5, millis(1), {}}), HasSubstr("between 1s and 7d"));
  EXPECT_TRUE(mirror.limits.empty());
}

TEST_F(Limits, AreForgottenWithTheLastTaskThatNamesThemUnlessTheyAreSet) {
  Hand& w = join("w", 4);
  const RunId run = submit({limited(node("one"), {"nobody"})});
  EXPECT_THAT(state->limits.by_name(), SizeIs(1));
  ask_done(CancelRun{{}, run});
  EXPECT_TRUE(state->limits.by_name().empty());
  EXPECT_TRUE(w.assigned.empty());
}

}  // namespace
}  // namespace vortex::core
