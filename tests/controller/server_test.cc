// A whole controller over real HTTP and a real database.

#include "tests/controller/server.h"

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/clock.h"

namespace vortex::controller {
namespace {

constexpr const char* kOneTask = R"({"a":{"run":["true"]}})";

std::string state_of(TestServer& server, const std::string& target) {
  const auto answer = server.get(target);
  const auto* state =
      answer.body.is_object() ? answer.body.as_object().if_contains("state") : nullptr;
  return state != nullptr ? std::string(state->as_string()) : answer.text;
}

std::string read_file(const std::string& path) {
  const std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(Server, ARunGoesFromSubmitToCompleted) {
  TestServer server;
  TestWorker worker(server, "w1");
  const std::string run =
      server.submit(R"({"a":{"run":["true"]},"b":{"run":["true"],"needs":["a"]}})");
  for (int i = 0; i < 2; ++i) {
    const auto given = worker.take();
    worker.report(given, "started");
    worker.report(given, "completed", R"(,"outputs":{"n":1})");
  }
  EXPECT_EQ(state_of(server, "/api/runs/" + run), "Completed");
}

TEST(Server, WhatWasAcknowledgedIsThereAfterARestart) {
  TestServer server;
  const std::string run = server.submit(kOneTask, "key-1");
  server.again();
  EXPECT_EQ(server.submit(kOneTask, "key-1"), run) << "the key is remembered";
  TestWorker worker(server, "w1");
  const auto given = worker.take();
  worker.report(given, "completed");
  EXPECT_EQ(state_of(server, "/api/runs/" + run), "Completed");
}

std::size_t audited(TestServer& server, const std::string& query) {
  const auto answer = server.get("/api/audit?limit=1000&" + query);
  EXPECT_EQ(answer.status, 200) << answer.text;
  return answer.status == 200 ? answer.body.at("entries").as_array().size() : 0;
}

TEST(Server, AuditLogIsThereAfterARestart) {
  TestServer server;
  const std::string run = server.submit(kOneTask);
  server.post("/api/queues/default/pause");
  // Waits to be counted when the controller stops.
  for (int i = 0; i < 50; ++i) server.post("/api/workers/nobody/cordon");
  server.again();
  EXPECT_EQ(audited(server, "what=" + run), 1U);
  EXPECT_EQ(audited(server, "what=pause_queue&outcome=ok"), 1U);
  EXPECT_EQ(audited(server, "what=cordon_worker&outcome=failed"), 21U) << "20 and the rest";
  EXPECT_EQ(audited(server, "who=127.0.0.1"), 23U);
}

TEST(Server, TheLastEventIsKnownAfterARestart) {
  TestServer server;
  for (int i = 0; i < 3; ++i) server.submit(kOneTask);
  const auto last = [&] {
    return server.get("/api/events?limit=1").body.at("last_seq").to_number<std::int64_t>();
  };
  const std::int64_t before = last();
  ASSERT_GT(before, 1);
  server.again();
  EXPECT_GE(last(), before);
}

TEST(Server, V04_AResultThatComesAfterARestartCounts) {
  TestServer server;
  const std::string run = server.submit(kOneTask);
  TestWorker worker(server, "w1");
  const auto given = worker.take();
  worker.report(given, "started");
  server.again();
  worker.report(given, "completed");
  EXPECT_EQ(worker.last_status(), 200);
  EXPECT_EQ(state_of(server, "/api/runs/" + run), "Completed");
}

TEST(Server, AFailedTaskOfAFinishedRunCanBeRetried) {
  TestServer server;
  TestWorker worker(server, "w1");
  const std::string run = server.submit(R"({"a":{"run":["false"],"retry":{"max":0}}})");
  const auto given = worker.take();
  worker.report(given, "started");
  worker.report(given, "failed", R"(,"cause":"exit_code","code":3,"message":"boom")");
  ASSERT_EQ(state_of(server, "/api/runs/" + run), "Failed");
  const auto retried = server.post("/api/tasks/" + given.task + "/retry");
  EXPECT_LT(retried.status, 300) << retried.text;
  const auto again = worker.take();
  EXPECT_EQ(again.task, given.task);
  EXPECT_GT(again.epoch, given.epoch);
  worker.report(again, "completed");
  EXPECT_EQ(state_of(server, "/api/runs/" + run), "Completed");
}

TEST(Server, M06_TheMonitorLogTellsWhatHappenedAndIsGreppable) {
  TestServer server;
  TestWorker worker(server, "w1");
  server.submit(kOneTask);
  const auto given = worker.take();
  worker.report(given, "started");
  worker.report(given, "completed");
  server.stop();
  const std::string log = read_file(server.folder() + "/monitor.log");
  for (const char* event : {"run_submitted", "task_claimed", "task_started", "task_complete"}) {
    EXPECT_TRUE(log.contains(fmt::format("\"event\":\"{}\"", event))) << event << " in\n" << log;
  }
  EXPECT_TRUE(log.contains("\"worker_id\":\"w1\""));
  EXPECT_TRUE(log.contains("\"task_id\":\"" + given.task + "\""));
  server.start();
}

TEST(Server, LogsAreKeptOnceAndStaleOnesRefused) {
  TestServer server;
  TestWorker worker(server, "w1");
  server.submit(kOneTask);
  const auto given = worker.take();
  worker.report(given, "started");
  const std::string logs = "/api/tasks/" + given.task + "/logs";
  net::Headers plain = worker.headers();
  plain.emplace_back("Content-Type", "application/octet-stream");
  const auto write = [&](std::int64_t epoch, int offset, const std::string& data) {
    return server.post(fmt::format("{}?epoch={}&offset={}", logs, epoch, offset), data, plain)
        .status;
  };
  EXPECT_LT(write(given.epoch, 0, "hello "), 300);
  EXPECT_LT(write(given.epoch, 0, "hello "), 300)
      << "a repeated piece is taken and changes nothing";
  EXPECT_LT(write(given.epoch, 6, "world\n"), 300);
  EXPECT_EQ(write(given.epoch + 1, 12, "zombie"), 409);
  EXPECT_EQ(server.get(logs).text, "hello world\n");
}

TEST(Server, TheParkedCallIsAnsweredWhenWorkArrives) {
  TestServer server;
  TestWorker worker(server, "w1");
  worker.sync();
  std::thread waiter([&worker] {
    const auto reply = worker.sync("[]", "[]", 400);
    EXPECT_TRUE(reply.contains("assignments"));
  });
  server.submit(kOneTask);
  waiter.join();
}

TEST(Server, S04_HealthTellsThatItLeads) {
  TestServer server;
  const auto answer = server.get("/health");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body.at("status").as_string(), "healthy");
}

TEST(Server, A08_MetricsCountWhatWasCommitted) {
  TestServer server;
  TestWorker worker(server, "w1");
  server.submit(kOneTask);
  const auto given = worker.take();
  worker.report(given, "started");
  worker.report(given, "completed");
  const std::string text = server.get("/metrics").text;
  EXPECT_TRUE(
      text.contains("vortex_tasks_finished_total{outcome=\"Completed\",queue=\"default\"} 1") ||
      text.contains("vortex_tasks_finished_total{queue=\"default\",outcome=\"Completed\"} 1"))
      << text;
  EXPECT_TRUE(text.contains("vortex_leader 1"));
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(Server, A08_MetricsListEveryWorkerAndEveryLease) {
  TestServer server;
  TestWorker worker(server, "w1");
  server.stop();
  const std::string many =
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2500) ";
  const std::string columns =
      "name, last_heartbeat, created_at, incarnation, suspect, cordoned, times_lost, machine, "
      "zone, "
      "worker_group, address, version, metadata, slots, abilities";
  const std::string sql = many + "INSERT INTO workers (id, state, " + columns +
                          ") SELECT 'x' || i, 'INACTIVE', " + columns + " FROM workers, n; " +
                          many + "INSERT INTO partition_leases SELECT 't', i, 'a', 1, NULL FROM n;";
  ASSERT_EQ(std::system(("sqlite3 '" + server.database() + "' \"" + sql + "\"").c_str()), 0);
  server.start();
  const std::string text = server.get("/metrics").text;
  EXPECT_EQ(count_of(text, "\nvortex_worker_up{"), 2501U);
  EXPECT_EQ(count_of(text, "\nvortex_lease_epoch{"), 2500U);
  EXPECT_TRUE(text.contains("\nvortex_partitions 2500\n"));
}

TEST(Server, A08_MetricsTellHowLateAndHowLongAndWhatWasDisrupted) {
  TestServer server;
  TestWorker worker(server, "w1");
  server.submit(R"({"a": {"run": ["true"], "timeout": "1ms", "retry": {"max": 0}},
                    "b": {"run": ["true"]}})");
  const auto late = worker.take();
  worker.report(late, "started");
  worker.report(late, "timed_out");
  const auto given = worker.take();
  worker.report(given, "started");
  server.post("/api/workers/w1/exited", R"({"incarnation": )" + worker.incarnation() + "}",
              worker.headers());
  const std::string text = server.get("/metrics").text;
  EXPECT_TRUE(text.contains("vortex_task_timeout_lateness_seconds_count{clock=\"execution\"} 1"))
      << text;
  EXPECT_TRUE(text.contains("vortex_worker_heartbeat_gap_seconds_count{became=\"offline\"} 1"))
      << text;
  EXPECT_TRUE(text.contains("vortex_tasks_disrupted_total{cause=\"worker_restart\"} 1")) << text;
}

// A pass that finds nothing writes nothing: that must not hide it.
TEST(Server, M02_ThePassOverAllWorkersIsMeasured) {
  TestServer server;
  const auto counted = [&] {
    const std::string text = server.get("/metrics").text;
    const std::string name = "vortex_health_pass_seconds_count ";
    const auto at = text.find("\n" + name);
    return at != std::string::npos && text[at + 1 + name.size()] != '0';
  };
  const Instant until = boot_clock_now() + seconds(30);
  while (!counted() && boot_clock_now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_TRUE(counted());
}

TEST(Server, ASecondControllerOnTheSameFileIsRefused) {
  TestServer server;
  store::SqliteOptions open;
  open.path = server.database();
  const auto second = store::open_sqlite(open);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().fault, store::Fault::kLocked);
}

}  // namespace
}  // namespace vortex::controller
