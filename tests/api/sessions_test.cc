// Who a worker is: only the process that registered speaks for it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "api/secrets.h"
#include "tests/api/client.h"
#include "tests/api/steps.h"

namespace vortex::api {
namespace {

AccessPolicy two_workers() {
  AccessPolicy policy;
  policy.mode = AccessPolicy::Mode::kTokens;
  policy.fixed.push_back({"admin", Role::kAdmin, hash_token("admin"), {}, false});
  policy.fixed.push_back({"one", Role::kWorker, hash_token("one"), {}, false});
  policy.fixed.push_back({"two", Role::kWorker, hash_token("two"), {}, false});
  return policy;
}

struct Sessions : ::testing::Test {
  Sessions() : client(two_workers()) {
    client.carries_sessions = false;
    client.token = "admin";
    submit(client, one_task_dag());
    client.token = "one";
    w1 = join(client, "w1");
    held = take(client, w1);
    report(client, w1, held, R"("kind":"started")");
    client.token = "two";
    w2 = join(client, "w2");
  }

  // Without a session, and with one that belongs to another worker.
  void refused(const std::function<Answer(net::Headers)>& send) {
    const Answer without = send({});
    EXPECT_EQ(without.status, 403);
    EXPECT_EQ(without.code(), "VX-WORKER-008") << without.body;
    EXPECT_NE(without.text("/detail").find("older than the controller"), std::string::npos);
    const Answer guessed = send(session_of(w2));
    EXPECT_EQ(guessed.status, 403);
    EXPECT_EQ(guessed.code(), "VX-WORKER-009") << guessed.body;
  }
  std::string body(const std::string& more) const {
    return fmt::format(R"({{"incarnation":{}{}}})", w1.incarnation, more);
  }
  std::string checkpoint(const std::string& what, const std::string& more) const {
    return fmt::format("/api/tasks/{}/checkpoint{}?epoch={}&worker=w1&incarnation={}{}", held.task,
                       what, held.epoch, w1.incarnation, more);
  }

