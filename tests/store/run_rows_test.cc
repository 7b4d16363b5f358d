// What a run carries with it beside its tasks, in every store: what it was told, the maps made in
// it.

#include <gtest/gtest.h>

#include "tests/store/bed.h"
#include "tests/store/dump.h"
#include "tests/store/rows.h"

namespace vortex::store::testing {
namespace {

class StoredRuns : public ::testing::TestWithParam<Backend> {
 protected:
  StoredRuns() : bed(GetParam()) {}

  Commit commit(Instant now = kT0) {
    Commit made;
    made.term = bed.term();
    made.now = now;
    return made;
  }
  void put(const Commit& made) {
    const auto done = bed.writer().commit(made);
    ASSERT_TRUE(done) << done.error().detail;
  }
  void put_run(const RunRow& run) {
    Commit made = commit();
    add_run(made.rows, run, TaskState::kQueued);
    put(made);
  }

  Bed bed;
};

INSTANTIATE_TEST_SUITE_P(, StoredRuns, ::testing::ValuesIn(kAllBackends),
                         [](const auto& chosen) { return name_of(chosen.param); });

TEST_P(StoredRuns, WhatARunWasToldComesBackInOrderAndGoesWithIt) {
  DagSpec spec;
  spec.name = "asks";
  spec.nodes.emplace_back().name = "ok";
  spec.nodes.back().wait = WaitSpec{.kind = WaitKind::kSignal, .text = "s"};
  RunRow run = run_row(1, compile(spec, {}).value());
  run.finally_ending = RunEnding::kTimedOut;
  Commit made = commit();
  add_run(made.rows, run);
  SignalRow first{.run = {1}, .number = 1, .name = "s", .data = R"({"a":1})", .at = made.now};
  first.idempotency_key = "k";
  SignalRow second{.run = {1}, .number = 2, .kind = SignalKind::kRejected, .name = "ok"};
  second.comment = "no";
  second.sent_by = "ann";
  second.taken_by = 7;
  second.taken_epoch = {3};
  made.rows.signals = {second, first};
  put(made);
  made = commit();
  first.taken_by = 0;
  first.taken_epoch = {1};
  made.rows.signals = {first};
  put(made);
  const auto image = bed.writer().run_image({1});
  ASSERT_TRUE(image && *image);
  EXPECT_EQ((*image)->signals, (std::vector{first, second}));
  EXPECT_EQ((*image)->run.finally_ending, RunEnding::kTimedOut);
  EXPECT_EQ(*bed.reader()->signals({1}), (std::vector{first, second}));
  EXPECT_TRUE(bed.reader()->signals({2})->empty());
}

TEST_P(StoredRuns, MapsMadeAtRunTimeAreKeptWithTheRun) {
  RunRow run = run_row(1, late_plan("thumbs"));
  put_run(run);
  const auto reader = bed.reader();
  EXPECT_EQ((*reader->run({1}))->tasks, 2U);
  TaskFilter filter;
  filter.run = RunId{1};
  filter.node = "resize";
  EXPECT_TRUE(reader->tasks(filter, {})->items.empty());

  make_map(run, 3);
  Commit made = commit();
  made.rows.runs.push_back(run);
  for (std::uint32_t index = 2; index < 5; ++index) {
    made.rows.tasks.push_back(task_row(run, index, TaskState::kCompleted));
    made.rows.task_data.push_back({.id = made.rows.tasks.back().id,
                                   .epoch = {1},
                                   .outputs = index == 3 ? std::nullopt : std::optional("{}")});
  }
  ASSERT_TRUE(bed.writer().commit(made));
  EXPECT_EQ((*reader->run({1}))->tasks, 5U);
  EXPECT_EQ((*reader->run({1}))->late, (LateCounts{1, 3}));
  EXPECT_EQ(reader->tasks(filter, {})->items.size(), 3U);
  filter.node = "report";
  EXPECT_EQ(reader->tasks(filter, {})->items.size(), 1U);
  // The definition is that of all runs, whatever one of them has made of it.
  EXPECT_EQ((*reader->plan(run.plan->digest))->tasks, 2U);

  const auto outputs = reader->outputs({.run = {1}, .first = 2, .end = 5});
  ASSERT_TRUE(outputs);
  ASSERT_EQ(outputs->size(), 2U);
  EXPECT_EQ(outputs->at(1).id.index, 4U);
  const auto read = bed.writer().image();
  ASSERT_TRUE(read);
  ASSERT_EQ(read->runs.size(), 1U);
  EXPECT_EQ(read->runs[0].run.late, (LateCounts{1, 3}));
  EXPECT_EQ(read->runs[0].tasks.size(), 5U);
}

}  // namespace
}  // namespace vortex::store::testing
