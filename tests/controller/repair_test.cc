// A whole controller on a database that somebody bent: what is wrong is found, repaired or named,
// and the rest goes on.

#include <cstdio>
#include <fstream>
#include <sstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/controller/server.h"

namespace vortex::controller {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kTwoTasks = R"({"a":{"run":["true"]},"b":{"run":["true"],"needs":["a"]}})";

std::string sqlite(const TestServer& server, const std::string& sql) {
  const std::string script = server.folder() + "/script.sql";
  std::ofstream(script) << sql;
  std::FILE* pipe = ::popen(
      fmt::format("sqlite3 -batch -cmd '.timeout 5000' '{}' < '{}' 2>&1", server.database(), script)
          .c_str(),
      "r");
  std::string said;
  char buffer[512];
  for (std::size_t got = 0; (got = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) {
    said.append(buffer, got);
  }
  ::pclose(pipe);
  return said;
}

std::string text_of(TestServer& server, const std::string& target) {
  return server.get(target).text;
}

std::string monitor_log(const TestServer& server) {
  const std::ifstream file(server.folder() + "/monitor.log");
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Stops the controller, bends the database, starts it again.
void bend(TestServer& server, const std::string& sql) {
  server.stop();
  ASSERT_EQ(sqlite(server, sql), "");
  server.start();
}

TEST(Repair, CountsThatWereBentAreSetRightAndNeverGoBelowZero) {
  TestServer server;
  TestWorker worker(server, "w1");
  const std::string run = server.submit(kTwoTasks);
  const auto given = worker.take();
  worker.report(given, "started");
  bend(server, "UPDATE runs SET running = 5;");
  worker.report(given, "completed");
  worker.report(worker.take(), "completed");
  ASSERT_TRUE(server.eventually("/api/runs/" + run, "state", "Completed"));
  const auto status = server.get("/api/status");
  EXPECT_EQ(status.body.at("tasks").at("Running").to_number<std::int64_t>(), 0) << status.text;
  EXPECT_EQ(status.body.at("tasks").at("Completed").to_number<std::int64_t>(), 2);
  EXPECT_THAT(text_of(server, "/metrics"), HasSubstr("vortex_tasks{state=\"Running\"} 0\n"));
}

TEST(Repair, M04_RepairsAtLoadReachTheMonitorLogTheEventsAndTheMetrics) {
  TestServer server;
  server.submit(kTwoTasks);
  bend(server, "UPDATE runs SET levels_passed = 1; UPDATE runs SET state = 'Completed';");
  EXPECT_THAT(monitor_log(server), HasSubstr("level was marked done with open tasks"));
  EXPECT_THAT(monitor_log(server), HasSubstr("run was marked ended with open tasks"));
  EXPECT_THAT(text_of(server, "/api/events?limit=1000"), HasSubstr("state_reconcile_fix"));
  EXPECT_THAT(text_of(server, "/metrics"), HasSubstr("vortex_reconcile_repairs_total 2"));
  EXPECT_TRUE(server.logged(LogLevel::kWarn, "repaired: r1: run was marked ended with open tasks"));
}

TEST(Repair, ARowThatCannotBeReadIsNamedAndEverythingElseGoesOn) {
  TestServer server;
  const std::string damaged = server.submit(kTwoTasks);
  const std::string sound = server.submit(kTwoTasks);
  bend(server,
       fmt::format("UPDATE task_instances SET state = 'Bogus' WHERE id = '{}-L0-0';", damaged));
  const auto health = server.get("/health");
  EXPECT_EQ(health.status, 200) << health.text;
  ASSERT_EQ(health.body.at("damaged").as_array().size(), 1U) << health.text;
  const auto& row = health.body.at("damaged").as_array().front();
  EXPECT_EQ(row.at("table").as_string(), "task_instances");
  EXPECT_EQ(row.at("row").as_string(), damaged + "-L0-0");
  EXPECT_EQ(row.at("column").as_string(), "state");
  EXPECT_EQ(row.at("run").as_string(), damaged);
  EXPECT_THAT(monitor_log(server), HasSubstr("state_damaged"));
  EXPECT_TRUE(server.logged(LogLevel::kError, damaged + " is set aside"));
  TestWorker worker(server, "w1");
  worker.report(worker.take(), "completed");
  worker.report(worker.take(), "completed");
  EXPECT_TRUE(server.eventually("/api/runs/" + sound, "state", "Completed"));
  // Mended, the run goes on.
  bend(server, "UPDATE task_instances SET state = 'Queued' WHERE state = 'Bogus';");
  EXPECT_EQ(server.get("/health").body.at("damaged").as_array().size(), 0U);
  worker.report(worker.take(), "completed");
  worker.report(worker.take(), "completed");
  EXPECT_TRUE(server.eventually("/api/runs/" + damaged, "state", "Completed"));
}

TEST(Repair, M04_AForcedPassComparesMemoryWithTheDatabase) {
  TestServer server;
  const std::string run = server.submit(kTwoTasks);
  const auto quiet = server.post("/api/reconcile");
  ASSERT_EQ(quiet.status, 200) << quiet.text;
  EXPECT_EQ(quiet.body.at("findings").as_array().size(), 0U) << quiet.text;
  EXPECT_EQ(quiet.body.at("runs").to_number<std::int64_t>(), 1);
  EXPECT_LT(quiet.body.at("took_us").to_number<std::int64_t>(), 100'000) << quiet.text;
  // Somebody edits the live database.
  ASSERT_EQ(sqlite(server, "UPDATE task_instances SET state = 'Cancelled' WHERE id LIKE '%-L1-1';"),
            "");
  const auto found = server.post("/api/reconcile");
  ASSERT_EQ(found.status, 200) << found.text;
  EXPECT_THAT(found.text, HasSubstr(run + "-L1-1: Cancelled in epoch "));
  EXPECT_TRUE(found.body.at("reloaded").as_bool());
  ASSERT_TRUE(server.logged(LogLevel::kInfo, "leading (term 2)"));
  ASSERT_TRUE(server.eventually("/health", "status", "healthy"));
  EXPECT_THAT(text_of(server, "/metrics"), HasSubstr("vortex_reconcile_findings_total 1"));
  const auto after = server.post("/api/reconcile");
  EXPECT_EQ(after.body.at("findings").as_array().size(), 0U) << after.text;
  EXPECT_THAT(monitor_log(server), HasSubstr("-L1-1: Cancelled in epoch "));
}

TEST(Repair, M04_AForcedPassFindsEveryKindOfDifference) {
  const std::pair<const char*, const char*> kinds[] = {
      {"UPDATE task_instances SET epoch = 9 WHERE id LIKE '%-L0-0';",
       "in epoch 9 in the database, Scheduled in epoch 1 in memory"},
      {"UPDATE task_instances SET worker_id = 'w2' WHERE id LIKE '%-L0-0';",
       "-L0-0: on 'w2' in the database, on 'w1' in memory"},
      {"DELETE FROM task_instances WHERE id LIKE '%-L1-1';", "task 1 is not in the database"},
      // Nothing is compared with it, but a row that cannot be read is as good as none.
      {"UPDATE task_instances SET percent = 'much' WHERE id LIKE '%-L1-1';",
       "task 1 is not in the database"},
      {"UPDATE runs SET paused = 1;", "Running and paused in the database, Running in memory"},
      {"UPDATE runs SET levels_passed = 1;", "1 levels passed in the database, 0 in memory"},
      {"UPDATE runs SET queued = 5;", "the counts of tasks by state differ from the database"},
      {"DELETE FROM runs;", "the run is not in the database"},
  };
  for (const auto& [bent, found] : kinds) {
    TestServer server;
    TestWorker worker(server, "w1");
    server.submit(kTwoTasks);
    worker.take();
    ASSERT_EQ(sqlite(server, bent), "");
    const auto answer = server.post("/api/reconcile");
    EXPECT_THAT(answer.text, HasSubstr(found)) << bent;
  }
}

TEST(Repair, ADeletedWorkerIsGoneAndItsOldWordsAreRefused) {
  TestServer server;
  TestWorker worker(server, "w1");
  worker.sync();
  EXPECT_EQ(server.remove("/api/workers/w1").status, 409) << "it is present";
  EXPECT_EQ(server.post("/api/workers/w1/reset-state").status, 200);
  EXPECT_EQ(server.remove("/api/workers/w1").status, 204);
  EXPECT_EQ(server.get("/api/workers/w1").status, 404);
  EXPECT_EQ(sqlite(server, "SELECT count(*) FROM workers; SELECT count(*) FROM machines;"),
            "0\n0\n");
  worker.sync();
  EXPECT_NE(worker.last_status(), 200) << "an old life is refused";
  TestWorker back(server, "w1");
  const std::string run = server.submit(R"({"a":{"run":["true"]}})");
  back.report(back.take(), "completed");
  EXPECT_TRUE(server.eventually("/api/runs/" + run, "state", "Completed"));
}

TEST(Repair, V14_LossesAndLeadershipAreLinesOfTheirOwnAtTheirLevel) {
  TestServer server;
  EXPECT_TRUE(server.logged(LogLevel::kInfo, "leading (term 1)"));
  TestWorker worker(server, "w1");
  server.submit(R"({"a":{"run":["true"]}})");
  worker.report(worker.take(), "started");
  EXPECT_EQ(server.post("/api/workers/w1/reset-state").status, 200);
  EXPECT_TRUE(server.logged(LogLevel::kWarn, "worker w1 lost; 1 task requeued"));
  server.stop();
  ASSERT_EQ(sqlite(server, "DELETE FROM counters;"), "");
  server.start_without_waiting();
  EXPECT_TRUE(server.eventually("/health", "status", "unhealthy"));
  EXPECT_TRUE(server.logged(LogLevel::kError, "loading the state failed: table counters"));
  EXPECT_THAT(text_of(server, "/health"), HasSubstr("table counters"));
  EXPECT_THAT(text_of(server, "/health"), Not(HasSubstr("is not writable")));
}

}  // namespace
}  // namespace vortex::controller
