// Waits: tasks without a command, which end by time, by a signal or by an answer, and whatever
// becomes of the controller meanwhile.

#include <gmock/gmock.h>

#include "core/explain.h"
#include "core/machine.h"
#include "model/check.h"
#include "tests/core/harness.h"

namespace vortex::core {
namespace {

using ::testing::HasSubstr;

NodeSpec waiting(std::string name, WaitSpec wait, std::vector<std::string> needs = {}) {
  NodeSpec spec = node(std::move(name), std::move(needs));
  spec.command = {};
  spec.wait = std::move(wait);
  return spec;
}
WaitSpec for_time(Duration length) { return {.kind = WaitKind::kFor, .length = length}; }
WaitSpec signal(std::string name, std::optional<Duration> timeout = {}) {
  return {.kind = WaitKind::kSignal, .text = std::move(name), .timeout = timeout};
}
WaitSpec approval(std::optional<Duration> timeout = {}) {
  return {
      .kind = WaitKind::kApproval, .text = "Deploy?", .by = {Role::kOperator}, .timeout = timeout};
}

class Waits : public LifeTest {
 protected:
  Waits() {
    ignore_comings_and_goings();
    ignore({EventKind::kTaskDeadLettered, EventKind::kTaskSkipped, EventKind::kTaskRetry,
            EventKind::kSignalReceived, EventKind::kApprovalRequested, EventKind::kTaskApproved,
            EventKind::kTaskRejected, EventKind::kRunPaused, EventKind::kRunResumed,
            EventKind::kRunCancelRequested, EventKind::kTaskCancelled});
  }
  SignalKept send_signal(RunId run, std::string name, std::string data = {}, std::string key = {}) {
    return ask<SignalKept>(
        SignalRun{{}, run, std::move(name), std::move(data), std::move(key), "ann"});
  }
  AnswerApproval answer(TaskId task, bool approved, Role role = Role::kOperator) {
    AnswerApproval command;
    command.task = task;
    command.approved = approved;
    command.role = role;
    command.sent_by = "bob";
    command.comment = approved ? "" : "too late";
    command.outputs = approved ? R"({"approved":true})" : "";
    return command;
  }
  const std::string& outputs_of(TaskId task) { return *mirror.data.at(task).outputs; }
};

TEST_F(Waits, AWaitForATimeEndsThenAndHoldsNoWorker) {
  Hand& w = join("w", 1);
  const RunId run = submit({waiting("cool", for_time(minutes(1))), node("next", {"cool"})});
  EXPECT_EQ(state_of({run, 0}), TaskState::kQueued);
  EXPECT_EQ(row({run, 0}).ready_at, now + minutes(1));
  EXPECT_TRUE(w.assigned.empty());
  advance(seconds(59));
  EXPECT_EQ(state_of({run, 0}), TaskState::kQueued);
  advance(seconds(2));
  EXPECT_EQ(state_of({run, 0}), TaskState::kCompleted);
  complete(w, take_assignment(w));
  EXPECT_EQ(state_of(run), RunState::kCompleted);
  EXPECT_EQ(row({run, 0}).counters.attempts, 0);
}

TEST_F(Waits, ItsTimeIsTrueTimeWhoeverWasAway) {
  const RunId run = submit({waiting("cool", for_time(hours(1)))});
  const Instant due = row({run, 0}).ready_at;
  advance(minutes(10));
  vanish(minutes(20));
  reload();
  EXPECT_EQ(row({run, 0}).ready_at, due);
  vanish(due - now - seconds(1));
  step(Tick{});
  EXPECT_EQ(state_of({run, 0}), TaskState::kQueued);
  EXPECT_LE(state->next_wake(), due);
  now = due;
  step(Tick{});
  EXPECT_EQ(state_of({run, 0}), TaskState::kCompleted);
}

TEST_F(Waits, AWaitUntilATimeThatIsPastEndsAtOnce) {
  WaitSpec until{.kind = WaitKind::kUntil};
  until.until = {.seconds = 5, .local = false, .text = "1970-01-01T00:00:05Z"};
  const RunId run = submit({waiting("maintenance", until)});
  advance(millis(1));
  EXPECT_EQ(state_of(run), RunState::kCompleted);
}

TEST_F(Waits, ASignalEndsAWaitAndItsPayloadIsTheOutput) {
  NodeSpec next = node("next", {"go"});
  next.condition = "tasks.go.outputs.n > 3";
  const RunId run = submit({waiting("go", signal("release")), next});
  const SignalKept kept = send_signal(run, "release", R"({"n":4})");
  EXPECT_EQ(kept.row.taken_by, 0U);
  EXPECT_EQ(kept.row.sent_by, "ann");
  EXPECT_EQ(state_of({run, 0}), TaskState::kCompleted);
  EXPECT_EQ(outputs_of({run, 0}), R"({"n":4})");
  EXPECT_EQ(state_of({run, 1}), TaskState::kQueued);
}

TEST_F(Waits, ASignalThatComesFirstIsKeptAndOneWaitTakesOne) {
  Hand& w = join("w", 1);
  const RunId run = submit({node("build"), waiting("one", signal("s"), {"build"}),
                            waiting("two", signal("s"), {"one"})});
  EXPECT_FALSE(send_signal(run, "s", R"({"n":1})").row.taken_by);
  EXPECT_EQ(send_signal(run, "s", R"({"n":2})").row.number, 2U);
  reload();
  complete(w, take_assignment(w));
  EXPECT_EQ(outputs_of({run, 1}), R"({"n":1})");
  EXPECT_EQ(outputs_of({run, 2}), R"({"n":2})");
  EXPECT_EQ(state_of(run), RunState::kCompleted);
}

TEST_F(Waits, ARepeatedSignalWithItsKeyCountsOnce) {
  const RunId run = submit({waiting("one", signal("s")), waiting("two", signal("s"))});
  EXPECT_FALSE(send_signal(run, "s", "{}", "k").existed);
  reload();
  EXPECT_TRUE(send_signal(run, "s", "{}", "k").existed);
  EXPECT_EQ(state_of({run, 1}), TaskState::kQueued);
  EXPECT_EQ(ask_in_vain(SignalRun{{}, run, "s", R"({"x":1})", "k"}), RefusalKind::kKeyReused);
}

TEST_F(Waits, SignalsThatNobodyWaitsForAreRefused) {
  const RunId run = submit({waiting("go", signal("release")), node("last")});
  const auto unknown = ask<Refusal>(SignalRun{{}, run, "relaese"});
  EXPECT_EQ(unknown.kind, RefusalKind::kUnknownSignal);
  EXPECT_THAT(unknown.detail, HasSubstr("did you mean 'release'?"));
  send_signal(run, "release");
  const auto over = ask<Refusal>(SignalRun{{}, run, "release"});
  EXPECT_EQ(over.kind, RefusalKind::kWrongState);
  EXPECT_THAT(over.detail, HasSubstr("has ended"));
  ask_done(CancelRun{{}, run});
  EXPECT_EQ(ask_in_vain(SignalRun{{}, run, "release"}), RefusalKind::kRunNotLive);
  EXPECT_EQ(ask_in_vain(SignalRun{{}, {77}, "release"}), RefusalKind::kUnknownRun);
}

TEST_F(Waits, SignalsOfARunAreBounded) {
  const RunId run = submit({node("build"), waiting("go", signal("s"), {"build"})});
  SignalRun large{{}, run, "s", std::string(kSignalBytesMax + 1, 'x')};
  EXPECT_EQ(ask_in_vain(large), RefusalKind::kMalformed);
  large.data.pop_back();
  const std::size_t fit = kSignalsBytesMax / kSignalBytesMax;
  for (std::size_t i = 0; i < fit; ++i) ask<SignalKept>(large);
  EXPECT_EQ(ask_in_vain(large), RefusalKind::kTooManySignals);
  EXPECT_GE(state->taken.bytes, kSignalsBytesMax);
}

TEST_F(Waits, ASignalThatDoesNotComeInTimeFailsTheWait) {
  const RunId run = submit({waiting("go", signal("release", hours(1))), node("next", {"go"})});
  advance(minutes(59));
  reload();
  advance(minutes(2));
  EXPECT_EQ(state_of({run, 0}), TaskState::kFailed);
  EXPECT_EQ(row({run, 0}).error_message, "timed out: no signal 'release' came within 1h");
  EXPECT_EQ(state_of({run, 1}), TaskState::kSkipped);
  EXPECT_EQ(mirror.dead_letters.begin()->second.reason, DeathReason::kWaitTimedOut);
  EXPECT_EQ(state_of(run), RunState::kFailed);
}

TEST_F(Waits, AnApprovalIsAnsweredOnceByWhoMay) {
  Hand& w = join("w", 1);
  const RunId run = submit({waiting("ok", approval(hours(1))), node("deploy", {"ok"})});
  EXPECT_EQ(open_approvals(*state, 10).size(), 1U);
  const auto refused = ask<Refusal>(answer({run, 0}, true, Role::kSubmitter));
  EXPECT_EQ(refused.kind, RefusalKind::kNotAllowed);
  EXPECT_THAT(refused.detail, HasSubstr("operator or admin"));
  EXPECT_FALSE(ask<SignalKept>(answer({run, 0}, true)).existed);
  EXPECT_EQ(state_of({run, 0}), TaskState::kCompleted);
  EXPECT_EQ(outputs_of({run, 0}), R"({"approved":true})");
  EXPECT_TRUE(open_approvals(*state, 10).empty());
  reload();
  EXPECT_TRUE(ask<SignalKept>(answer({run, 0}, true, Role::kAdmin)).existed);
  const auto opposite = ask<Refusal>(answer({run, 0}, false));
  EXPECT_EQ(opposite.kind, RefusalKind::kWrongState);
  EXPECT_THAT(opposite.detail, HasSubstr("already approved by 'bob'"));
  complete(w, take_assignment(w));
}

TEST_F(Waits, ARejectionFailsTheTaskAndARetryAsksAnew) {
  const RunId run = submit({waiting("ok", approval()), node("deploy", {"ok"}), node("other")});
  ask<SignalKept>(answer({run, 0}, false));
  EXPECT_EQ(state_of({run, 0}), TaskState::kFailed);
  EXPECT_EQ(row({run, 0}).error_message, "rejected by 'bob': too late");
  EXPECT_EQ(state_of({run, 1}), TaskState::kSkipped);
  EXPECT_TRUE(ask<SignalKept>(answer({run, 0}, false)).existed);
  EXPECT_EQ(ask_in_vain(answer({run, 0}, true)), RefusalKind::kWrongState);
  ask_done(RetryTask{{}, {run, 0}, nullptr});
  EXPECT_EQ(open_approvals(*state, 10).size(), 1U);
  EXPECT_FALSE(ask<SignalKept>(answer({run, 0}, true)).existed);
  EXPECT_EQ(state_of({run, 1}), TaskState::kQueued);
}

TEST_F(Waits, AnApprovalCannotBeAnsweredBeforeItIsAsked) {
  const RunId run = submit({node("build"), waiting("ok", approval(), {"build"})});
  const auto early = ask<Refusal>(answer({run, 1}, true));
  EXPECT_EQ(early.kind, RefusalKind::kWrongState);
  EXPECT_THAT(early.detail, HasSubstr("does not ask yet"));
  EXPECT_THAT(ask<Refusal>(answer({run, 0}, true)).detail, HasSubstr("does not ask for"));
  EXPECT_EQ(ask_in_vain(answer({run, 9}, true)), RefusalKind::kUnknownTask);
}

TEST_F(Waits, ACancelEndsAWaitAndAPauseDoesNotHoldIt) {
  const RunId one = submit({waiting("cool", for_time(minutes(1)))});
  const RunId two = submit({waiting("ok", approval()), waiting("cool", for_time(hours(9)))});
  ask_done(PauseRun{{}, one, true});
  ask_done(CancelRun{{}, two});
  EXPECT_EQ(state_of(two), RunState::kCancelled);
  EXPECT_TRUE(open_approvals(*state, 10).empty());
  advance(minutes(2));
  EXPECT_EQ(state_of(one), RunState::kCompleted);
  EXPECT_EQ(state->promises.size(), 0U);
}

TEST_F(Waits, AReloadAtAnyMomentKeepsWhatIsOpen) {
  const RunId run = submit({waiting("cool", for_time(hours(1))), waiting("go", signal("s")),
                            waiting("ok", approval(hours(2)))});
  for (int i = 0; i < 3; ++i) reload();
  EXPECT_EQ(open_approvals(*state, 10).size(), 1U);
  EXPECT_EQ(state->promises.size(), 2U);
  send_signal(run, "s");
  reload();
  advance(hours(1));
  reload();
  EXPECT_EQ(state_of({run, 0}), TaskState::kCompleted);
  EXPECT_EQ(state_of({run, 1}), TaskState::kCompleted);
  ask<SignalKept>(answer({run, 2}, true));
  EXPECT_EQ(state_of(run), RunState::kCompleted);
}

TEST_F(Waits, ExplainSaysWhatItWaitsForAndWhoCanAct) {
  const RunId run = submit({waiting("ok", approval(hours(1))), waiting("go", signal("s"))});
  const Explanation ok = explain(*state, {run, 0}, now);
  EXPECT_EQ(ok.reason, WaitReason::kWaitsForApproval);
  EXPECT_EQ(ok.obstacles[0].what,
            "waits for approval \"Deploy?\" (by operator; times out after 1h)");
  EXPECT_EQ(ok.obstacles[0].action, "vortex runs approve " + to_text(run) + "/ok");
  EXPECT_EQ(ok.moves_at, now + hours(1));
  EXPECT_EQ(explain(*state, {run, 1}, now).obstacles[0].action,
            "vortex runs signal " + to_text(run) + " s");
  EXPECT_EQ(standstills(*state, run, now).size(), 2U);
}

TEST_F(Waits, AConditionCanSkipAWaitAndAFailureCanBeBorne) {
  NodeSpec skipped = waiting("ok", approval());
  skipped.condition = "false";
  NodeSpec borne = waiting("go", signal("s", minutes(1)));
  borne.continue_on_error = true;
  const RunId run = submit({skipped, borne, waiting("last", for_time(seconds(1)), {"go"})});
  EXPECT_EQ(state_of({run, 0}), TaskState::kSkipped);
  advance(minutes(2));
  EXPECT_EQ(state_of({run, 1}), TaskState::kFailed);
  EXPECT_EQ(state_of({run, 2}), TaskState::kCompleted);
  EXPECT_EQ(state_of(run), RunState::kCompleted);
}

}  // namespace
}  // namespace vortex::core
