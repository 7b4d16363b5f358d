// Schedules in every store: what a controller is given of them at the start of its term, and what a
// run keeps of the slot it was started for.

#include <gtest/gtest.h>

#include "tests/store/bed.h"
#include "tests/store/rows.h"

namespace vortex::store::testing {
namespace {

class ScheduleStoreTest : public ::testing::TestWithParam<Backend> {
 protected:
  ScheduleStoreTest() : bed(GetParam()) {}

  Commit commit() {
    Commit made;
    made.term = bed.term();
    made.now = kT0;
    return made;
  }
  void put(const Commit& made) {
    const auto done = bed.writer().commit(made);
    ASSERT_TRUE(done) << done.error().detail;
  }

  Bed bed;
};

INSTANTIATE_TEST_SUITE_P(, ScheduleStoreTest, ::testing::ValuesIn(kAllBackends),
                         [](const auto& chosen) { return name_of(chosen.param); });

PlanPtr hourly_plan(const std::string& name) {
  DagSpec spec;
  spec.name = name;
  spec.nodes.emplace_back().name = "only";
  spec.schedule.emplace().every = hours(1);
  return *compile(std::move(spec), {});
}

TEST_P(ScheduleStoreTest, SchedulesAreInTheImageWithTheirDefinitionUntilTheyAreRemoved) {
  const PlanPtr plan = hourly_plan("etl");
  ScheduleRow row{.dag = "etl", .plan = plan, .decided = kT0, .applied_at = kT0};
  row.paused = SchedulePause::kByFailure;
  row.failed_run = {7};
  row.waiting = {kT0 + seconds(1), kT0 + seconds(2)};
  row.last_run = {8};
  row.last_slot = kT0;
  row.applied_by = "ann";
  Commit made = commit();
  made.rows.schedules = {row, {.dag = "other", .plan = plan, .decided = kT0, .applied_at = kT0}};
  put(made);
  bed.reopen();
  const auto image = bed.writer().image();
  ASSERT_TRUE(image);
  ASSERT_EQ(image->schedules.size(), 2U);
  const ScheduleRow& kept = image->schedules[0];
  EXPECT_EQ(kept.plan->digest, plan->digest);
  EXPECT_EQ(kept.paused, SchedulePause::kByFailure);
  EXPECT_EQ(kept.failed_run, RunId{7});
  EXPECT_EQ(kept.waiting, row.waiting);
  EXPECT_EQ(kept.last_slot, kT0);
  EXPECT_EQ(kept.applied_by, "ann");
  EXPECT_EQ(image->schedules[1].last_slot, kNever);
  EXPECT_EQ((*bed.reader()->schedule("etl"))->digest, plan->digest);
  row.removed = true;
  made = commit();
  made.rows.schedules = {row};
  put(made);
  EXPECT_EQ(bed.writer().image()->schedules.size(), 1U);
  EXPECT_FALSE(*bed.reader()->schedule("etl"));
  EXPECT_EQ(bed.reader()->schedules({})->items.size(), 1U);
}

TEST_P(ScheduleStoreTest, ARunKeepsTheSlotItWasStartedFor) {
  RunRow run = run_row(1, sample_plan("thumbs"));
  auto request = std::make_shared<RunRequest>(*run.request);
  request->schedule = "thumbs";
  request->slot = kT0;
  request->slot_end = kT0 + hours(1);
  run.request = request;
  Commit made = commit();
  add_run(made.rows, run, TaskState::kQueued);
  put(made);
  const auto image = bed.writer().image();
  ASSERT_TRUE(image && image->runs.size() == 1);
  EXPECT_EQ(image->runs[0].run.request->schedule, "thumbs");
  EXPECT_EQ(image->runs[0].run.request->slot, kT0);
  EXPECT_EQ(image->runs[0].run.request->slot_end, kT0 + hours(1));
}

}  // namespace
}  // namespace vortex::store::testing
