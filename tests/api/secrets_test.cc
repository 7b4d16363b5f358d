// Secrets as callers and workers see them: what is set is handed to those who may have it, and to
// nobody else.
#include <memory>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codec/text.h"
#include "tests/api/client.h"
#include "tests/api/steps.h"

namespace vortex::api {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kPath = "/api/secrets/db%2Fpassword";

vault::KeyPtr some_key() {
  return std::make_shared<const vault::MasterKey>(vault::MasterKey::make());
}

std::string base64(std::string_view bytes) {
  std::string text;
  codec::append_base64(text, bytes);
  return text;
}

class Secrets : public testing::Test {
 protected:
  Secrets() { client.desk.vault().use(key, nullptr); }

  Answer set(const std::string& value, const std::string& more = {}) {
    return client.put(kPath, fmt::format(R"({{"value":"{}"{}}})", value, more));
  }
  // A run of one task that wants this of the vault.
  std::string submit_with(const std::string& secrets, const std::string& more = {}) {
    return submit(client, fmt::format(R"({{"name":"etl","tasks":{{"load":{{"run":["true"],)"
                                      R"("retry":{{"max":0}},"secrets":{}{}}}}}}})",
                                      secrets, more));
  }
  // The message of the attempt that was not handed out.
  std::string refusal(const std::string& secrets, const std::string& more = {}) {
    const std::string run = submit_with(secrets, more);
    Worker worker = join(client, fmt::format("w{}", ++workers_));
    EXPECT_THAT(sync(client, worker).body, Not(HasSubstr("assignments")));
    const Answer task = client.get("/api/tasks?run=" + run);
    EXPECT_EQ(task.text("/tasks/0/state"), "Failed");
    client.post(fmt::format("/api/workers/w{}/reset-state", workers_));
    return task.text("/tasks/0/error_message");
  }
  std::string events() { return client.get("/api/events?limit=1000").body; }

  vault::KeyPtr key = some_key();
  Client client;

