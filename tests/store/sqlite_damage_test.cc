// Rows that were damaged behind our back: named by table, row and column, the rest is loaded, and
// what follows from other rows is repaired.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/sqlite/check.h"
#include "tests/store/bed.h"
#include "tests/store/rows.h"
#include "tests/store/shell.h"

namespace vortex::store::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Damage : public ::testing::Test {
 protected:
  // Two runs with queued tasks, a worker and a lease.
  void SetUp() override {
    Commit commit;
    commit.term = bed.term();
    commit.now = kT0;
    add_run(commit.rows, run_row(1, plan));
    add_run(commit.rows, run_row(2, sample_plan("other", 2)));
    commit.rows.counters = CounterRow{};
    commit.rows.counters->next_run = {3};
    commit.rows.counters->tasks[number_of(TaskState::kQueued)] = commit.rows.tasks.size();
    commit.rows.workers = {worker_row("w1", WorkerState::kIdle)};
    commit.rows.leases = {{{"orders", 1}, AgentId("a"), Epoch{41}, kT0 + seconds(30)},
                          {{"orders", 2}, AgentId("b"), Epoch{7}, kT0 + seconds(30)}};
    ASSERT_TRUE(bed.writer().commit(commit));
  }
  // Damages the file while nobody uses it, and reads what a controller would start with.
  StoreImage after(const std::string& sql) {
    EXPECT_EQ(sqlite3_shell(bed.path(), sql), "");
    bed.reopen();
    auto image = bed.writer().image();
    EXPECT_TRUE(image) << image.error().detail;
    return image ? std::move(*image) : StoreImage{};
  }
  static std::string only(const StoreImage& image) {
    EXPECT_EQ(image.damaged.size(), 1U);
    return image.damaged.empty() ? "" : to_text(image.damaged.front());
  }
  std::vector<std::string> problems() {
    const auto report = check_sqlite(bed.path());
    return report ? report->problems : std::vector<std::string>{report.error().detail};
  }

  PlanPtr plan = sample_plan("thumbs", 2);
  Bed bed{Backend::kSqlite};
};

TEST_F(Damage, ATaskInNoKnownStateSetsItsRunAsideAndNamesTheRow) {
  const StoreImage image = after("UPDATE task_instances SET state = 'Bogus' WHERE id = 'r1-L1-1';");
  EXPECT_EQ(
      only(image),
      "table task_instances, row r1-L1-1, column state: contains 'Bogus', which is not valid");
  EXPECT_EQ(image.damaged.front().run, RunId{1});
  ASSERT_EQ(image.runs.size(), 1U) << "the other run goes on";
  EXPECT_EQ(image.runs.front().run.id, RunId{2});
  EXPECT_THAT(problems(), Contains(HasSubstr("row r1-L1-1, column state")));
}

TEST_F(Damage, ARowThatCannotBeReadHidesNoOtherOneFromLists) {
  after(
      "UPDATE task_instances SET state = 'Bogus' WHERE id = 'r1-L1-1';"
      "UPDATE runs SET labels = '{broken' WHERE run_id = 1;"
      "UPDATE workers SET state = 'Bogus';");
  for (const std::uint32_t limit : {1U, 2U, 100U}) {
    std::size_t tasks = 0;
    PageRequest page{limit, {}};
    do {
      const auto found = bed.reader()->tasks({}, page);
      ASSERT_TRUE(found) << found.error().detail;
      tasks += found->items.size();
      page.cursor = found->next_cursor;
    } while (!page.cursor.empty());
    EXPECT_EQ(tasks, std::size_t{plan->tasks} + sample_plan("other", 2)->tasks - 1) << limit;
    std::vector<RunId> runs;
    page = {limit, {}};
    do {
      const auto found = bed.reader()->runs({}, page);
      ASSERT_TRUE(found) << found.error().detail;
      for (const RunView& run : found->items) runs.push_back(run.id);
      page.cursor = found->next_cursor;
    } while (!page.cursor.empty());
    EXPECT_EQ(runs, std::vector{RunId{2}}) << limit;
    const auto workers = bed.reader()->workers({}, {limit, {}});
    ASSERT_TRUE(workers) << workers.error().detail;
    EXPECT_TRUE(workers->items.empty());
  }
}

