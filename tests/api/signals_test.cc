// Signals and approvals over HTTP: what is taken, what is refused, and what a repeat is answered.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/secrets.h"
#include "tests/api/client.h"
#include "tests/api/steps.h"

namespace vortex::api {
namespace {

using ::testing::HasSubstr;

constexpr const char* kDag =
    R"({"name":"d","tasks":{"go":{"wait":{"signal":"release"}},)"
    R"("ok":{"wait":{"approval":"Deploy?","by":["operator"],"timeout":"1h"}}}})";

TEST(Signals, ASignalBecomesTheOutputsOfTheTaskThatTakesIt) {
  Client client;
  const std::string run = submit(client, kDag);
  const std::string path = "/api/runs/" + run + "/signals/release";
  const net::Headers key{{"Idempotency-Key", "k"}};
  const Answer sent = client.post(path, R"({"data":{"version":"1.2"}})", key);
  ASSERT_EQ(sent.status, 200) << sent.body;
  EXPECT_EQ(sent.number("/number"), 1);
  EXPECT_EQ(sent.number("/taken_by"), 0);
  EXPECT_EQ(client.get("/api/tasks/" + run + "-L0-0").text("/outputs/version"), "1.2");
  const Answer again = client.post(path, R"({"data":{"version":"1.2"}})", key);
  EXPECT_EQ(again.status, 200);
  EXPECT_EQ(again.number("/number"), 1);
  EXPECT_EQ(client.post(path, R"({"data":{}})", key).code(), "VX-RUN-004");
  EXPECT_EQ(client.post(path).code(), "VX-STATE-001");
  EXPECT_EQ(client.get("/api/runs/" + run + "/signals").at("/signals").as_array().size(), 1U);
}

TEST(Signals, ThoseThatNobodyWaitsForAreRefusedWithNearNames) {
  Client client;
  const std::string run = submit(client, kDag);
  const Answer unknown = client.post("/api/runs/" + run + "/signals/relase");
  EXPECT_EQ(unknown.code(), "VX-WAIT-001");
  EXPECT_THAT(unknown.text("/detail"), HasSubstr("did you mean 'release'?"));
  EXPECT_EQ(client.post("/api/runs/r99/signals/release").code(), "VX-RUN-001");
  const std::string path = "/api/runs/" + run + "/signals/release";
  EXPECT_EQ(client.post(path, R"({"data":[1]})").code(), "VX-REQ-002");
  EXPECT_EQ(client.post(path, R"({"dat":{}})").code(), "VX-REQ-002");
}

TEST(Approvals, AreListedAnsweredOnceAndRememberedWhenTheRunHasEnded) {
  Client client;
  const std::string run = submit(client, kDag);
  client.post("/api/runs/" + run + "/signals/release");
  const Answer open = client.get("/api/approvals");
  EXPECT_EQ(open.text("/approvals/0/question"), "Deploy?");
  EXPECT_EQ(open.text("/approvals/0/node"), "ok");
  EXPECT_EQ(open.text("/approvals/0/by/0"), "operator");
  const std::string task = "/api/tasks/" + open.text("/approvals/0/task");
  const Answer why = client.get("/api/runs/" + run + "/explain");
  EXPECT_THAT(why.text("/standstills/0/obstacles/0/what"), HasSubstr("approval \"Deploy?\""));
  const Answer yes = client.post(task + "/approve", R"({"comment":"fine","data":{"n":7}})");
  ASSERT_EQ(yes.status, 200) << yes.body;
  EXPECT_EQ(yes.text("/kind"), "approved");
  EXPECT_EQ(client.get("/api/runs/" + run).text("/state"), "Completed");
  EXPECT_TRUE(client.get("/api/approvals").at("/approvals").as_array().empty());
  const Answer done = client.get(task);
  EXPECT_TRUE(done.at("/outputs/approved").as_bool());
  EXPECT_EQ(done.text("/outputs/comment"), "fine");
  EXPECT_EQ(done.number("/outputs/n"), 7);
  EXPECT_EQ(client.post(task + "/approve").status, 200);
  EXPECT_EQ(client.post(task + "/reject", R"({"reason":"late"})").code(), "VX-RUN-002");
}

TEST(Approvals, ARejectionFailsTheTaskAndSaysWhy) {
  Client client;
  const std::string run = submit(client, kDag);
  const std::string task = "/api/tasks/" + run + "-L0-1";
  EXPECT_EQ(client.post(task + "/reject").code(), "VX-REQ-001");
  EXPECT_EQ(client.post(task + "/reject", "{}").code(), "VX-REQ-002");
  EXPECT_EQ(client.post(task + "/reject", R"({"reason":"tests are red"})").status, 200);
  EXPECT_THAT(client.get(task).text("/error_message"), HasSubstr("tests are red"));
  EXPECT_EQ(client.post(task + "/approve").code(), "VX-STATE-001");
}

TEST(Approvals, WhatTheControllerSaysItselfCannotBeInTheData) {
  Client client;
  const std::string run = submit(client, kDag);
  const Answer wrong =
      client.post("/api/tasks/" + run + "-L0-1/approve", R"({"data":{"approved":false}})");
  EXPECT_EQ(wrong.code(), "VX-REQ-002");
  EXPECT_THAT(wrong.body, HasSubstr("set by the controller"));
  EXPECT_THAT(client.post("/api/tasks/" + run + "-L0-0/approve").text("/detail"),
              HasSubstr("does not ask for an approval"));
}

TEST(Approvals, OnlyRolesThatTheDagNamesMayAnswer) {
  AccessPolicy policy;
  policy.mode = AccessPolicy::Mode::kTokens;
  for (const Role role : {Role::kSubmitter, Role::kOperator, Role::kAdmin}) {
    const std::string name(to_text(role));
    policy.fixed.push_back({name, role, hash_token("secret-" + name), {}, false});
  }
  Client client(policy);
  client.token = "secret-submitter";
  const std::string run = submit(client, kDag);
  const std::string path = "/api/tasks/" + run + "-L0-1/approve";
  const Answer refused = client.post(path);
  EXPECT_EQ(refused.code(), "VX-WAIT-002");
  EXPECT_THAT(refused.text("/detail"), HasSubstr("operator or admin"));
  client.token = "secret-operator";
  const Answer yes = client.post(path);
  EXPECT_EQ(yes.status, 200) << yes.body;
  EXPECT_EQ(yes.text("/sent_by"), "operator");
  EXPECT_EQ(client.get("/api/tasks/" + run + "-L0-1").text("/outputs/by"), "operator");
}

}  // namespace
}  // namespace vortex::api
