// The audit log: what is recorded, of whom, and what a flood costs.
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/secrets.h"
#include "tests/api/client.h"
#include "tests/api/steps.h"

namespace vortex::api {
namespace {

using testing::HasSubstr;
using testing::Not;

AccessPolicy with_some_tokens() {
  AccessPolicy policy;
  policy.mode = AccessPolicy::Mode::kTokens;
  for (const auto name : words_of<Role>()) {
    policy.fixed.push_back({fmt::format("{}-token", name),
                            *from_text<Role>(name),
                            hash_token(fmt::format("secret-{}", name)),
                            {},
                            false});
  }
  return policy;
}

class AuditTest : public testing::Test {
 protected:
  AuditTest() { client.token = "secret-admin"; }

  Answer as(const std::string& secret, net::Request request) {
    client.token = secret;
    Answer answer = client.send(std::move(request));
    client.token = "secret-admin";
    return answer;
  }
  // "who operation target status" of each, oldest first.
  std::vector<std::string> entries(const std::string& query = {}) {
    std::vector<std::string> out;
    const Answer answer = client.get("/api/audit?after=0&limit=1000" + query);
    EXPECT_EQ(answer.status, 200);
    const auto text = [](const boost::json::value& value) {
      return value.is_null() ? std::string("-") : std::string(value.as_string());
    };
    for (const auto& entry : answer.at("/entries").as_array()) {
      std::string line =
          fmt::format("{} {} {} {}", text(entry.at("who")), text(entry.at("operation")),
                      text(entry.at("target")), entry.at("status").as_int64());
      if (entry.at("count").as_int64() > 1) {
        line += fmt::format(" x{}", entry.at("count").as_int64());
      }
      out.push_back(std::move(line));
    }
    return out;
  }
  void flush_all() {
    bool done = false;
    boost::asio::co_spawn(client.io, client.api.audit().flush(AuditLog::Which::kAll),
                          [&](const std::exception_ptr&) { done = true; });
    client.until([&] { return done; });
  }