TEST_F(Damage, M04_MarksLeaveOutWhatCannotBeReadInTheColumnsTheyLookAt) {
  after(
      "UPDATE task_instances SET state = 'Bogus' WHERE id = 'r1-L1-1';"
      "UPDATE task_instances SET percent = 'much' WHERE id = 'r1-L1-2';"
      "UPDATE runs SET labels = '{broken' WHERE run_id = 2;");
  const std::vector<TaskSpan> spans{{{1}, 0, 4}, {{2}, 0, 4}};
  const auto marks = bed.reader()->marks(spans, ReadDepth::kMarks);
  ASSERT_TRUE(marks) << marks.error().detail;
  EXPECT_EQ((*marks)[0].tasks.size(), 3U);
  EXPECT_EQ((*marks)[1].damage, "");
  const auto whole = bed.reader()->marks(spans, ReadDepth::kWholeRows);
  ASSERT_TRUE(whole) << whole.error().detail;
  EXPECT_EQ((*whole)[0].tasks.size(), 2U);
  EXPECT_THAT((*whole)[1].damage, HasSubstr("column labels"));
  after("UPDATE runs SET waiting = 'many' WHERE run_id = 1;");
  EXPECT_THAT(bed.reader()->marks(spans, ReadDepth::kMarks).value()[0].damage,
              HasSubstr("column waiting"));
}

TEST_F(Damage, ANumberThatIsNoneIsDamageToo) {
  const StoreImage image = after("UPDATE task_instances SET epoch = 'soon' WHERE id = 'r1-L0-0';");
  EXPECT_THAT(only(image), HasSubstr("row r1-L0-0, column epoch"));
  EXPECT_EQ(image.runs.size(), 1U);
}

TEST_F(Damage, ARunThatCannotBeReadIsSetAside) {
  EXPECT_THAT(only(after("UPDATE runs SET labels = '{broken' WHERE run_id = 1;")),
              HasSubstr("table runs, row r1, column labels"));
  EXPECT_THAT(only(after("UPDATE runs SET labels = NULL, state = 'Odd' WHERE run_id = 1;")),
              HasSubstr("table runs, row r1, column state: contains 'Odd'"));
  EXPECT_THAT(only(after("UPDATE runs SET state = 'Running', stopped = '[99]' WHERE run_id = 1;")),
              HasSubstr("column stopped: refers to node 99"));
  EXPECT_THAT(only(after("UPDATE runs SET stopped = NULL, late_maps = '[1,5]' WHERE run_id = 1;")),
              HasSubstr("column late_maps: refers to node 1, which is no map that was made"));
}

TEST_F(Damage, ADefinitionThatDoesNotUnpackSetsItsRunsAside) {
  const StoreImage image = after("UPDATE dag_specs SET spec = x'00FF' WHERE name = 'thumbs';");
  EXPECT_THAT(only(image), HasSubstr("table dag_specs, row "));
  EXPECT_THAT(only(image), HasSubstr("column spec"));
  EXPECT_EQ(image.runs.size(), 1U);
  EXPECT_THAT(problems(), Contains(HasSubstr("column spec")));
}

TEST_F(Damage, AWorkerOrLeaseThatCannotBeReadIsLeftOutAndNoEpochGoesBack) {
  EXPECT_THAT(only(after("UPDATE workers SET state = 'ASLEEP';")),
              HasSubstr("table workers, row w1, column state"));
  StoreImage image = after(
      "UPDATE workers SET state = 'IDLE';"
      "UPDATE partition_leases SET lease_expires_at = 'soon' "
      "WHERE partition_id = 1;");
  EXPECT_THAT(only(image), HasSubstr("table partition_leases, row orders/1"));
  EXPECT_EQ(image.leases.size(), 1U);
  EXPECT_GE(image.counters.lease_floor.value, 41U);
  image = after(
      "UPDATE partition_leases SET lease_expires_at = NULL, lease_epoch = 'many' "
      "WHERE partition_id = 1;");
  EXPECT_GT(image.counters.lease_floor.value, 41U) << "whatever it was, it was less";
}

TEST_F(Damage, M04_ADeletedRunRowIsNamed) {
  const StoreImage image = after("DELETE FROM runs WHERE run_id = 1;");
  EXPECT_EQ(only(image), "table runs, row r1: is missing, but has 4 open tasks");
  EXPECT_EQ(image.runs.size(), 1U);
}

TEST_F(Damage, M04_ARunMarkedEndedWithOpenTasksIsLoadedAllTheSame) {
  const StoreImage image = after(
      "UPDATE runs SET state = 'Completed', finished_at = '2026-02-22 22:41:00.000000' "
      "WHERE run_id = 1;");
  EXPECT_THAT(image.damaged, IsEmpty());
  ASSERT_EQ(image.runs.size(), 2U);
  EXPECT_EQ(image.runs.front().run.state, RunState::kCompleted);
  EXPECT_THAT(problems(), Contains(HasSubstr("run r1 is Completed, but 4 of its tasks are open")));
}

