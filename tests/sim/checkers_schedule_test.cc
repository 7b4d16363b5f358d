// 55, 56 and 57: slots that run twice, are passed over, are decided too late, or overlap.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/check/schedule_watch.h"
#include "tests/sim/checkers_story.h"

namespace vortex::sim {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

// A schedule that comes every ten seconds, from second 1,000 on, and what is told of it.
struct Scheduled {
  explicit Scheduled(Overlap overlap = Overlap::kAllow) {
    spec = dag({node("a")});
    spec.schedule.emplace();
    spec.schedule->every = seconds(10);
    spec.schedule->overlap = overlap;
    spec.schedule->until = parse_written_time("1970-01-01T00:17:20Z", DayEnd::kFirst);  // 1,040
  }
  void set() {
    at(1'000);
    const auto plan = compile(spec, {});
    s.rows().schedules.push_back(
        {.dag = spec.name, .plan = *plan, .decided = s.now, .applied_at = s.now});
    tell(EventKind::kScheduleSet, {});
    s.commit();
  }
  Event& tell(EventKind kind, std::vector<EventField> data) {
    Event& event = s.event(kind);
    event.data = std::move(data);
    event.data.emplace_back("dag", spec.name);
    return event;
  }
  void at(std::int64_t second) { s.now = Instant{second * 1'000'000}; }
  RunId start(std::int64_t slot) {
    at(slot);
    return start_now(slot);
  }
  RunId start_now(std::int64_t slot) {
    const Instant time{slot * 1'000'000};
    const RunId run = s.submit(spec);
    auto request = std::make_shared<RunRequest>();
    request->schedule = spec.name;
    request->slot = time;
    request->slot_end = slot < 1'040 ? time + seconds(10) : kNever;
    s.run(run).request = request;
    tell(EventKind::kSlotStarted, {{"slot", slot_text(time)}}).run = run;
    s.commit();
    return run;
  }
  void about(EventKind kind, std::int64_t slot, const std::string& reason) {
    tell(kind, {{"slot", slot_text(Instant{slot * 1'000'000})}, {"reason", reason}});
    s.commit();
  }
  void missed(std::int64_t first, std::int64_t last, std::int64_t count) {
    tell(EventKind::kSlotsMissed, {{"first", slot_text(Instant{first * 1'000'000})},
                                   {"last", slot_text(Instant{last * 1'000'000})},
                                   {"slots", count},
                                   {"reason", std::string("no controller was running")}});
  }
  void ended(RunId run) {
    s.event(EventKind::kRunComplete).run = run;
    s.commit();
  }
  // Only what is said of schedules.
  std::set<std::string> broken() {
    std::set<std::string> mine;
    for (const std::string& name : s.broken()) {
      if (name.starts_with("55-") || name.starts_with("56-") || name.starts_with("57-")) {
        mine.insert(name);
      }
    }
    return mine;
  }
  Story s;
  DagSpec spec;
};

TEST(ScheduleChecker, EachSlotOnceIsClean) {
  Scheduled t;
  t.set();
  for (const std::int64_t slot : {1'010, 1'020, 1'030, 1'040}) t.start(slot);
  t.at(1'100);
  t.s.commit();
  EXPECT_THAT(t.broken(), IsEmpty());
}

TEST(ScheduleChecker, ASlotThatRunsTwiceIsFound) {
  Scheduled t;
  t.set();
  t.start(1'010);
  t.start_now(1'010);
  EXPECT_THAT(t.broken(), UnorderedElementsAre("55-one-run-a-slot", "56-each-slot-decided"));
}

TEST(ScheduleChecker, ASlotThatIsPassedOverIsFound) {
  Scheduled t;
  t.set();
  t.start(1'010);
  t.start(1'030);
  EXPECT_THAT(t.broken(), ElementsAre("56-each-slot-decided"));
}

TEST(ScheduleChecker, ASlotThatIsNeverDecidedIsFound) {
  Scheduled t;
  t.set();
  for (const std::int64_t slot : {1'010, 1'020, 1'030}) t.start(slot);
  t.at(1'100);
  t.s.commit();
  EXPECT_THAT(t.broken(), ElementsAre("56-each-slot-decided"));
}

TEST(ScheduleChecker, MissedSlotsAreThoseThatTheRuleNames) {
  for (const std::int64_t last : {1'020, 1'030}) {
    Scheduled t;
    t.set();
    t.at(1'035);
    t.missed(1'010, last, (last - 1'000) / 10);
    if (last == 1'020) t.start_now(1'030);
    t.start(1'040);
    EXPECT_EQ(t.broken().contains("56-each-slot-decided"), last != 1'020) << t.s.report();
  }
}

TEST(ScheduleChecker, DecisionsDuringAPauseAndWrongCountsAreFound) {
  Scheduled t;
  t.set();
  t.tell(EventKind::kSchedulePaused, {{"reason", std::string("operator")}});
  t.s.commit();
  t.at(1'025);
  t.tell(EventKind::kScheduleResumed, {{"slots", std::int64_t{2}}});
  t.s.commit();
  t.start(1'030);
  t.start(1'040);
  EXPECT_THAT(t.broken(), IsEmpty());
  Scheduled u;
  u.set();
  u.tell(EventKind::kSchedulePaused, {{"reason", std::string("operator")}});
  u.s.commit();
  u.start(1'010);
  EXPECT_THAT(u.broken(), Contains("56-each-slot-decided"));
}

TEST(ScheduleChecker, AnOverlapAgainstTheRuleIsFound) {
  for (const bool ends : {true, false}) {
    Scheduled t(Overlap::kSkip);
    t.set();
    const RunId first = t.start(1'010);
    if (ends) t.ended(first);
    t.start(1'020);
    EXPECT_EQ(t.broken().contains("57-overlap-kept"), !ends);
  }
}

TEST(ScheduleChecker, ASkipNeedsALiveRunAndAQueuedSlotMustRun) {
  Scheduled t(Overlap::kSkip);
  t.set();
  t.at(1'010);
  t.about(EventKind::kSlotSkipped, 1'010, "r1 has not ended");
  EXPECT_THAT(t.broken(), Contains("57-overlap-kept"));
  Scheduled u(Overlap::kQueueOne);
  u.set();
  const RunId first = u.start(1'010);
  u.at(1'020);
  u.about(EventKind::kSlotQueued, 1'020, "r1 has not ended");
  u.at(1'030);
  u.about(EventKind::kSlotSkipped, 1'030, "slot 1970-01-01T00:17:00Z waits already");
  u.at(1'040);
  u.about(EventKind::kSlotSkipped, 1'040, "slot 1970-01-01T00:17:00Z waits already");
  u.ended(first);
  EXPECT_THAT(u.broken(), ElementsAre("56-each-slot-decided"));
}

TEST(ScheduleChecker, TheSecondStatementKnowsWhatIsLate) {
  ScheduleSpec spec;
  spec.every = minutes(10);
  spec.catchup = {.window = minutes(25), .limit = 2};
  const SlotRule rule(spec);
  const Instant ten{minutes(10).us};
  const auto away = rule.absence(ten, Instant{minutes(55).us}, seconds(1));
  EXPECT_THAT(away.allowed, UnorderedElementsAre(Instant{minutes(40).us}, Instant{minutes(50).us}));
  EXPECT_EQ(away.missed_to, Instant{minutes(30).us});
  const auto late = rule.absence(ten, Instant{seconds(20 * 60 + 30).us}, seconds(1));
  EXPECT_THAT(late.allowed, ElementsAre(Instant{minutes(20).us}));
  EXPECT_FALSE(late.missed_to);
  EXPECT_THAT(rule.absence(ten, Instant{seconds(20 * 60 + 1).us}, seconds(1)).allowed, IsEmpty());
}

}  // namespace
}  // namespace vortex::sim