  Client client;
  Worker w1;
  Worker w2;
  Held held;
};

TEST_F(Sessions, NobodyElseSyncsCompletesOrProvesAnything) {
  refused([&](net::Headers h) {
    return client.post("/api/workers/w1/sync", body(R"(,"seq":99,"slots":1,"held":[])"), h);
  });
  refused([&](net::Headers h) {
    return client.post(
        "/api/workers/w1/sync",
        body(fmt::format(R"(,"seq":99,"slots":1,"reports":[{{"task":"{}","epoch":{},)"
                         R"("kind":"completed","outputs":{{"forged":1}}}}])",
                         held.task, held.epoch)),
        h);
  });
  refused([&](net::Headers h) { return client.post("/api/workers/w1/exited", body(""), h); });
  EXPECT_EQ(client.get("/api/workers/w1").text("/state"), "RUNNING");
  EXPECT_EQ(client.get("/api/tasks/" + held.task).text("/state"), "Running");
  client.token = "one";
  report(client, w1, held, R"("kind":"completed","outputs":{"answer":42})");
  EXPECT_EQ(client.get("/api/tasks/" + held.task).number("/outputs/answer"), 42);
  EXPECT_EQ(client.post("/api/workers/w1/exited", body(""), session_of(w1)).status, 204);
}

TEST_F(Sessions, NobodyElseWritesOutputOrCheckpoints) {
  const std::string logs =
      fmt::format("/api/tasks/{}/logs?epoch={}&offset=0", held.task, held.epoch);
  refused([&](net::Headers h) { return client.post(logs, "forged", h); });
  refused([&](net::Headers h) { return client.post(checkpoint("", "&bytes=9"), {}, h); });
  refused([&](net::Headers h) {
    return client.post(checkpoint("", "&bytes=9&refused=too+large"), {}, h);
  });
  client.token = "one";
  const Answer begun = client.post(checkpoint("", "&bytes=4"), {}, session_of(w1));
  ASSERT_EQ(begun.status, 200) << begun.body;
  const std::string upload = fmt::format("&upload={}", begun.number("/upload"));
  const auto piece = [&](net::Headers headers) {
    return client.send(
        make_request("PUT", checkpoint("", upload + "&offset=0"), "save", std::move(headers)));
  };
  client.token = "two";
  refused(piece);
  client.token = "one";
  EXPECT_EQ(piece(session_of(w1)).status, 204);
  client.token = "two";
  refused(
      [&](net::Headers h) { return client.post(checkpoint("/keep", upload + "&bytes=4"), {}, h); });
  refused([&](net::Headers h) {
    return client.get(fmt::format("/api/tasks/{}/checkpoint?offset=0{}", held.task, upload), h);
  });
  client.token = "one";
  EXPECT_EQ(client.post(checkpoint("/keep", upload + "&bytes=4"), {}, session_of(w1)).status, 204);
  EXPECT_EQ(client.post(logs, "real", session_of(w1)).status, 204);
  EXPECT_EQ(client.get("/api/tasks/" + held.task + "/logs").body, "real");
}

TEST_F(Sessions, NobodyElseRegistersOverALifeThatIsPresent) {
  const std::string higher = fmt::format(R"({{"id":"w1","incarnation":{}}})", w1.incarnation + 1);
  const Answer refused_one = client.post("/api/workers", higher);
  EXPECT_EQ(refused_one.status, 409);
  EXPECT_EQ(refused_one.code(), "VX-WORKER-010") << refused_one.body;
  EXPECT_NE(refused_one.text("/detail").find("token 'one'"), std::string::npos);
  EXPECT_EQ(client.get("/api/workers/w1").number("/incarnation"), w1.incarnation);
  EXPECT_EQ(client.get("/api/workers/w1").text("/registered_by"), "one");
  client.token = "one";
  EXPECT_EQ(client.post("/api/workers", higher).status, 200);
  client.token = "admin";
  const std::string highest = fmt::format(R"({{"id":"w1","incarnation":{}}})", w1.incarnation + 2);
  EXPECT_EQ(client.post("/api/workers", highest).status, 200);
  EXPECT_EQ(client.post("/api/workers/w1/reset-state").status, 200);
  client.token = "two";
  join(client, "w1");  // it is gone: anybody may use the name
}

TEST_F(Sessions, ARepeatedRegistrationDoesNotGiveTheSecretAway) {
  const std::string same = fmt::format(R"({{"id":"w1","incarnation":{}}})", w1.incarnation);
  for (const char* token : {"one", "two", "admin"}) {
    client.token = token;
    const Answer refused_one = client.post("/api/workers", same);
    EXPECT_EQ(refused_one.status, 409);
    EXPECT_EQ(refused_one.text("/why"), "stale_incarnation");
    EXPECT_EQ(refused_one.number("/current"), w1.incarnation);
  }
  client.token = "one";
  const Answer again = client.post("/api/workers", same, session_of(w1));
  EXPECT_EQ(again.status, 200);
  EXPECT_EQ(again.text("/session"), w1.session);
  EXPECT_EQ(sync(client, w1).status, 200) << "nothing was lost";
}

TEST_F(Sessions, AreShownNowhere) {
  EXPECT_TRUE(w1.session.starts_with("vxs_"));
  EXPECT_NE(w1.session, w2.session);
  client.token = "admin";
  for (const char* path : {"/api/workers", "/api/workers/w1", "/api/events", "/api/tokens"}) {
    const std::string body = client.get(path).body;
    EXPECT_EQ(body.find(w1.session), std::string::npos) << path;
    EXPECT_EQ(body.find(hash_token(w1.session)), std::string::npos) << path;
    EXPECT_EQ(body.find("session_hash"), std::string::npos) << path;
  }
}

TEST_F(Sessions, TheJournalOfAnotherDoesNotSayThatALifeEnded) {
  const auto entry = [&](const std::string& session) {
    return fmt::format(
        R"({{"machine":"m","journal":"{}","entries":[{{"id":1,"event":"worker_crash",)"
        R"("worker":"w1","incarnation":{}{}}}]}})",
        session.size(), w1.incarnation, session);
  };
  const auto crashes = [&] {
    const std::string events = client.get("/api/events?kind=worker_crash").body;
    return events.find("\"worker_id\":\"w1\"") != std::string::npos;
  };
  EXPECT_EQ(client.post("/api/supervisors/s/events", entry("")).status, 204);
  EXPECT_EQ(client.post("/api/supervisors/s/events", entry(R"(,"session":"vxs_guess")")).status,
            204);
  EXPECT_FALSE(crashes());
  const std::string own = fmt::format(R"(,"session":"{}")", w1.session);
  EXPECT_EQ(client.post("/api/supervisors/s/events", entry(own)).status, 204);
  EXPECT_TRUE(crashes());
}

}  // namespace
}  // namespace vortex::api
