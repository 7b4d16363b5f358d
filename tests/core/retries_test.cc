// Failures: how often a task is tried, after which wait, where, and what is never tried again.

#include <rapidcheck/gtest.h>

#include "core/machine.h"
#include "tests/core/harness.h"

namespace vortex::core {
namespace {

Duration delay_after(BackoffKind kind, std::uint32_t failures) {
  Rng rng(1);
  return backoff_delay({kind, seconds(2), seconds(30), 0}, failures, rng);
}

TEST(Backoff, FixedLinearAndExponentialGrowAsTheirNamesSayUpToTheCap) {
  for (std::uint32_t n = 1; n <= 100; ++n) {
    EXPECT_EQ(delay_after(BackoffKind::kFixed, n), seconds(2));
    EXPECT_EQ(delay_after(BackoffKind::kLinear, n), seconds(std::min(2 * n, 30u)));
    const Duration doubled = n < 5 ? seconds(1 << n) : seconds(30);
    EXPECT_EQ(delay_after(BackoffKind::kExponential, n), doubled);
  }
}

RC_GTEST_PROP(Backoff, NeverLeavesTheJitterBelowTheFullDelayNorTheCap,
              (std::uint64_t seed, std::uint16_t failures)) {
  Rng draw(seed);
  const Duration delay = micros(draw.between(0, hours(8'760).us));
  const Duration cap = delay + micros(draw.between(0, hours(8'760).us));
  const auto kind = static_cast<BackoffKind>(draw.below(3));
  const auto jitter = static_cast<std::uint16_t>(draw.below(1'001));
  const std::uint32_t n = failures + 1u;
  Rng rng(seed);
  const Duration full = backoff_delay({kind, delay, cap, 0}, n, rng);
  RC_ASSERT(full >= delay);
  RC_ASSERT(full <= cap);
  for (int i = 0; i < 10; ++i) {
    const Duration wait = backoff_delay({kind, delay, cap, jitter}, n, rng);
    RC_ASSERT(wait <= full);
    RC_ASSERT(wait >= full - full / 1000 * jitter);
  }
}

class Retries : public LifeTest {
 protected:
  Retries() { ignore({EventKind::kTaskFailed, EventKind::kTaskRequeued}); }

  const DeadLetterRow& letter_of(TaskId task) {
    for (const auto& [attempt, letter] : mirror.dead_letters) {
      if (attempt.task == task) return letter;
    }
    ADD_FAILURE() << "no dead letter";
    static const DeadLetterRow none;
    return none;
  }
};

TEST_F(Retries, MaxRetriesMeansThatManyMoreThanTheFirst) {
  Hand& w = join("w");
  const RunId run = submit({with_retries(node("a"), 2)});
  for (int i = 0; i < 3; ++i) {
    fail(w, take_and_start(w));
    advance(seconds(2));
  }
  take_all(EventKind::kTaskReassigned);
  EXPECT_EQ(row(TaskId{run, 0}).counters.failures, 3u);
  EXPECT_EQ(row(TaskId{run, 0}).counters.attempts, 3u);
  EXPECT_EQ(row(TaskId{run, 0}).error_message, "boom");
  EXPECT_EQ(state_of(run), RunState::kFailed);
  EXPECT_EQ(letter_of({run, 0}).reason, DeathReason::kRetriesExhausted);
  EXPECT_EQ(text(take(EventKind::kTaskDeadLettered), "message"), "boom");
}

TEST_F(Retries, TheControllersDefaultHoldsWhereTheNodeSaysNothing) {
  policy.retry = retries(1);
  state->policy = policy;
  Hand& w = join("w");
  const RunId run = submit({node("a")});
  fail(w, take_assignment(w));
  advance(seconds(2));
  fail(w, take_assignment(w));
  take(EventKind::kTaskReassigned);
  take(EventKind::kTaskDeadLettered);
  EXPECT_EQ(state_of({run, 0}), TaskState::kFailed);
}

TEST_F(Retries, TheWaitGrowsFromFailureToFailure) {
  Hand& w = join("w");
  NodeSpec spec = node("a");
  spec.retry = RetryPolicy{3, {BackoffKind::kExponential, seconds(10), seconds(30), 0}, {}};
  const RunId run = submit({spec});
  for (const std::int64_t wait : {10, 20, 30}) {
    const Instant failed_at = now;
    fail(w, take_assignment(w));
    EXPECT_EQ(row(TaskId{run, 0}).ready_at - failed_at, seconds(wait));
    advance(seconds(wait) - millis(1));
    EXPECT_TRUE(w.assigned.empty());
    advance(millis(1));
  }
  complete(w, take_assignment(w));
  take_all(EventKind::kTaskReassigned);
}

TEST_F(Retries, AnExitCodeThatNoRetryCuresFailsAtOnce) {
  Hand& w = join("w");
  NodeSpec spec = with_retries(node("a"), 5);
  spec.retry->unless_exit = {42, 64};
  const RunId run = submit({spec});
  fail(w, take_assignment(w), 42);
  EXPECT_EQ(letter_of({run, 0}).reason, DeathReason::kNotRetryable);
  EXPECT_EQ(row(TaskId{run, 0}).exit_code, 42);
  take(EventKind::kTaskDeadLettered);
}

TEST_F(Retries, ASignalWithTheSameNumberIsNotThatExitCode) {
  Hand& w = join("w");
  NodeSpec spec = with_retries(node("a"), 1);
  spec.retry->unless_exit = {9};
  const RunId run = submit({spec});
  end(w, take_assignment(w), Failed{Failed::Cause::kSignal, 9, "killed"});
  EXPECT_EQ(state_of({run, 0}), TaskState::kQueued);
  advance(seconds(2));
  complete(w, take_assignment(w));
  take(EventKind::kTaskReassigned);
}

TEST_F(Retries, A06_ARetryGoesToADifferentWorkerWhereOneIsEligible) {
  Hand& a = join("a");
  submit({with_retries(node("n"), 3)});
  const Attempt first = take_assignment(a);
  Hand& b = join("b");
  fail(a, first);
  advance(seconds(2));
  EXPECT_TRUE(a.assigned.empty());
  complete(b, take_assignment(b));
  const Event moved = take(EventKind::kTaskReassigned);
  EXPECT_EQ(text(moved, "previous_worker"), "a");
  EXPECT_EQ(text(moved, "new_worker"), "b");
}

TEST_F(Retries, A06_TheLastWorkerIsTakenWhenTheOtherStaysBusyOrIsNotEligible) {
  Hand& a = join("a");
  submit({with_retries(node("n"), 3)});
  const Attempt first = take_assignment(a);
  Hand& b = join("b");
  submit({node("long")});
  const Attempt busy = take_and_start(b);
  fail(a, first);
  advance(seconds(1) + policy.keep_away - millis(100));
  EXPECT_TRUE(a.assigned.empty());
  advance(millis(200));
  complete(a, take_assignment(a));
  complete(b, busy);
  take(EventKind::kTaskReassigned);
}

TEST_F(Retries, A06_WithOneWorkerARetryDoesNotWaitForAnother) {
  Hand& a = join("a");
  submit({with_retries(node("n"), 3)});
  fail(a, take_assignment(a));
  advance(seconds(1));
  complete(a, take_assignment(a));
  take(EventKind::kTaskReassigned);
}

TEST_F(Retries, EveryAttemptLeavesARowWithItsVerdict) {
  Hand& w = join("w");
  const RunId run = submit({with_retries(node("n"), 3)});
  fail(w, take_and_start(w), 7);
  advance(seconds(2));
  end(w, take_assignment(w), Failed{Failed::Cause::kOutOfMemory, 0, "oom"});
  advance(seconds(2));
  end(w, take_assignment(w), Failed{Failed::Cause::kCouldNotStart, 2, "no such file"});
  advance(seconds(2));
  complete(w, take_and_start(w));
  take_all(EventKind::kTaskReassigned);
  const auto rows = mirror.attempts_of({run, 0});
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[0].verdict, Verdict::kExitCode);
  EXPECT_EQ(rows[0].code, 7);
  EXPECT_EQ(rows[1].verdict, Verdict::kOutOfMemory);
  EXPECT_EQ(rows[2].verdict, Verdict::kCouldNotStart);
  EXPECT_EQ(rows[2].started_at, kNever);
  EXPECT_EQ(rows[3].verdict, Verdict::kCompleted);
  for (std::uint32_t i = 0; i < 4; ++i) EXPECT_EQ(rows[i].number, i + 1);
  EXPECT_EQ(row(TaskId{run, 0}).error_message, "");
}

TEST_F(Retries, ACommandThatCannotStartIsTriedAgainOnlyWhenTheTaskSaysSo) {
  Hand& w = join("w");
  const RunId run = submit({node("n")});
  end(w, take_assignment(w), Failed{Failed::Cause::kCouldNotStart, 2, "no such program"});
  EXPECT_EQ(state_of(run), RunState::kFailed);
  EXPECT_EQ(letter_of({run, 0}).reason, DeathReason::kNotRetryable);
  take(EventKind::kTaskDeadLettered);
  const RunId other = submit({with_retries(node("n"), 1)});
  end(w, take_assignment(w), Failed{Failed::Cause::kCouldNotStart, 2, "no such program"});
  EXPECT_EQ(state_of(other), RunState::kRunning);
  advance(seconds(2));
  complete(w, take_and_start(w));
  take_all(EventKind::kTaskReassigned);
}

TEST_F(Retries, WhatAWorkerCouldNotPrepareCostsNoRetryAndSaysWhy) {
  Hand& w = join("w");
  const RunId run = submit({with_retries(node("n"), 0)});
  const Attempt first = take_assignment(w);
  end(w, first, Released{Released::Cause::kNotStarted, "could not fetch its checkpoint"});
  EXPECT_EQ(mirror.attempts.at(first).verdict, Verdict::kGivenBack);
  EXPECT_EQ(mirror.attempts.at(first).message, "could not fetch its checkpoint");
  EXPECT_EQ(row(TaskId{run, 0}).counters.failures, 0);
  complete(w, take_and_start(w));
  take_all(EventKind::kTaskReassigned);
  EXPECT_EQ(state_of(run), RunState::kCompleted);
}

class AttemptRows : public LifeTest {
 protected:
  AttemptRows() { ignore_everything_from_here(); }
};

TEST_F(AttemptRows, TellWhoTriedWhenAndHowItEnded) {
  Hand& w = join(worker_info("w"), {5});
  submit({with_retries(node("a"), 1)});
  const Instant granted = now;
  const Attempt a = take_assignment(w);
  advance(seconds(2));
  const Instant started = now;
  start(w, a);
  advance(seconds(3));
  fail(w, a, 7);
  const AttemptRow& tried = mirror.attempts.at(a);
  EXPECT_EQ(tried.number, 1u);
  EXPECT_EQ(tried.worker, w.id());
  EXPECT_EQ(tried.incarnation, (Incarnation{5}));
  EXPECT_EQ(tried.granted_at, granted);
  EXPECT_EQ(tried.started_at, started);
  EXPECT_EQ(tried.ended_at, now);
  EXPECT_EQ(tried.verdict, Verdict::kExitCode);
  EXPECT_EQ(tried.code, 7);
  EXPECT_EQ(tried.message, "boom");
  advance(seconds(5));
  complete(w, take_assignment(w));
}

}  // namespace
}  // namespace vortex::core
