// 18, 19: the ledger of what was taken away, and that silence is not judged too soon.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sim/checkers_story.h"

namespace vortex::sim {
namespace {

using testing::Contains;
using testing::ElementsAre;

struct Loss {
  Loss() { recovery = s.lose(w, Evidence::kExit); }
  std::set<std::string> broken() {
    s.commit();
    return s.broken();
  }
  Story s;
  WorkerId w = s.join("w1");
  TaskId id = s.running_task(w);
  RecoveryId recovery;
};

TEST(LedgerChecker, LossWithItsLedgerIsClean) { EXPECT_THAT(Loss().broken(), ElementsAre()); }

TEST(LedgerChecker, MissingItem) {
  Loss loss;
  loss.s.rows().recovery_items.clear();
  EXPECT_THAT(loss.broken(), Contains("18-ledger-complete"));
}

TEST(LedgerChecker, MissingItemThatNobodyCounted) {
  Loss loss;
  loss.s.rows().recovery_items.clear();
  loss.s.rows().recoveries.back().num_tasks = 0;
  EXPECT_THAT(loss.broken(), Contains("18-ledger-complete"));
}

TEST(LedgerChecker, MissingRecovery) {
  Loss loss;
  loss.s.rows().recoveries.clear();
  EXPECT_THAT(loss.broken(), Contains("18-ledger-complete"));
}

TEST(LedgerChecker, WrongCount) {
  Loss loss;
  loss.s.rows().recoveries.back().num_tasks = 2;
  EXPECT_THAT(loss.broken(), ElementsAre("18-ledger-complete"));
}

TEST(LedgerChecker, ItemWithoutAReclaim) {
  Story s;
  const WorkerId w1 = s.join("w1");
  const WorkerId w2 = s.join("w2");
  const TaskId id = s.running_task(w1);
  const RecoveryId recovery = s.lose(w2, Evidence::kExit);
  s.rows().recovery_items.push_back({recovery, id, {1}, {2}, w2, {}, 0});
  s.rows().recoveries.back().num_tasks = 1;
  s.commit();
  EXPECT_THAT(s.broken(), ElementsAre("18-ledger-complete"));
}

TEST(LedgerChecker, SameAttemptReclaimedTwice) {
  Loss loss;
  loss.s.commit();
  const RecoveryRow again{{9}, loss.w, {1}, Evidence::kExit, 1, loss.s.now};
  loss.s.rows().recoveries.push_back(again);
  loss.s.rows().recovery_items.push_back({{9}, loss.id, {1}, {2}, loss.w, {}, 0});
  EXPECT_THAT(loss.broken(), Contains("18-ledger-complete"));
}

TEST(LedgerChecker, RecoveryWrittenTwice) {
  Loss loss;
  const RecoveryRow row = loss.s.rows().recoveries.back();
  loss.s.commit();
  loss.s.rows().recoveries.push_back(row);
  EXPECT_THAT(loss.broken(), Contains("18-ledger-complete"));
}

TEST(LedgerChecker, NewWorkerThatIsNotTheOne) {
  Loss loss;
  const WorkerId w2 = loss.s.join("w2");
  loss.s.commit();
  loss.s.grant(loss.id, w2);
  loss.s.rows().recovery_items.push_back(
      {loss.recovery, loss.id, {1}, {2}, loss.w, WorkerId("w3"), 0});
  EXPECT_THAT(loss.broken(), ElementsAre("18-ledger-complete"));
}

TEST(LedgerChecker, TakenAwayWhileTheWorkerStays) {
  Loss loss;
  loss.s.worker(loss.w).state = WorkerState::kIdle;
  EXPECT_THAT(loss.broken(), ElementsAre("18-ledger-complete"));
}

TEST(LedgerChecker, HintMayLeaveTheWorker) {
  Story s;
  const WorkerId w = s.join("w1");
  s.running_task(w);
  s.lose(w, Evidence::kHint);
  s.worker(w).state = WorkerState::kIdle;
  s.commit();
  EXPECT_EQ(s.report(), "");
}

TEST(LedgerChecker, OfflineWithoutARecovery) {
  Story s;
  const WorkerId w = s.join("w1");
  s.commit();
  s.worker(w).state = WorkerState::kOffline;
  s.commit();
  EXPECT_THAT(s.broken(), Contains("18-ledger-complete"));
}

// A worker last heard at the start, lost by silence after a while.
struct Silent {
  Silent() {
    s.commit();
    s.pass(minutes(1));
    s.hear(w);
  }
  std::set<std::string> lost_after(Duration d) {
    s.pass(d);
    s.lose(w, Evidence::kSilence);
    s.commit();
    return s.broken();
  }
  Story s;
  WorkerId w = s.join("w1");
};

TEST(SilenceChecker, LeaseHasNotEnded) {
  EXPECT_THAT(Silent().lost_after(seconds(9)), ElementsAre("19-no-early-silence"));
  EXPECT_THAT(Silent().lost_after(seconds(10)), ElementsAre());
}

TEST(SilenceChecker, WhatIsHeardAfterTheDecisionDoesNotCount) {
  Silent silent;
  silent.s.pass(seconds(10));
  silent.s.lose(silent.w, Evidence::kSilence);
  silent.s.pass(seconds(1));
  silent.s.hear(silent.w);
  silent.s.commit();
  EXPECT_EQ(silent.s.report(), "");
}

TEST(SilenceChecker, JustRegistered) {
  Story s;
  const WorkerId w = s.join("w1");
  s.commit();
  s.pass(seconds(5));
  s.lose(w, Evidence::kSilence);
  s.commit();
  EXPECT_THAT(s.broken(), ElementsAre("19-no-early-silence"));
}

TEST(SilenceChecker, GraceAfterAnOutage) {
  Silent early;
  early.s.pass(seconds(20));
  early.s.tell(OutageEnded{{1}, early.s.now});
  EXPECT_THAT(early.lost_after(seconds(9)), ElementsAre("19-no-early-silence"));
  Silent late;
  late.s.pass(seconds(20));
  late.s.tell(OutageEnded{{1}, late.s.now});
  EXPECT_THAT(late.lost_after(seconds(10)), ElementsAre());
}

TEST(SilenceChecker, BrakeHolds) {
  for (const char* phase : {"holding", "trickle"}) {
    Silent silent;
    silent.s.event(EventKind::kBrakeEngaged).data = {{"phase", std::string(phase)}};
    silent.s.commit();
    const bool holding = std::string_view(phase) == "holding";
    EXPECT_EQ(silent.lost_after(seconds(30)).contains("19-no-early-silence"), holding);
  }
  Silent released;
  released.s.event(EventKind::kBrakeEngaged).data = {{"phase", std::string("holding")}};
  released.s.commit();
  released.s.event(EventKind::kBrakeReleased);
  released.s.commit();
  EXPECT_THAT(released.lost_after(seconds(30)), ElementsAre());
}

// Loses `lost` of ten idle workers by silence within a second.
std::set<std::string> lose_many(int lost, const char* brake_phase) {
  Story s;
  std::vector<WorkerId> workers;
  for (int i = 0; i < 10; ++i) workers.push_back(s.join("w" + std::to_string(i)));
  s.commit();
  s.pass(minutes(1));
  if (brake_phase != nullptr) {
    s.event(EventKind::kBrakeEngaged).data = {{"phase", std::string(brake_phase)}};
  }
  s.commit();
  for (int i = 0; i < lost; ++i) {
    s.lose(workers[static_cast<std::size_t>(i)], Evidence::kSilence);
    s.commit();
  }
  return s.broken();
}

TEST(SilenceChecker, MostOfTheFleetWithoutTheBrake) {
  EXPECT_THAT(lose_many(5, nullptr), ElementsAre());
  EXPECT_THAT(lose_many(8, nullptr), ElementsAre("19-no-early-silence"));
}

TEST(SilenceChecker, WorkersThatCameBackAreNotLost) {
  Story s;
  std::vector<WorkerId> workers;
  for (int i = 0; i < 4; ++i) workers.push_back(s.join("w" + std::to_string(i)));
  s.commit();
  s.pass(minutes(1));
  for (const WorkerId& worker : workers) {
    s.lose(worker, Evidence::kSilence);
    s.commit();
    s.join(worker.text);
    s.commit();
  }
  EXPECT_EQ(s.report(), "");
}

TEST(SilenceChecker, GraceBelongsToTheTerm) {
  Silent silent;
  silent.s.pass(seconds(20));
  silent.s.tell(TermBegan{{2}, silent.s.now});
  silent.s.tell(OutageEnded{{1}, silent.s.now + seconds(5)});  // of a leader that is no more
  silent.s.pass(seconds(10));
  silent.s.lose(silent.w, Evidence::kSilence);
  silent.s.commit();
  EXPECT_FALSE(silent.s.broken().contains("19-no-early-silence")) << silent.s.report();
}

TEST(SilenceChecker, TrickleIsLimited) {
  EXPECT_THAT(lose_many(2, "trickle"), ElementsAre());
  EXPECT_THAT(lose_many(4, "trickle"), ElementsAre("19-no-early-silence"));
}

}  // namespace
}  // namespace vortex::sim
