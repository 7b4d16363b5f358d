// Forgetting and output: what goes, when it goes, and what must never go.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/store/bed.h"
#include "tests/store/dump.h"
#include "tests/store/rows.h"

namespace vortex::store::testing {
namespace {

class RetentionTest : public ::testing::TestWithParam<Backend> {
 protected:
  RetentionTest() : bed(GetParam()) {}

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
  // A finished run with something in every table.
  void put_finished(std::uint64_t id, Instant at) {
    Commit made = commit();
    add_run(made.rows, finished(run_row(id, plan, fmt::format("key-{}", id)), at),
            TaskState::kCompleted);
    const TaskId task = task_id(id, 1);
    made.rows.attempts.push_back(attempt_row(task, 1, "worker-1"));
    made.rows.task_data.push_back(
        {.id = task, .epoch = {1}, .checkpoint = std::nullopt, .outputs = "{}"});
    made.rows.dead_letters.push_back(letter_row(task, at));
    made.rows.recoveries.push_back({.id = {id},
                                    .worker = WorkerId{"worker-1"},
                                    .incarnation = {1},
                                    .evidence = Evidence::kExit,
                                    .num_tasks = 1,
                                    .at = at});
    RecoveryItemRow item;
    item.recovery = {id};
    item.task = task;
    made.rows.recovery_items.push_back(item);
    made.logs.push_back({.attempt = {task, {1}}, .offset = 0, .data = "hello"});
    made.pieces.push_back({task, 1, 0, 5, "state"});
    put(made);
  }
  void expire(std::uint64_t id) {
    Commit made = commit();
    made.expired = {{id}};
    put(made);
  }
  void expect_forgotten(std::uint64_t id) {
    const auto reader = bed.reader();
    const TaskId task = task_id(id, 1);
    EXPECT_EQ(show(reader->run({id})), "none");
    EXPECT_EQ(show(reader->task(task)), "none");
    EXPECT_EQ(show(reader->task_data(task)), "none");
    EXPECT_EQ(show(reader->attempts(task)), "");
    EXPECT_EQ(reader->log({.attempt = {task, {1}}})->size, 0U);
    EXPECT_EQ(reader->checkpoint({task, 1, 0})->stored, 0U);
    EXPECT_TRUE(reader->recovery_items({id}, {})->items.empty());
    EXPECT_FALSE(*bed.writer().run_image({id}));
    TaskFilter of_run;
    of_run.run = RunId{id};
    EXPECT_TRUE(reader->tasks(of_run, {})->items.empty());
    const auto letters = reader->dead_letters({}, {});
    for (const auto& letter : letters->items) {
      EXPECT_NE(letter.row.attempt.task.run, RunId{id});
    }
    const auto image = bed.writer().image();
    for (const auto& key : image->keys) EXPECT_NE(key.run, RunId{id});
  }

