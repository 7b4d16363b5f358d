// Checking and copying a file while it is in use, and readers beside the writer.

#include <atomic>
#include <fstream>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/vortex/bare_loop.h"
#include "store/sqlite/check.h"
#include "tests/store/bed.h"
#include "tests/store/dump.h"
#include "tests/store/rows.h"
#include "tests/store/shell.h"
#include "tests/store/walk.h"

namespace vortex::store::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

class Upkeep : public ::testing::Test {
 protected:
  Commit next() {
    Commit commit;
    commit.term = bed.term();
    commit.now = kT0 + millis(static_cast<std::int64_t>(++runs));
    add_run(commit.rows, run_row(runs, plan));
    commit.rows.counters = CounterRow{};
    commit.rows.counters->next_run = {runs + 1};
    commit.rows.counters->tasks[number_of(TaskState::kQueued)] = runs * plan->tasks;
    return commit;
  }
  void put(const Commit& commit) {
    const auto done = bed.writer().commit(commit);
    ASSERT_TRUE(done) << done.error().detail;
  }
  std::vector<std::string> problems() {
    const auto report = check_sqlite(bed.path());
    EXPECT_TRUE(report) << report.error().detail;
    return report ? report->problems : std::vector<std::string>{"no report"};
  }

  PlanPtr plan = sample_plan("thumbs", 4);
  Bed bed{Backend::kSqlite};
  std::uint64_t runs = 0;
};

TEST_F(Upkeep, SoundFileHasNoProblems) {
  put(next());
  put(next());
  EXPECT_TRUE(problems().empty());
  const auto report = check_sqlite(bed.path());
  EXPECT_EQ(report->runs, 2U);
  EXPECT_EQ(report->tasks, 12U);
  EXPECT_EQ(report->version, report->known_version);
}

TEST_F(Upkeep, CheckFindsRowsThatContradictEachOther) {
  put(next());
  const auto breaks = [&](const std::string& sql, const std::string& problem) {
    EXPECT_EQ(sqlite3_shell(bed.path(), sql), "");
    EXPECT_THAT(problems(), Contains(HasSubstr(problem))) << sql;
  };
  breaks("UPDATE task_instances SET state = 'Failed' WHERE task_key & 16777215 = 1;",
         "run r1 has wrong counts of tasks");
  breaks("UPDATE counters SET queued = 1;", "counters of open tasks");
  breaks("UPDATE counters SET next_run = 1;", "next run, r1, is already there");
  breaks("UPDATE dag_uses SET runs = 5;", "is used by 1 runs, not by 5");
  breaks("DELETE FROM dag_specs;", "run r1 has no definition");
  breaks("INSERT INTO doomed VALUES (1);", "run r1 is both deleted and kept");
  breaks("DELETE FROM doomed; DELETE FROM runs;", "task r1-L0-0 has no run");
  breaks("INSERT INTO log_heads VALUES (1, 1, 10, 0, 0);", "ends at 0, not at 10");
}

TEST_F(Upkeep, CheckFindsBrokenPages) {
  for (int i = 0; i < 30; ++i) put(next());
  const std::string copy = bed.path() + ".copy";
  ASSERT_TRUE(backup_sqlite(bed.path(), copy));
  {
    std::fstream file(copy, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(4096 * 20);
    file << std::string(8'192, 'z');
  }
  const auto report = check_sqlite(copy);
  EXPECT_TRUE(!report || !report->problems.empty());
}

TEST_F(Upkeep, BackupWhileWritingIsOneCommittedState) {
  for (int i = 0; i < 5; ++i) put(next());
  std::atomic<bool> stop = false;
  std::thread writer([&] {
    while (!stop && bed.writer().commit(next())) {
    }
  });
  const std::string copy = bed.path() + ".copy";
  const auto done = backup_sqlite(bed.path(), copy);
  stop = true;
  writer.join();
  ASSERT_TRUE(done) << done.error().detail;
  const auto report = check_sqlite(copy);
  ASSERT_TRUE(report) << report.error().detail;
  EXPECT_TRUE(report->problems.empty()) << report->problems.front();
  EXPECT_GE(report->runs, 5U);
  EXPECT_EQ(report->tasks, report->runs * 6);
  SqliteOptions options;
  options.path = copy;
  const auto store = open_sqlite(options);
  ASSERT_TRUE(store) << store.error().detail;
  EXPECT_EQ((*store)->writer().image()->runs.size(), report->runs);
}

TEST_F(Upkeep, BackupNeverOverwrites) {
  put(next());
  const std::string copy = bed.path() + ".copy";
  std::ofstream(copy) << "precious";
  const auto done = backup_sqlite(bed.path(), copy);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().fault, Fault::kBadRequest);
  std::ifstream kept(copy);
  std::string word;
  kept >> word;
  EXPECT_EQ(word, "precious");
}

TEST_F(Upkeep, RestorePutsABackupInPlaceAndKeepsWhatWasThere) {
  put(next());
  const std::string before = show(bed.writer().image());
  const std::string copy = bed.path() + ".copy";
  ASSERT_TRUE(backup_sqlite(bed.path(), copy));
  put(next());
  const auto refused = restore_sqlite(copy, bed.path());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().fault, Fault::kLocked) << "it is in use";
  bed.close();
  const auto aside = restore_sqlite(copy, bed.path());
  ASSERT_TRUE(aside) << aside.error().detail;
  EXPECT_EQ(check_sqlite(*aside)->runs, 2U);
  bed.reopen();
  EXPECT_EQ(show(bed.writer().image()), before);
}