  Client client{with_some_tokens()};
};

TEST_F(AuditTest, SaysWhoDidWhatToWhatWithWhichOutcome) {
  const std::string run = submit(client, one_task_dag());
  client.post(fmt::format("/api/runs/{}/cancel", run));
  client.post("/api/tokens", R"({"name":"t","role":"viewer"})");
  client.erase("/api/tokens/t");
  client.post("/api/workers/nobody/cordon");
  EXPECT_EQ(entries(),
            (std::vector<std::string>{
                fmt::format("admin-token submit_run {} 201", run),
                fmt::format("admin-token cancel_run {} 200", run), "admin-token create_token t 201",
                "admin-token revoke_token t 204", "admin-token cordon_worker nobody 404"}));
}

TEST_F(AuditTest, SaysWhoWasRefused) {
  as("", make_request("GET", "/api/runs"));
  as("wrong", make_request("POST", "/api/runs", "{}"));
  as("secret-viewer", make_request("DELETE", "/api/workers/w1"));
  as("secret-worker", make_request("GET", "/api/audit"));
  EXPECT_EQ(entries(), (std::vector<std::string>{"- list_runs - 401", "- submit_run - 401",
                                                 "viewer-token delete_worker w1 403",
                                                 "worker-token get_audit - 403"}));
  EXPECT_EQ(entries("&outcome=refused&who=viewer-token").size(), 1U);
}

TEST_F(AuditTest, LeavesOutReadsAndTheTrafficOfWorkers) {
  client.get("/api/runs");
  client.post("/api/dags/validate", one_task_dag());
  submit(client, one_task_dag());
  Worker worker = join(client, "w1");
  const Held held = take(client, worker);
  client.send(make_request(
      "POST", fmt::format("/api/tasks/{}/logs?epoch={}&offset=0", held.task, held.epoch), "hello"));
  complete(client, worker, held);
  EXPECT_EQ(entries(), (std::vector<std::string>{"admin-token submit_run r1 201",
                                                 "admin-token register_worker w1 200"}));
}

TEST_F(AuditTest, OnlyAnAdminReadsIt) {
  for (const char* role : {"viewer", "submitter", "operator", "worker"}) {
    EXPECT_EQ(as(fmt::format("secret-{}", role), make_request("GET", "/api/audit")).status, 403);
  }
  EXPECT_EQ(as("", make_request("GET", "/api/audit")).status, 401);
}

TEST_F(AuditTest, HoldsNoSecretAndNoBody) {
  const Answer made = client.post("/api/tokens", R"({"name":"t","role":"viewer"})");
  as("a-wrong-secret", make_request("POST", "/api/runs", R"({"dag":"body-text"})"));
  const std::string all = client.get("/api/audit").body;
  EXPECT_THAT(all, Not(HasSubstr(made.text("/secret"))));
  EXPECT_THAT(all, Not(HasSubstr("a-wrong-secret")));
  EXPECT_THAT(all, Not(HasSubstr("body-text")));
}

TEST_F(AuditTest, FloodOfRefusalsBecomesAFewEntries) {
  for (int i = 0; i < 1'000; ++i) as("wrong", make_request("GET", "/api/runs"));
  EXPECT_EQ(entries().size(), std::size_t{AuditLog::kSingleMax}) << "the minute is not over";
  flush_all();
  const auto all = entries();
  ASSERT_EQ(all.size(), AuditLog::kSingleMax + 1);
  EXPECT_EQ(all.back(), fmt::format("- list_runs - 401 x{}", 1'000 - AuditLog::kSingleMax));
}

TEST_F(AuditTest, FloodOfOneKindHidesNoOther) {
  for (int i = 0; i < 100; ++i) as("wrong", make_request("GET", "/api/runs"));
  as("secret-viewer", make_request("POST", "/api/tokens", "{}"));
  EXPECT_EQ(entries().back(), "viewer-token create_token - 403");
}

TEST_F(AuditTest, LongNamesAreCut) {
  client.erase("/api/dags/" + std::string(3'000, 'x'));
  const Answer answer = client.get("/api/audit");
  EXPECT_EQ(answer.text("/entries/0/target"), std::string(200, 'x'));
}

TEST_F(AuditTest, WhatTheStoreRefusesIsWrittenLaterAndOnce) {
  submit(client, one_task_dag());
  client.desk.unserved = UnservedError{Unserved::kNoStore, "it is away", {}};
  client.post("/api/queues/default/pause");
  EXPECT_TRUE(entries().empty());
  client.desk.unserved.reset();
  EXPECT_EQ(entries(), (std::vector<std::string>{"admin-token submit_run r1 201",
                                                 "admin-token pause_queue default 503"}));
  EXPECT_EQ(entries().size(), 2U);
}

TEST_F(AuditTest, IsReadByPagesNewestFirst) {
  for (int i = 0; i < 5; ++i) submit(client, one_task_dag());
  const Answer first = client.get("/api/audit?limit=3");
  EXPECT_EQ(first.text("/entries/0/target"), "r5");
  const Answer second = client.get("/api/audit?limit=3&cursor=" + first.text("/next_cursor"));
  EXPECT_EQ(second.text("/entries/1/target"), "r1");
  EXPECT_TRUE(second.at("/next_cursor").is_null());
  EXPECT_EQ(client.get("/api/audit?what=r3").at("/entries").as_array().size(), 1U);
  EXPECT_EQ(client.get("/api/audit?since=2999-01-01T00:00:00Z").at("/entries").as_array().size(),
            0U);
  EXPECT_EQ(client.get("/api/audit?since=yesterday").code(), "VX-REQ-003");
  EXPECT_EQ(client.get("/api/audit?outcome=good").status, 400);
}

}  // namespace
}  // namespace vortex::api
