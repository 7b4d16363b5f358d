// The operators' queries run as they are printed, in the sqlite3 program, while a controller
// writes.

#include <atomic>
#include <fstream>
#include <sstream>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/store/bed.h"
#include "tests/store/rows.h"
#include "tests/store/shell.h"

namespace vortex::store::testing {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

std::string query(const std::string& name) {
  std::ifstream file(std::string(VX_SEED_QUERIES) + "/" + name + ".sql");
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

class SeedQueries : public ::testing::Test {
 protected:
  void SetUp() override {
    const PlanPtr plan = sample_plan("thumbs", 4);
    const RunRow run = run_row(42, plan);
    Commit commit = next();
    add_run(commit.rows, run);
    TaskRow failed = task_row(run, 2, TaskState::kFailed);
    failed.worker = WorkerId{"worker_2"};
    failed.error_message = "exit code 3";
    failed.exit_code = 3;
    failed.counters.attempts = 4;
    TaskRow held = task_row(run, 0, TaskState::kRunning);
    held.worker = WorkerId{"worker_1"};
    commit.rows.tasks.push_back(failed);
    commit.rows.tasks.push_back(held);
    commit.rows.workers = {worker_row("worker_1", WorkerState::kIdle),
                           worker_row("worker_2", WorkerState::kOffline)};
    WorkerRow silent = worker_row("worker_3", WorkerState::kRegistering);
    silent.last_heartbeat = kNever;
    commit.rows.workers.push_back(silent);
    ASSERT_TRUE(bed.writer().commit(commit));
  }

  Commit next() {
    Commit commit;
    commit.term = bed.term();
    commit.now = kT0 + millis(++commits);
    return commit;
  }

  // Runs `body` while another thread commits without pause.
  template <class Body>
  void while_writing(Body body) {
    std::atomic<bool> stop = false;
    std::thread writer([&] {
      while (!stop) {
        Commit commit = next();
        commit.rows.workers.push_back(worker_row("worker_1", WorkerState::kIdle));
        if (!bed.writer().commit(commit)) return;
      }
    });
    body();
    stop = true;
    writer.join();
  }

  std::string ask(const std::string& sql) { return sqlite3_shell(bed.path(), sql); }

  Bed bed{Backend::kSqlite};
  std::int64_t commits = 0;
};

TEST_F(SeedQueries, V06_WorkerStatusRunsAsPrinted) {
  while_writing([&] {
    const std::string said = ask(query("worker_status"));
    EXPECT_THAT(said, HasSubstr("worker_1|worker_1-name|IDLE|2026-02-22 22:40:01.000000|"));
    EXPECT_THAT(said, HasSubstr("|2026-02-22 22:40:00.000000\n"));
    EXPECT_THAT(said, HasSubstr("worker_2|worker_2-name|OFFLINE|"));
    EXPECT_THAT(said, HasSubstr("worker_3|worker_3-name|REGISTERING|||"));
  });
  EXPECT_EQ(ask("SELECT datetime(last_heartbeat) FROM workers WHERE id = 'worker_1';"),
            "2026-02-22 22:40:01\n");
}

TEST_F(SeedQueries, V06_OrphanedTasksRunsAsPrinted) {
  while_writing([&] {
    const std::string said = ask(query("orphaned_tasks"));
    EXPECT_THAT(said, HasSubstr("r42-L1-1|resize|Queued||0|2026-02-22 22:40:00.000000|"
                                "2026-02-22 22:40:00.005000\n"));
    EXPECT_THAT(said, HasSubstr("r42-L2-5|report|Queued||0|"));
    EXPECT_THAT(said, Not(HasSubstr("r42-L1-2|")));
    EXPECT_THAT(said, Not(HasSubstr("r42-L0-0|")));
  });
}

TEST_F(SeedQueries, V06_FailedTasksRunsAsPrinted) {
  while_writing([&] {
    EXPECT_EQ(ask(query("failed_tasks")),
              "r42-L1-2|resize|Failed|worker_2|exit code 3|3|4|2026-02-22 22:40:00.005000\n");
  });
}

TEST_F(SeedQueries, V06_TablesAndIndexesExistAndAreUsed) {
  EXPECT_EQ(ask("SELECT name FROM sqlite_schema WHERE type = 'table' AND name IN "
                "('workers', 'task_instances', 'recovery_log') ORDER BY name;"),
            "recovery_log\ntask_instances\nworkers\n");
  EXPECT_EQ(ask("SELECT name FROM sqlite_schema WHERE type = 'index' AND name IN "
                "('idx_workers_state_heartbeat', 'idx_tasks_worker_state', 'idx_tasks_state') "
                "ORDER BY name;"),
            "idx_tasks_state\nidx_tasks_worker_state\nidx_workers_state_heartbeat\n");
  EXPECT_THAT(ask("EXPLAIN QUERY PLAN " + query("orphaned_tasks")), HasSubstr("idx_tasks_state"));
  EXPECT_THAT(ask("EXPLAIN QUERY PLAN " + query("failed_tasks")), HasSubstr("idx_tasks_state"));
  EXPECT_THAT(ask("EXPLAIN QUERY PLAN SELECT * FROM task_instances "
                  "WHERE worker_id = 'worker_abc123' AND state = 'Running';"),
              HasSubstr("idx_tasks_worker_state (worker_id=? AND state=?)"));
  EXPECT_THAT(ask("EXPLAIN QUERY PLAN SELECT id FROM workers WHERE state = 'IDLE' "
                  "AND last_heartbeat < '2026';"),
              HasSubstr("idx_workers_state_heartbeat"));
}

TEST_F(SeedQueries, V06_EveryStateThatOperatorsAskForIsFoundByTheIndex) {
  for (const char* state : {"Waiting", "Queued", "Scheduled", "Running", "Completed", "Failed",
                            "Cancelled", "Skipped"}) {
    const std::string asked =
        std::string("SELECT id FROM task_instances WHERE state = '") + state + "';";
    EXPECT_THAT(ask("EXPLAIN QUERY PLAN " + asked),
                HasSubstr("USING INDEX idx_tasks_state (state=?)"))
        << state;
  }
}

TEST_F(SeedQueries, V06_WorkerStatusTellsTheTrueAgeOfHeartbeats) {
  ask("UPDATE workers SET last_heartbeat = strftime('%Y-%m-%d %H:%M:%f', 'now', '-90 seconds')"
      "|| '000' WHERE id = 'worker_1';");
  const std::string said = ask(query("worker_ages"));
  EXPECT_THAT(said, ContainsRegex("worker_1\\|worker_1-name\\|IDLE\\|[^|]*\\|(90|91|92)\\|"));
  EXPECT_THAT(said, HasSubstr("worker_3|worker_3-name|REGISTERING|||"));
}

TEST_F(SeedQueries, V06_OrphanedPartitionsAreFoundByMilliseconds) {
  Commit commit = next();
  const auto lease = [](std::uint32_t partition, Instant until) {
    return PartitionLeaseRow{{"orders", partition}, AgentId("a1"), Epoch{7}, until};
  };
  const Instant far{4'000'000'000'000'000};  // the year 2096
  commit.rows.leases = {lease(0, kT0 + millis(250)), lease(1, far)};
  ASSERT_TRUE(bed.writer().commit(commit));
  EXPECT_EQ(ask(query("orphaned_partitions")), "orders|0|a1|1771800000250\n");
}

TEST_F(SeedQueries, V06_LiveAgentsAreThoseHeardWithinAMinute) {
  EXPECT_EQ(ask(query("live_agents")), "") << "all of them were heard long ago";
  ask("UPDATE workers SET last_heartbeat = strftime('%Y-%m-%d %H:%M:%f', 'now') || '000' "
      "WHERE id IN ('worker_1', 'worker_2');");
  const std::string said = ask(query("live_agents"));
  EXPECT_THAT(said, HasSubstr("worker_1|"));
  EXPECT_THAT(said, Not(HasSubstr("worker_2|"))) << "it is OFFLINE";
}

TEST_F(SeedQueries, V06_RecoveryLogHasTheColumnsOfTheSeed) {
  Commit commit = next();
  commit.rows.recoveries.push_back({.id = {1},
                                    .worker = WorkerId{"worker_2"},
                                    .incarnation = {1},
                                    .evidence = Evidence::kSilence,
                                    .num_tasks = 3,
                                    .at = kT0});
  ASSERT_TRUE(bed.writer().commit(commit));
  EXPECT_EQ(ask("SELECT worker_id, num_tasks, timestamp FROM recovery_log;"),
            "worker_2|3|2026-02-22 22:40:00.000000\n");
}

}  // namespace
}  // namespace vortex::store::testing