  PlanPtr plan = sample_plan("thumbs");
  Bed bed;
};

INSTANTIATE_TEST_SUITE_P(, RetentionTest, ::testing::ValuesIn(kAllBackends),
                         [](const auto& chosen) { return name_of(chosen.param); });

TEST_P(RetentionTest, ExpiredRunIsGoneFromEveryReadWithItsCommit) {
  put_finished(1, kT0);
  put_finished(2, kT0);
  expire(1);
  expect_forgotten(1);
  bed.reopen();
  expect_forgotten(1);
  EXPECT_TRUE(*bed.reader()->run({2}));
  EXPECT_EQ(bed.reader()->totals(kT0)->open_dead_letters, 1U);
}

TEST_P(RetentionTest, SweepingRemovesInSlicesAndEnds) {
  put_finished(1, kT0);
  put_finished(2, kT0);
  expire(1);
  int slices = 0;
  while (*bed.writer().sweep({}, kT0, 2)) ASSERT_LT(++slices, 100);
  EXPECT_GE(slices, 4) << "11 rows in slices of 2";
  EXPECT_FALSE(*bed.writer().sweep({}, kT0, 1'000));
  expect_forgotten(1);
  EXPECT_EQ((*bed.writer().run_image({2}))->tasks.size(), 5U);
  EXPECT_EQ(bed.reader()->log({.attempt = {task_id(2, 1), {1}}})->data, "hello");
}

TEST_P(RetentionTest, KeyOfAForgottenRunIsFree) {
  put_finished(1, kT0);
  expire(1);
  Commit made = commit();
  add_run(made.rows, run_row(2, plan, "key-1"));
  put(made);
  EXPECT_EQ(bed.writer().image()->keys.at(0).run, RunId{2});
}

TEST_P(RetentionTest, RunThatIsLiveAgainIsNeverForgotten) {
  put_finished(1, kT0);
  Commit made = commit();
  made.rows.runs.push_back(run_row(1, plan, "key-1"));
  made.expired = {{1}};
  put(made);
  EXPECT_TRUE(*bed.reader()->run({1}));
  EXPECT_FALSE(*bed.writer().sweep({}, kT0, 1'000));
  EXPECT_EQ(bed.writer().image()->runs.at(0).tasks.size(), 5U);
  const Retention keep{.runs_for = micros(1), .runs_max = 1, .events_for = {}};
  EXPECT_TRUE(bed.writer().expirable(keep, kT0 + hours(9), 10)->empty());
}

TEST_P(RetentionTest, RunWrittenAgainWhileBeingSweptIsSpared) {
  put_finished(1, kT0);
  expire(1);
  Commit made = commit();
  made.rows.runs.push_back(run_row(1, plan, "key-1"));
  put(made);
  while (*bed.writer().sweep({}, kT0, 1)) {
  }
  EXPECT_EQ((*bed.writer().run_image({1}))->tasks.size(), 5U);
}

TEST_P(RetentionTest, OldestFinishedRunsGoFirstByAgeAndByNumber) {
  for (std::uint64_t id = 1; id <= 5; ++id) {
    put_finished(id, kT0 + minutes(static_cast<std::int64_t>(60 - id)));
  }
  const auto ids = [&](const Retention& keep, std::uint32_t limit) {
    std::string text;
    const auto expirable = bed.writer().expirable(keep, kT0 + minutes(60), limit);
    for (const ExpiredRun& run : *expirable) {
      text += fmt::format("{}={} ", to_text(run.run), run.idempotency_key);
    }
    return text;
  };
  EXPECT_EQ(ids({}, 10), "");
  EXPECT_EQ(ids({.runs_for = {}, .runs_max = 3, .events_for = {}}, 10), "r5=key-5 r4=key-4 ");
  EXPECT_EQ(ids({.runs_for = minutes(3), .runs_max = 0, .events_for = {}}, 10),
            "r5=key-5 r4=key-4 ");
  EXPECT_EQ(ids({.runs_for = minutes(1), .runs_max = 1, .events_for = {}}, 2),
            "r5=key-5 r4=key-4 ");
}

TEST_P(RetentionTest, DefinitionGoesWithItsLastRun) {
  put_finished(1, kT0);
  put_finished(2, kT0);
  expire(1);
  EXPECT_TRUE(*bed.reader()->plan(plan->digest));
  expire(2);
  EXPECT_FALSE(*bed.reader()->plan(plan->digest));
  put_finished(3, kT0);
  bed.reopen();
  EXPECT_TRUE(*bed.writer().run_image({3}));
}

TEST_P(RetentionTest, EventsAreReadFromAnySequenceAndGoByAge) {
  for (std::uint64_t block = 0; block < 4; ++block) {
    Commit made = commit(kT0 + hours(static_cast<std::int64_t>(block)));
    made.events = {.first_seq = block * 10 + 1,
                   .last_seq = block * 10 + 10,
                   .lines = fmt::format("block {}\n", block)};
    put(made);
  }
  const auto reader = bed.reader();
  EXPECT_EQ(show(reader->events_after(0, 1)), "1..10 'block 0\n'");
  EXPECT_EQ(show(reader->events_after(9, 1)), "1..10 'block 0\n'");
  EXPECT_EQ(show(reader->events_after(10, 1'000)), "11..40 'block 1\nblock 2\nblock 3\n'");
  EXPECT_EQ(show(reader->events_after(40, 1'000)), "0..0 ''");
  const Retention keep{.runs_for = {}, .runs_max = 0, .events_for = hours(1)};
  while (*bed.writer().sweep(keep, kT0 + hours(3), 1)) {
  }
  EXPECT_EQ(show(reader->events_after(0, 1)), "21..30 'block 2\n'");
}

TEST_P(RetentionTest, AuditEntriesGoByAge) {
  Commit made = commit();
  for (std::int64_t hour = 0; hour < 4; ++hour) {
    AuditRow row;
    row.at = kT0 + hours(hour);
    row.seq = static_cast<std::uint64_t>(row.at.us);
    row.operation = fmt::format("op_{}", hour);
    made.audit.push_back(row);
  }
  put(made);
  bed.reopen();
  Retention keep;
  keep.audit_for = hours(1);
  while (*bed.writer().sweep(keep, kT0 + hours(3), 1)) {
  }
  const auto left = bed.reader()->audit({}, {});
  ASSERT_EQ(left->items.size(), 2U);
  EXPECT_EQ(left->items[0].operation, "op_3");
  EXPECT_EQ(left->items[1].operation, "op_2");
}

// Output -----------------------------------------------------------------------------------------

std::string numbered(std::uint64_t from, std::uint64_t to) {
  std::string text;
  for (std::uint64_t i = from; i < to; ++i) text.push_back(static_cast<char>('a' + i % 26));
  return text;
}

TEST_P(RetentionTest, OutputCountsOnceHoweverOftenItIsSent) {
  put_finished(1, kT0);
  const Attempt attempt{task_id(1, 0), {1}};
  Commit made = commit();
  made.logs = {{attempt, 0, numbered(0, 10)},
               {attempt, 0, numbered(0, 10)},
               {attempt, 5, numbered(5, 20)},
               {attempt, 3, numbered(3, 7)}};
  put(made);
  put(made);
  EXPECT_EQ(show(bed.reader()->log({.attempt = attempt})),
            fmt::format("0+'{}' skipped=0 next=20 size=20", numbered(0, 20)));
}

TEST_P(RetentionTest, OutputWithAGapIsRefusedAndNothingOfItsCommitHappens) {
  put_finished(1, kT0);
  const Attempt attempt{task_id(1, 0), {1}};
  Commit made = commit();
  made.rows.queues.push_back({"q", true});
  made.logs = {{attempt, 0, "abc"}, {attempt, 4, "e"}};
  const auto done = bed.writer().commit(made);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().fault, Fault::kBadRequest);
  EXPECT_TRUE(bed.reader()->queues()->empty());
  EXPECT_EQ(bed.reader()->log({.attempt = attempt})->size, 0U);
}

TEST_P(RetentionTest, LongOutputKeepsItsFirstAndLastBytes) {
  put_finished(1, kT0);
  const Attempt attempt{task_id(1, 0), {1}};
  const std::string all = numbered(0, 2'000);
  for (std::uint64_t at = 0; at < all.size(); at += 130) {
    Commit made = commit();
    made.logs.push_back({attempt, at, all.substr(at, 130)});
    put(made);
  }
  bed.reopen();
  const auto reader = bed.reader();
  const auto head = reader->log({.attempt = attempt, .offset = 0, .bytes_max = 10'000});
  EXPECT_EQ(show(head), fmt::format("0+'{}' skipped=1600 next=1700 size=2000", all.substr(0, 100)));
  const auto tail = reader->log({.attempt = attempt, .offset = head->next_offset});
  EXPECT_EQ(show(tail), fmt::format("1700+'{}' skipped=0 next=2000 size=2000", all.substr(1'700)));
  EXPECT_EQ(reader->log({.attempt = attempt, .offset = 0, .bytes_max = 100})->skipped, 1'600U)
      << "a page that ends at the cut says so";
  EXPECT_EQ(show(reader->log({.attempt = attempt, .offset = 300})),
            "300+'' skipped=1400 next=1700 size=2000");
  EXPECT_EQ(show(reader->log({.attempt = attempt, .offset = 2'000})),
            "2000+'' skipped=0 next=2000 size=2000");
  EXPECT_EQ(reader->log({.attempt = attempt, .offset = 0, .bytes_max = 50, .from_end = true})->data,
            all.substr(1'950));
  EXPECT_EQ(
      reader->log({.attempt = attempt, .offset = 0, .bytes_max = 900, .from_end = true})->offset,
      1'700U);
}

}  // namespace
}  // namespace vortex::store::testing
