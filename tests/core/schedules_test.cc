// Schedules: each slot is decided once, whoever leads; overlap, what was missed, pauses.

#include <gmock/gmock.h>

#include "core/machine.h"
#include "tests/core/harness.h"

namespace vortex::core {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Schedules : public LifeTest {
 protected:
  Schedules() {
    ignore_comings_and_goings();
    ignore({EventKind::kTaskFailed, EventKind::kTaskDeadLettered, EventKind::kTaskCancelled,
            EventKind::kRunCancelRequested, EventKind::kScheduleSet});
  }
  static DagSpec every(Duration interval, Overlap overlap = Overlap::kAllow) {
    DagSpec spec = dag({with_retries(node("only"), 0)});
    spec.name = "etl";
    spec.schedule.emplace();
    spec.schedule->every = interval;
    spec.schedule->overlap = overlap;
    return spec;
  }
  void apply(DagSpec spec, const std::string& by = "") {
    auto plan = compile(std::move(spec), {});
    ASSERT_TRUE(plan) << plan.error().detail;
    ask_done(ApplyDag{{}, *plan, by});
  }
  // The slots of the events of a kind, in seconds after the first instant of the test.
  std::vector<std::int64_t> slots(EventKind kind) {
    std::vector<std::int64_t> found;
    for (const Event& event : take_all(kind)) found.push_back(since_begin(text(event, "slot")));
    return found;
  }
  std::vector<std::int64_t> started() { return slots(EventKind::kSlotStarted); }
  std::string why_skipped() { return text(take(EventKind::kSlotSkipped), "reason"); }
  RunId newest() const { return mirror.runs.rbegin()->first; }
  void finish(Hand& w) { complete(w, take_and_start(w)); }