TEST_F(Upkeep, BackupThatIsNotSoundIsNotRestored) {
  put(next());
  bed.close();
  const std::string broken = bed.path() + ".broken";
  std::ofstream(broken) << "this is no database";
  const std::string empty = bed.path() + ".empty";
  std::ofstream(empty).close();
  for (const std::string& bad : {broken, empty, bed.path() + ".missing"}) {
    EXPECT_FALSE(restore_sqlite(bad, bed.path())) << bad;
  }
  EXPECT_EQ(check_sqlite(bed.path())->runs, 1U) << "nothing was changed";
}

TEST_F(Upkeep, ReadersSeeWholeCommitsWhileTheWriterWrites) {
  put(next());
  std::atomic<bool> stop = false;
  std::thread writer([&] {
    while (!stop && bed.writer().commit(next())) {
    }
  });
  const auto reader = bed.reader();
  std::uint64_t last = 0;
  for (int i = 0; i < 50; ++i) {
    const auto totals = reader->totals(kT0);
    ASSERT_TRUE(totals) << totals.error().detail;
    const std::uint64_t tasks = totals->counters.tasks[number_of(TaskState::kQueued)];
    ASSERT_EQ(tasks, (totals->counters.next_run.value - 1) * 6);
    ASSERT_GE(tasks, last);
    last = tasks;
    const auto run = reader->runs({}, {.limit = 1, .cursor = {}});
    ASSERT_TRUE(run);
    TaskFilter filter;
    filter.run = run->items.at(0).id;
    ASSERT_EQ(reader->tasks(filter, {})->items.size(), 6U);
  }
  stop = true;
  writer.join();
}

TEST_F(Upkeep, PageOfCompletedTasksLooksAtABoundedNumberOfRows) {
  Commit commit = next();
  commit.rows = {};
  const RunRow run = run_row(900, sample_plan("wide", 30'000));
  add_run(commit.rows, run);
  commit.rows.tasks.push_back(task_row(run, 29'000, TaskState::kCompleted));
  put(commit);
  const auto reader = bed.reader();
  TaskFilter filter;
  filter.state = TaskState::kCompleted;
  filter.run = RunId{900};
  const auto first = reader->tasks(filter, {});
  ASSERT_TRUE(first);
  EXPECT_TRUE(first->items.empty());
  EXPECT_FALSE(first->next_cursor.empty());
  const auto all = walk([&](const PageRequest& page) { return reader->tasks(filter, page); }, 10);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].row.id.index, 29'000U);
}

TEST(BareLoop, RunsToItsEndAndLeavesItsRows) {
  const TempFolder folder;
  const auto result = run_bare_loop(folder.file("bare.db"), 2'500, 1'000);
  ASSERT_TRUE(result) << result.error().detail;
  EXPECT_EQ(result->tasks, 2'500U);
  EXPECT_GT(result->tasks_per_second(), 0);
  EXPECT_EQ(sqlite3_shell(folder.file("bare.db"),
                          "SELECT state, count(*) FROM task_instances GROUP BY state;"),
            "Completed|2500\n");
  EXPECT_FALSE(run_bare_loop(folder.file("bare.db"), 1, 1));
}

}  // namespace
}  // namespace vortex::store::testing