TEST_F(Damage, M04_RepairSetsRightWhatFollowsFromOtherRows) {
  after(
      "UPDATE runs SET running = 5, levels_passed = 2 WHERE run_id = 1;"
      "UPDATE runs SET state = 'Completed' WHERE run_id = 2;"
      "UPDATE counters SET queued = 999, next_run = 1;"
      "UPDATE dag_uses SET runs = 9;"
      "UPDATE task_instances SET level = NULL WHERE id = 'r1-L1-1';"
      "UPDATE task_instances SET level = 9 WHERE id = 'r1-L1-2';"
      "UPDATE task_instances SET state = 'Running', worker_id = 'ghost' WHERE id = 'r2-L0-0';"
      "UPDATE task_instances SET state = 'Bogus' WHERE id = 'r2-L2-3';"
      "UPDATE workers SET state = 'ASLEEP';"
      "UPDATE partition_leases SET lease_epoch = 'many' WHERE partition_id = 2;");
  for (const char* found :
       {"run r1 has wrong counts of tasks", "run r1 has 2 levels passed, but a task of level 0",
        "run r2 is Completed, but", "counters of open tasks", "next run, r1, is already there",
        "task r1-L1-1 has no level", "task r1-L1-2 has level 9",
        "task r2-L0-0 is Running on no worker that is present", "row r2-L2-3, column state",
        "table workers, row w1", "row orders/2, column lease_epoch"}) {
    EXPECT_THAT(problems(), Contains(HasSubstr(found)));
  }
  EXPECT_EQ(repair_sqlite(bed.path()).error().fault, Fault::kLocked) << "a controller has it";
  EXPECT_THAT(problems(), Contains(HasSubstr("has wrong counts of tasks"))) << "nothing was done";
  bed.close();
  const auto did = repair_sqlite(bed.path());
  ASSERT_TRUE(did) << did.error().detail;
  EXPECT_GE(did->size(), 8U);
  EXPECT_THAT(problems(), IsEmpty());
  EXPECT_EQ(sqlite3_shell(bed.path(),
                          "SELECT state, level, worker_id FROM task_instances WHERE "
                          "id IN ('r1-L1-1', 'r2-L0-0') ORDER BY id;"),
            "Queued|1|\nQueued|0|\n");
  EXPECT_EQ(sqlite3_shell(bed.path(),
                          "SELECT lease_epoch > 41, agent_id FROM partition_leases "
                          "WHERE partition_id = 2;"),
            "1|\n");
  EXPECT_THAT(*repair_sqlite(bed.path()), IsEmpty()) << "once is enough";
  bed.reopen();
  const auto image = bed.writer().image();
  ASSERT_TRUE(image);
  EXPECT_THAT(image->damaged, IsEmpty());
  EXPECT_EQ(image->runs.size(), 2U);
}

TEST_F(Damage, M04_RepairForgetsTasksWhoseRunIsGone) {
  after("DELETE FROM runs WHERE run_id = 1;");
  EXPECT_THAT(problems(), Contains(HasSubstr("task r1-L0-0 has no run")));
  bed.close();
  ASSERT_TRUE(repair_sqlite(bed.path()));
  EXPECT_THAT(problems(), IsEmpty());
}

TEST_F(Damage, TheLedgerIsForgottenByAgeWithItsItems) {
  Commit commit;
  commit.term = bed.term();
  commit.now = kT0;
  for (std::uint64_t i = 1; i <= 3; ++i) {
    commit.rows.recoveries.push_back(
        {{i}, WorkerId("w1"), {1}, Evidence::kExit, 1, kT0 + hours(static_cast<std::int64_t>(i))});
    commit.rows.recovery_items.push_back(
        {{i}, task_id(1, 0), {1}, {2}, WorkerId("w1"), WorkerId(), 1});
  }
  ASSERT_TRUE(bed.writer().commit(commit));
  Retention keep;
  keep.recoveries_for = hours(10);
  ASSERT_TRUE(bed.writer().sweep(keep, kT0 + hours(12) + minutes(30), 100));
  EXPECT_EQ(sqlite3_shell(bed.path(),
                          "SELECT recovery_id FROM recovery_log;"
                          "SELECT recovery_id FROM recovery_items;"),
            "3\n3\n");
}

}  // namespace
}  // namespace vortex::store::testing