 private:
  int workers_ = 0;
};

TEST_F(Secrets, V16_AValueIsSealedVersionedAndNeverShown) {
  ASSERT_EQ(set("hunter2-old").status, 200);
  const Answer second = set("hunter2-new", R"(,"dag":"etl","labels":{"env":"prod"})");
  EXPECT_EQ(second.number("/latest"), 2);
  EXPECT_EQ(second.text("/dag"), "etl");
  for (const char* path : {"/api/secrets", kPath, "/api/secrets/db%2Fpassword/versions",
                           "/api/master-key", "/api/events", "/api/settings", "/metrics"}) {
    const std::string body = client.get(path).body;
    EXPECT_THAT(body, Not(HasSubstr("hunter2"))) << path;
    EXPECT_THAT(body, Not(HasSubstr(base64("hunter2-new")))) << path;
  }
  EXPECT_EQ(client.get("/api/secrets/db%2Fpassword/versions").at("/versions").as_array().size(),
            2U);
  EXPECT_THAT(events(), HasSubstr("secret_changed"));
}

TEST_F(Secrets, V16_ANewVersionKeepsTheScopeUnlessAnotherIsGiven) {
  set("one-value", R"(,"dag":"etl","queue":"fast")");
  EXPECT_EQ(set("two-value").text("/dag"), "etl");
  const Answer rotated = client.post("/api/secrets/db%2Fpassword/rotate", R"({"value":"three"})");
  EXPECT_EQ(rotated.number("/latest"), 3);
  EXPECT_EQ(rotated.text("/queue"), "fast");
  EXPECT_TRUE(set("four-value", R"(,"dag":"")").at("/dag").is_null());
  EXPECT_EQ(client.post("/api/secrets/none/rotate", R"({"value":"x"})").code(), "VX-SECRET-001");
}

TEST_F(Secrets, V16_NumbersOfVersionsAreNotUsedAgain) {
  set("one-value");
  set("two-value");
  EXPECT_EQ(client.erase("/api/secrets/db%2Fpassword?version=2").code(), "VX-STATE-001");
  EXPECT_EQ(client.erase("/api/secrets/db%2Fpassword?version=1").status, 204);
  EXPECT_EQ(client.erase("/api/secrets/db%2Fpassword?version=1").code(), "VX-SECRET-001");
  EXPECT_EQ(client.erase(kPath).status, 204);
  EXPECT_EQ(client.get(kPath).code(), "VX-SECRET-001");
  EXPECT_EQ(client.get("/api/secrets").at("/secrets").as_array().size(), 0U);
  EXPECT_EQ(set("three").number("/latest"), 3);
}

TEST_F(Secrets, V16_OnlySoManyVersionsAreKept) {
  for (int i = 0; i < 25; ++i) set(fmt::format("value-{}", i));
  const Answer versions = client.get("/api/secrets/db%2Fpassword/versions");
  EXPECT_EQ(versions.at("/versions").as_array().size(), 20U);
  EXPECT_EQ(versions.number("/versions/0/version"), 6);
}

TEST_F(Secrets, V16_BadBodiesChangeNothingAndShowNoValue) {
  for (const char* body :
       {R"({})", R"({"value":""})", R"({"value":7777})", R"({"value":"a","value_base64":"YQ=="})",
        R"({"value_base64":"hunter2!"})", R"({"valeu":"hunter2"})", R"({"value":"x","dag":"a b"})",
        R"({"value":"x","labels":["a"]})"}) {
    const Answer answer = client.put(kPath, body);
    EXPECT_EQ(answer.status, 422) << body;
    EXPECT_THAT(answer.body, Not(HasSubstr("hunter2"))) << body;
    EXPECT_THAT(answer.body, Not(HasSubstr("7777"))) << body;
  }
  EXPECT_EQ(set(std::string(64 * 1024 + 1, 'x')).status, 422);
  EXPECT_EQ(client.put("/api/secrets/Upper", R"({"value":"abcd"})").status, 422);
  EXPECT_EQ(client.get("/api/secrets").at("/secrets").as_array().size(), 0U);
  EXPECT_EQ(set(std::string(64 * 1024, 'x')).status, 200);
}

TEST_F(Secrets, V16_WithoutAMasterKeyEverythingWorksButSecrets) {
  client.desk.vault().use(nullptr, nullptr);
  EXPECT_EQ(set("hunter2").code(), "VX-SECRET-002");
  EXPECT_FALSE(client.get("/api/master-key").at("/configured").as_bool());
  Worker worker = join(client, "plain");
  submit(client, one_task_dag());
  take(client, worker);
}

TEST_F(Secrets, V16_AnAssignmentCarriesTheValueAndTheUseIsInTheLog) {
  set("hunter2-value", R"(,"dag":"etl")");
  submit_with(R"({"DB":"db/password","files":{"pw":"db/password@1"}})");
  Worker worker = join(client, "w");
  const Answer answer = sync(client, worker);
  EXPECT_EQ(answer.text("/assignments/0/secrets/0/env"), "DB");
  EXPECT_EQ(answer.text("/assignments/0/secrets/0/value_base64"), base64("hunter2-value"));
  EXPECT_EQ(answer.text("/assignments/0/secrets/1/file"), "pw");
  EXPECT_EQ(answer.header("Cache-Control"), "no-store");
  const std::string log = events();
  EXPECT_THAT(log, HasSubstr("secret_used"));
  EXPECT_THAT(log, HasSubstr(R"("secret":"db/password","version":1,"as":"DB")"));
  EXPECT_THAT(log, Not(HasSubstr("hunter2")));
}

TEST_F(Secrets, V16_AnUnpinnedUseGetsTheLatestVersion) {
  set("first-value");
  set("second-value");
  submit_with(R"({"NEW":"db/password","OLD":"db/password@1"})");
  Worker worker = join(client, "w");
  const Answer answer = sync(client, worker);
  EXPECT_EQ(answer.text("/assignments/0/secrets/0/value_base64"), base64("second-value"));
  EXPECT_EQ(answer.text("/assignments/0/secrets/1/value_base64"), base64("first-value"));
}

TEST_F(Secrets, V16_WhatCannotBeHadEndsTheAttemptWithWhatToDo) {
  EXPECT_THAT(refusal(R"({"DB":"db/password"})"), HasSubstr("`vortex secrets set db/password`"));
  set("hunter2-value", R"(,"dag":"other")");
  EXPECT_THAT(refusal(R"({"DB":"db/password"})"), HasSubstr("only for DAG 'other'"));
  set("hunter2-value", R"(,"dag":"","queue":"fast")");
  EXPECT_THAT(refusal(R"({"DB":"db/password"})"), HasSubstr("only for queue 'fast'"));
  set("hunter2-value", R"(,"queue":"","labels":{"env":"prod"})");
  EXPECT_THAT(refusal(R"({"DB":"db/password"})"), HasSubstr("the label env=prod"));
  set("hunter2-value", R"(,"labels":{})");
  EXPECT_THAT(refusal(R"({"DB":"db/password@9"})"), HasSubstr("it has no version 9"));
  client.put(kPath, R"({"value_base64":"YQBiYWJi"})");
  EXPECT_THAT(refusal(R"({"DB":"db/password"})"), HasSubstr("contains a zero byte"));
  set("hunter2-value");
  client.desk.vault().use(some_key(), nullptr);
  EXPECT_THAT(refusal(R"({"DB":"db/password"})"), HasSubstr("previous_master_key_file"));
  client.desk.vault().use(nullptr, nullptr);
  EXPECT_THAT(refusal(R"({"DB":"db/password"})"), HasSubstr("no master key"));
}

TEST_F(Secrets, V16_NothingIsHandedOverOrAcceptedInClearFromElsewhere) {
  set("hunter2-value");
  const std::string run = submit_with(R"({"DB":"db/password"})");
  Worker worker = join(client, "w");
  const auto from = [&](const char* peer, bool encrypted) {
    net::Request request =
        make_request("POST", "/api/workers/w/sync",
                     fmt::format(R"({{"incarnation":{},"seq":{},"slots":1,"wait_ms":0,"held":[]}})",
                                 worker.incarnation, ++worker.seq),
                     {{"Content-Type", "application/json"}});
    request.peer = peer;
    request.encrypted = encrypted;
    return client.send(std::move(request)).body;
  };
  EXPECT_THAT(from("10.1.2.3:5000", false), Not(HasSubstr(base64("hunter2-value"))));
  const Answer task = client.get("/api/tasks?run=" + run);
  EXPECT_THAT(task.text("/tasks/0/error_message"), HasSubstr("10.1.2.3 without TLS"));
  submit_with(R"({"DB":"db/password"})");
  EXPECT_THAT(from("10.1.2.3:5000", true), HasSubstr(base64("hunter2-value")));
  net::Request request =
      make_request("PUT", kPath, R"({"value":"x"})", {{"Content-Type", "application/json"}});
  request.peer = "10.1.2.3:5000";
  EXPECT_EQ(client.send(std::move(request)).code(), "VX-SECRET-004");
}

TEST_F(Secrets, V16_AnotherMasterKeySealsEverythingAgain) {
  set("hunter2-value");
  client.post("/api/webhooks", R"({"name":"ci","url":"http://ci/"})");
  const vault::KeyPtr fresh = some_key();
  const std::string body = fmt::format(R"({{"key":"{}"}})", fresh->text().view());
  const Answer rotated = client.post("/api/master-key/rotate", body);
  ASSERT_EQ(rotated.status, 200) << rotated.body;
  EXPECT_EQ(rotated.number("/versions"), 1);
  EXPECT_EQ(rotated.number("/webhooks"), 1);
  EXPECT_EQ(rotated.text("/key_id"), fresh->id());
  client.desk.vault().use(fresh, nullptr);
  EXPECT_EQ(client.get("/api/master-key").number("/other_keys"), 0);
  submit_with(R"({"DB":"db/password"})");
  Worker worker = join(client, "w");
  EXPECT_THAT(sync(client, worker).body, HasSubstr(base64("hunter2-value")));
  EXPECT_EQ(client.post("/api/master-key/rotate", body).number("/versions"), 0)
      << "nothing is left";
  EXPECT_EQ(client.post("/api/master-key/rotate", R"({"key":"hunter2"})").status, 422);
}

// The store fails after some of the versions: both keys are needed, and the rest follows later.
TEST_F(Secrets, V16_ARotationThatWasInterruptedGoesOn) {
  for (int i = 0; i < 5; ++i) set(fmt::format("value-{}", i));
  const vault::KeyPtr fresh = some_key();
  client.desk.keys = {fresh, key, "a file"};
  client.desk.writes_left = 2;
  EXPECT_EQ(client.post("/api/master-key/rotate", "{}").status, 503);
  client.desk.writes_left.reset();
  // As after a crash: the old key alone is not enough any more, both together are.
  client.desk.vault().use(key, nullptr);
  EXPECT_EQ(client.get("/api/master-key").number("/other_keys"), 1);
  EXPECT_EQ(client
                .post("/api/master-key/rotate",
                      fmt::format(R"({{"key":"{}"}})", some_key()->text().view()))
                .code(),
            "VX-SECRET-003");
  client.desk.vault().use(fresh, key);
  EXPECT_EQ(client.post("/api/master-key/rotate", "{}").number("/versions"), 3);
  client.desk.vault().use(fresh, nullptr);
  submit_with(R"({"A":"db/password@1","B":"db/password@5"})");
  Worker worker = join(client, "w");
  EXPECT_THAT(sync(client, worker).body, HasSubstr(base64("value-4")));
}

TEST_F(Secrets, V16_TheSecretOfAWebhookIsSealedAndShownOnce) {
  const Answer made = client.post("/api/webhooks", R"({"name":"ci","url":"http://ci/"})");
  ASSERT_TRUE(made.text("/secret").starts_with("whsec_"));
  EXPECT_EQ(client.get("/api/master-key").number("/plain_webhooks"), 0);
  client.desk.vault().use(nullptr, nullptr);
  client.post("/api/webhooks", R"({"name":"old","url":"http://ci/"})");
  EXPECT_EQ(client.get("/api/master-key").number("/plain_webhooks"), 1);
  client.desk.vault().use(key, nullptr);
  EXPECT_EQ(
      client.post("/api/master-key/rotate", fmt::format(R"({{"key":"{}"}})", key->text().view()))
          .number("/webhooks"),
      1);
  EXPECT_EQ(client.get("/api/master-key").number("/plain_webhooks"), 0);
}

}  // namespace
}  // namespace vortex::api
