// 40 to 42, and the doubt of 19: nothing before it is due, and everything that is.

#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/model/due.h"
#include "sim/model/leader_time.h"
#include "tests/sim/checkers_story.h"

namespace vortex::sim {
namespace {

using testing::ElementsAre;

TEST(Due, BackoffGrowsAsItsKindSays) {
  Backoff backoff{BackoffKind::kFixed, seconds(2), seconds(10), 0};
  EXPECT_EQ(backoff_after(backoff, 3).least, seconds(2));
  backoff.kind = BackoffKind::kLinear;
  EXPECT_EQ(backoff_after(backoff, 3).least, seconds(6));
  EXPECT_EQ(backoff_after(backoff, 9).most, seconds(10));
  backoff.kind = BackoffKind::kExponential;
  EXPECT_EQ(backoff_after(backoff, 3).least, seconds(8));
  backoff.jitter_permille = 250;
  EXPECT_EQ(backoff_after(backoff, 3).least, seconds(6));
  EXPECT_EQ(backoff_after(backoff, 60).most, seconds(10));
}

TEST(LeaderTime, TimeInWhichTheLeaderWasNotSeenDoesNotCount) {
  LeaderTime time(seconds(1));
  const Instant begin{5'000'000};
  time.fact(TermBegan{{1}, begin});
  time.fact(WorkerHeard{{1}, WorkerId("w"), {1}, begin + seconds(2)});
  EXPECT_EQ(time.between(begin, begin + seconds(2)), seconds(2));
  time.fact(WorkerHeard{{1}, WorkerId("w"), {1}, begin + seconds(12)});
  EXPECT_EQ(time.between(begin, begin + seconds(12)), seconds(3));
  EXPECT_EQ(time.between(begin + seconds(12), begin + seconds(13)), seconds(1));
}

TEST(LeaderTime, WhatALeaderDidFirstAfterAnAbsenceIsHeardOfAfterTheNext) {
  LeaderTime time(seconds(1));
  const Instant begin{5'000'000};
  time.fact(TermBegan{{1}, begin});
  time.fact(WorkerHeard{{1}, WorkerId("w"), {1}, begin + seconds(12)});
  EXPECT_EQ(time.between(begin, begin + millis(11'900)), seconds(1));
  EXPECT_EQ(time.between(begin, begin + millis(1'900)), millis(1'900));
}

// A task that failed once, with a backoff of two seconds, handed out again after a while.
std::set<std::string> tried_again(Duration after) {
  Story s;
  NodeSpec spec = node("a");
  spec.retry = RetryPolicy{1, {BackoffKind::kFixed, seconds(2), seconds(10), 0}, {}};
  const WorkerId w = s.join("w1");
  const TaskId id = s.running_task(w, dag({spec}));
  Event& first = s.event(EventKind::kTaskClaimed, id);
  first.worker = w;
  first.data = {{"epoch", std::int64_t{1}}};
  s.fail(id);
  s.task(id).ready_at = s.now + seconds(2);
  Event& requeued = s.event(EventKind::kTaskRequeued, id);
  requeued.worker = w;
  requeued.data = {{"epoch", std::int64_t{2}}};
  const Instant failed = s.now;
  s.commit();
  s.now = failed + after;
  s.grant(id, w);
  Event& claimed = s.event(EventKind::kTaskClaimed, id);
  claimed.worker = w;
  claimed.data = {{"epoch", std::int64_t{2}}};
  s.commit();
  return s.broken();
}

TEST(DueChecker, NoTryBeforeItsBackoffIsOver) {
  EXPECT_THAT(tried_again(millis(1900)), ElementsAre("40-not-before-due"));
  EXPECT_THAT(tried_again(seconds(2)), ElementsAre());
}

// A held task that is told to stop like this, so long after it was granted or started.
std::set<std::string> stopped(StopReason why, Duration after) {
  Story s;
  NodeSpec spec = node("a");
  spec.scheduled_timeout = seconds(20);
  spec.execution_timeout = seconds(20);
  spec.stale_after = seconds(20);
  const WorkerId w = s.join("w1");
  const TaskId id{s.submit(dag({spec})), 0};
  s.grant(id, w);
  s.commit();
  if (why != StopReason::kNotStarted) s.start(id);
  const Instant from = s.now;
  s.commit();
  s.now = from + after;
  s.task(id).stop = why;
  s.commit();
  return s.broken();
}

TEST(DueChecker, NoTimeoutBeforeItsTime) {
  EXPECT_THAT(stopped(StopReason::kNotStarted, seconds(19)), ElementsAre("40-not-before-due"));
  EXPECT_THAT(stopped(StopReason::kNotStarted, seconds(20)), ElementsAre());
  EXPECT_THAT(stopped(StopReason::kStale, seconds(19)), ElementsAre("40-not-before-due"));
  EXPECT_THAT(stopped(StopReason::kStale, seconds(20)), ElementsAre());
  // The worker ends it first; the controller waits for the kill and two calls more.
  EXPECT_THAT(stopped(StopReason::kExecutionTimeout, seconds(54)),
              ElementsAre("40-not-before-due"));
  EXPECT_FALSE(stopped(StopReason::kExecutionTimeout, seconds(55)).contains("40-not-before-due"));
}

TEST(DueChecker, RunTimeoutBeforeItsTime) {
  for (const bool early : {true, false}) {
    Story s;
    DagSpec spec = dag({node("a")});
    spec.run_timeout = seconds(20);
    const RunId run = s.submit(spec);
    const Instant from = s.now;
    s.commit();
    s.now = from + seconds(early ? 19 : 20);
    s.run(run).ending = RunEnding::kTimedOut;
    Event& told = s.event(EventKind::kRunCancelRequested);
    told.run = run;
    told.data = {{"reason", std::string("run timeout")}};
    s.commit();
    EXPECT_EQ(s.broken().contains("40-not-before-due"), early);
  }
}

// Time goes by in steps that show that the leader is there.
void let_pass(Story& s, const WorkerId& w, Duration d) {
  for (Duration gone; gone < d; gone += millis(500)) {
    s.pass(millis(500));
    s.hear(w);
  }
  s.worker(w);
  s.commit();
}

std::set<std::string> left_alone(Duration how_long,
                                 const std::function<void(Story&, const WorkerId&)>& begin) {
  Story s;
  const WorkerId w = s.join("w1");
  s.commit();
  s.hear(w);
  begin(s, w);
  s.commit();
  let_pass(s, w, how_long);
  return s.broken();
}

void grant_only(Story& s, const WorkerId& w) {
  NodeSpec spec = node("a");
  spec.scheduled_timeout = seconds(20);
  s.grant({s.submit(dag({spec})), 0}, w);
}

void run_timed(Story& s, const WorkerId&) {
  DagSpec spec = dag({node("a")});
  spec.run_timeout = seconds(20);
  s.run(s.submit(spec)).timeout_at = s.now + seconds(20);
}

void hold_lease(Story& s, const WorkerId&) {
  s.rows().leases.push_back({{"orders", 1}, AgentId("a"), {1}, s.now + seconds(20)});
}

TEST(DueChecker, WhatIsDueIsDone) {
  for (const auto& begin : {grant_only, run_timed, hold_lease}) {
    EXPECT_THAT(left_alone(seconds(24), begin), ElementsAre());
    EXPECT_THAT(left_alone(seconds(30), begin), ElementsAre("41-due-is-done"));
  }
}

TEST(DueChecker, LeaderThatWasAwayIsNotLate) {
  Story s;
  const WorkerId w = s.join("w1");
  s.commit();
  s.hear(w);
  grant_only(s, w);
  s.commit();
  s.pass(minutes(5));
  s.worker(w);
  s.commit();
  EXPECT_EQ(s.report(), "");
}

TEST(LeaseChecker, LeaseThatIsOverIsNotRenewed) {
  for (const bool over : {true, false}) {
    Story s;
    const PartitionKey key{"orders", 1};
    s.rows().leases.push_back({key, AgentId("a"), {1}, s.now + seconds(30)});
    const Instant from = s.now;
    s.commit();
    s.now = from + seconds(over ? 30 : 29);
    s.rows().leases.push_back({key, AgentId("a"), {1}, s.now + seconds(30)});
    s.commit();
    EXPECT_EQ(s.broken().contains("42-renewed-in-time"), over);
  }
}

// Four workers, so many of them silent for so long, and one is given up.
std::set<std::string> given_up(int silent, Duration since) {
  Story s;
  std::vector<WorkerId> workers;
  for (int i = 0; i < 4; ++i) {
    workers.push_back(s.join("w" + std::to_string(i)));
    Event& told = s.event(EventKind::kWorkerRegistered);
    told.worker = workers.back();
    told.data = {{"incarnation", std::int64_t{1}}};
    s.event(EventKind::kWorkerReady).worker = workers.back();
  }
  s.event(EventKind::kMachineOnline).data = {{"machine", std::string("m1")}};
  s.commit();
  for (Duration gone; gone < seconds(20); gone += millis(500)) {
    s.pass(millis(500));
    for (int i = 1; i < 4; ++i) {
      if (i >= silent || seconds(20) - gone > since) s.hear(workers[static_cast<std::size_t>(i)]);
    }
  }
  s.lose(workers[0], Evidence::kSilence);
  Event& stale = s.event(EventKind::kHeartbeatStale);
  stale.worker = workers[0];
  stale.data = {{"evidence", std::string(to_text(Evidence::kSilence))}};
  s.event(EventKind::kWorkerOffline).worker = workers[0];
  s.commit();
  return s.broken();
}

TEST(SilenceChecker, DoubtBeginsWithMoreThanHalfOfTheFleet) {
  EXPECT_THAT(given_up(2, seconds(8)), ElementsAre());
  EXPECT_THAT(given_up(3, seconds(8)), ElementsAre("19-no-early-silence"));
  EXPECT_THAT(given_up(3, seconds(3)), ElementsAre());
}

}  // namespace
}  // namespace vortex::sim