  std::int64_t since_begin(const std::string& slot) const {
    const auto time = parse_written_time(slot, DayEnd::kFirst);
    return time ? time->seconds - begin_.us / 1'000'000 : -1;
  }
  const Instant begin_ = now;
};

TEST_F(Schedules, EachSlotStartsARunThatKnowsIt) {
  apply(every(seconds(10)));
  advance(seconds(25));
  EXPECT_THAT(started(), ElementsAre(10, 20));
  const RunRequest& request = *mirror.runs.at({2}).request;
  EXPECT_EQ(request.schedule, "etl");
  EXPECT_EQ(request.slot, begin_ + seconds(20));
  EXPECT_EQ(request.slot_end, begin_ + seconds(30));
  EXPECT_EQ(request.idempotency_key, "schedule:etl:1970-01-12T13:47:00Z");
}

TEST_F(Schedules, AStoredDagAndItsScheduleAreWrittenTogether) {
  auto plan = compile(every(seconds(10)), {});
  const Effects set = raw(ApplyDag{{}, *plan});
  ASSERT_EQ(set.dags.size(), 1u);
  EXPECT_EQ(set.dags[0].name, "etl");
  ASSERT_EQ(set.rows.schedules.size(), 1u);
  DagSpec plain = every(seconds(10));
  plain.schedule.reset();
  const Effects removed = raw(ApplyDag{{}, *compile(plain, {})});
  EXPECT_TRUE(removed.rows.schedules.at(0).removed);
  take(EventKind::kScheduleRemoved);
  raw(ApplyDag{{}, *plan});
  EXPECT_TRUE(raw(DeleteDag{{}, "etl"}).dags.at(0).deleted);
  take(EventKind::kScheduleRemoved);
  advance(seconds(30));
  EXPECT_THAT(started(), IsEmpty());
}

TEST_F(Schedules, NoSlotStartsTwiceAndNoneIsLostWhenTheControllerDies) {
  apply(every(seconds(10)));
  for (int i = 0; i < 12; ++i) {
    advance(millis(2'500));
    reload();
  }
  EXPECT_THAT(started(), ElementsAre(10, 20, 30));
}

TEST_F(Schedules, ASlotThatHasARunAlreadyStartsNoOther) {
  apply(every(seconds(10)));
  SubmitRun first;
  first.dag = *compile(every(seconds(10)), {});
  first.params = "{}";
  first.idempotency_key = slot_key("etl", begin_ + seconds(10));
  ask<RunAccepted>(first);
  advance(seconds(12));
  EXPECT_EQ(why_skipped(), "r1 was made for it before");
  EXPECT_EQ(mirror.runs.size(), 1u);
}

TEST_F(Schedules, JitterDelaysASlotByTheSameTimeOnEveryController) {
  DagSpec spec = every(seconds(10));
  spec.schedule->jitter = seconds(9);
  apply(spec);
  const Duration later = jitter_of(*spec.schedule, "etl", begin_ + seconds(10));
  EXPECT_GT(later, Duration{});
  advance(seconds(10) + later - millis(1));
  EXPECT_THAT(started(), IsEmpty());
  reload();
  advance(millis(1));
  EXPECT_THAT(started(), ElementsAre(10));
}

TEST_F(Schedules, SkipStartsNothingWhileARunOfItIsLive) {
  Hand& w = join("w");
  apply(every(seconds(10), Overlap::kSkip));
  advance(seconds(21));
  EXPECT_THAT(started(), ElementsAre(10));
  EXPECT_EQ(why_skipped(), "r1 has not ended");
  finish(w);
  advance(seconds(10));
  EXPECT_THAT(started(), ElementsAre(30));
  ignore_everything_from_here();
}

TEST_F(Schedules, QueueOneKeepsTheFirstSlotThatHasToWait) {
  Hand& w = join("w");
  apply(every(seconds(10), Overlap::kQueueOne));
  advance(seconds(31));
  EXPECT_THAT(started(), ElementsAre(10));
  EXPECT_THAT(slots(EventKind::kSlotQueued), ElementsAre(20));
  EXPECT_THAT(why_skipped(), HasSubstr("waits already"));
  reload();
  finish(w);
  advance(millis(1));
  EXPECT_THAT(started(), ElementsAre(20));
  EXPECT_EQ(mirror.runs.at({2}).request->slot, begin_ + seconds(20));
  ignore_everything_from_here();
}

TEST_F(Schedules, QueueAllRunsEverySlotOneAfterTheOtherUpToABound) {
  Hand& w = join("w");
  DagSpec spec = every(seconds(10), Overlap::kQueueAll);
  spec.schedule->until = parse_written_time(slot_text(begin_ + seconds(1'020)), DayEnd::kFirst);
  apply(spec);
  advance(seconds(11));
  const Attempt first = take_and_start(w);
  advance(seconds(1'020));
  EXPECT_THAT(started(), ElementsAre(10));
  EXPECT_EQ(take_all(EventKind::kSlotQueued).size(), 100u);
  EXPECT_THAT(why_skipped(), HasSubstr("100 slots wait already"));
  ignore_everything_from_here();
  complete(w, first);
  for (std::int64_t slot = 20; slot < 60; slot += 10) {
    advance(millis(1));
    EXPECT_THAT(started(), ElementsAre(slot));
    finish(w);
  }
}

TEST_F(Schedules, CancelRunningGivesWayToTheNewestSlot) {
  Hand& w = join("w");
  apply(every(seconds(10), Overlap::kCancelRunning));
  advance(seconds(11));
  EXPECT_THAT(started(), ElementsAre(10));
  const Attempt first = take_and_start(w);
  advance(seconds(20));
  EXPECT_THAT(slots(EventKind::kSlotQueued), ElementsAre(20, 30));
  EXPECT_THAT(why_skipped(), HasSubstr("takes its place"));
  EXPECT_EQ(take_stop(w).attempt, first);
  end(w, first, Released{Released::Cause::kStopped});
  EXPECT_EQ(state_of(RunId{1}), RunState::kCancelled);
  advance(millis(1));
  EXPECT_THAT(started(), ElementsAre(30));
  ignore_everything_from_here();
}

TEST_F(Schedules, TheNewestSlotStillStartsWithinAMinuteAndOthersAreMissed) {
  apply(every(seconds(10)));
  vanish(seconds(45));
  advance(millis(1));
  EXPECT_THAT(started(), ElementsAre(40));
  const Event missed = take(EventKind::kSlotsMissed);
  EXPECT_EQ(number(missed, "slots"), 3);
  EXPECT_EQ(since_begin(text(missed, "first")), 10);
  EXPECT_EQ(since_begin(text(missed, "last")), 30);
}

TEST_F(Schedules, WithoutCatchUpNothingIsMadeUpForAfterLong) {
  apply(every(minutes(10)));
  now = now + minutes(35);
  reload();
  EXPECT_THAT(started(), IsEmpty());
  EXPECT_EQ(number(take(EventKind::kSlotsMissed), "slots"), 4);
  advance(minutes(10));
  EXPECT_EQ(started().size(), 1u);
}

TEST_F(Schedules, CatchUpMakesUpForTheNewestWithinItsWindow) {
  DagSpec spec = every(minutes(10));
  spec.schedule->catchup = {.window = minutes(25), .limit = 10};
  apply(spec);
  const auto first = next_slot(*spec.schedule, Zone{}, begin_);
  now = *first + minutes(55);
  reload();
  EXPECT_THAT(started(), ElementsAre((*first - begin_).us / 1'000'000 + 30 * 60,
                                     (*first - begin_).us / 1'000'000 + 40 * 60,
                                     (*first - begin_).us / 1'000'000 + 50 * 60));
  EXPECT_EQ(number(take(EventKind::kSlotsMissed), "slots"), 3);
  spec.schedule->catchup.limit = 1;
  apply(spec);
  now = now + minutes(60);
  reload();
  EXPECT_EQ(started().size(), 1u);
  EXPECT_EQ(number(take(EventKind::kSlotsMissed), "slots"), 5);
}

TEST_F(Schedules, AVeryLongAbsenceCostsNoMoreThanAShortOne) {
  DagSpec spec = every(seconds(1));
  spec.schedule->catchup = {.window = hours(24 * 366), .limit = 2};
  apply(spec);
  now = now + hours(24 * 3'660);
  reload();
  EXPECT_EQ(started().size(), 4u) << "two made up for, two that came within the last second";
  EXPECT_GT(number(take(EventKind::kSlotsMissed), "slots"), 300'000'000);
}

TEST_F(Schedules, OurOwnAbsenceDoesNotMoveLaterSlots) {
  apply(every(seconds(10)));
  vanish(seconds(7));
  advance(millis(1));
  advance(seconds(3));
  EXPECT_THAT(started(), ElementsAre(10));
  EXPECT_EQ(mirror.runs.at({1}).created_at, begin_ + seconds(10));
}

TEST_F(Schedules, APausedScheduleStartsNothingAndGoesOnFromWhereItIsResumed) {
  apply(every(seconds(10)));
  ask_done(PauseSchedule{{}, "etl", true});
  EXPECT_EQ(text(take(EventKind::kSchedulePaused), "reason"), "operator");
  advance(seconds(35));
  reload();
  EXPECT_THAT(started(), IsEmpty());
  ask_done(PauseSchedule{{}, "etl", false});
  EXPECT_EQ(number(take(EventKind::kScheduleResumed), "slots"), 3);
  ask_done(PauseSchedule{{}, "etl", false});
  advance(seconds(10));
  EXPECT_THAT(started(), ElementsAre(40));
}

TEST_F(Schedules, AFailurePausesItIfThatIsAsked) {
  Hand& w = join("w");
  DagSpec spec = every(seconds(10));
  spec.schedule->pause_on_failure = true;
  apply(spec);
  advance(seconds(11));
  fail(w, take_and_start(w));
  const Event paused = take(EventKind::kSchedulePaused);
  EXPECT_EQ(text(paused, "reason"), "failure");
  EXPECT_EQ(paused.run, RunId{1});
  EXPECT_EQ(mirror.schedules.at("etl").failed_run, RunId{1});
  reload();
  advance(seconds(30));
  EXPECT_THAT(started(), ElementsAre(10));
  ask_done(PauseSchedule{{}, "etl", false});
  EXPECT_EQ(mirror.schedules.at("etl").failed_run, RunId{});
  ignore_everything_from_here();
}

TEST_F(Schedules, ATriggeredRunIsOutsideOfTheSlots) {
  apply(every(seconds(10), Overlap::kSkip), "ann");
  const auto made = ask<RunAccepted>(TriggerSchedule{{}, "etl", false, "", "bob"});
  ASSERT_TRUE(made.row);
  EXPECT_EQ(made.row->request->slot, kNever);
  EXPECT_EQ(made.row->request->schedule, "etl");
  EXPECT_EQ(made.row->request->submitted_by, "bob");
  EXPECT_EQ(take(EventKind::kScheduleTriggered).run, made.run);
  EXPECT_EQ(ask_in_vain(TriggerSchedule{{}, "etl", true}), RefusalKind::kWrongState);
  ask<RunAccepted>(TriggerSchedule{{}, "etl", false});
  take(EventKind::kScheduleTriggered);
  advance(seconds(11));
  EXPECT_EQ(why_skipped(), "r1 has not ended") << "it is a run of the schedule all the same";
}

TEST_F(Schedules, AnUnchangedScheduleKeepsItsPositionAndAChangedOneGoesOnFromNow) {
  apply(every(seconds(100)));
  advance(seconds(50));
  DagSpec other = every(seconds(100), Overlap::kSkip);
  other.nodes.push_back(node("another"));
  apply(other);
  advance(seconds(51));
  EXPECT_THAT(started(), ElementsAre(100));
  EXPECT_EQ(mirror.runs.at({1}).plan->nodes.size(), 2u) << "runs are of the DAG as it is now";
  vanish(seconds(150));
  apply(every(seconds(30)));
  advance(seconds(30));
  EXPECT_EQ(started().size(), 1u);
  ignore_everything_from_here();
}

TEST_F(Schedules, RunsUseTheQuotaOfWhoAppliedTheDag) {
  state->policy.quota_per_token.runs = policy.quota_per_token.runs = 1;
  apply(every(seconds(10)), "ann");
  advance(seconds(21));
  EXPECT_THAT(started(), ElementsAre(10));
  EXPECT_EQ(mirror.runs.at({1}).request->submitted_by, "ann");
  EXPECT_THAT(why_skipped(), HasSubstr("quota of token 'ann'"));
}

TEST_F(Schedules, ParamsHaveTheirDefaults) {
  DagSpec spec = every(seconds(10));
  spec.params = {{.name = "n", .type = ParamType::kNumber, .fallback = "3"},
                 {.name = "who", .type = ParamType::kString, .fallback = "\"all\""}};
  apply(spec);
  advance(seconds(11));
  started();
  EXPECT_EQ(mirror.runs.at({1}).request->params, R"({"n":3,"who":"all"})");
}

TEST_F(Schedules, NothingStartsWhileThereIsNoSpace) {
  apply(every(seconds(10)));
  now = now + seconds(10);
  raw(Tick{true, false});
  EXPECT_THAT(started(), IsEmpty());
  advance(seconds(2));
  EXPECT_THAT(started(), ElementsAre(10)) << "late, as after any absence";
}

TEST_F(Schedules, RunsOfADagThatWasDeletedCountWhenItIsAppliedAgain) {
  apply(every(seconds(10), Overlap::kSkip));
  advance(seconds(11));
  ask_done(DeleteDag{{}, "etl"});
  take(EventKind::kScheduleRemoved);
  reload();
  apply(every(seconds(10), Overlap::kSkip));
  advance(seconds(10));
  EXPECT_THAT(started(), ElementsAre(10));
  EXPECT_EQ(why_skipped(), "r1 has not ended");
}

TEST_F(Schedules, WhatIsUnknownIsRefused) {
  EXPECT_EQ(ask_in_vain(PauseSchedule{{}, "etl", true}), RefusalKind::kUnknownSchedule);
  EXPECT_EQ(ask_in_vain(TriggerSchedule{{}, "etl"}), RefusalKind::kUnknownSchedule);
  EXPECT_EQ(ask_in_vain(ApplyDag{{}, nullptr}), RefusalKind::kMalformed);
  ask_done(DeleteDag{{}, "etl"});
}

TEST_F(Schedules, AZoneThatIsNotKnownHereHasNoSlots) {
  DagSpec spec = every(seconds(10));
  spec.schedule->timezone = "Mars/Olympus";
  apply(spec);
  advance(seconds(30));
  EXPECT_THAT(started(), IsEmpty());
  reload();
}

}  // namespace
}  // namespace vortex::core
