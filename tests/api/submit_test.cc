// Submitting: once per key, durable when answered, and honest when the outcome is not known.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "api/call.h"
#include "tests/api/client.h"
#include "tests/api/steps.h"
#include "tests/core/digest.h"

namespace vortex::api {
namespace {

TEST(Submit, OneKeyMakesOneRunHoweverOftenItIsSent) {
  Client client;
  const std::string body = R"({"dag":)" + one_task_dag() + R"(,"params":{"a":1}})";
  const net::Headers key{{"Idempotency-Key", "k1"}};
  const Answer first = client.post("/api/runs", body, key);
  EXPECT_EQ(first.status, 201);
  EXPECT_EQ(first.header("Location"), "/api/runs/r1");
  const Answer again = client.post("/api/runs", body, key);
  EXPECT_EQ(again.status, 200);
  EXPECT_EQ(again.text("/id"), first.text("/id"));
  const Answer spaced =
      client.post("/api/runs", R"( {"params": {"a": 1}, "dag": )" + one_task_dag() + "}", key);
  EXPECT_EQ(spaced.status, 200) << "the same request written in another way";
  EXPECT_EQ(client.get("/api/runs").at("/runs").as_array().size(), 1U);
}

TEST(Submit, TheAnswerIsWhatIsReadAfterwards) {
  Client client;
  const Answer made = client.post("/api/runs", R"({"dag":)" + map_dag("m", 3) + "}");
  EXPECT_EQ(made.json, client.get("/api/runs/r1").json);
}

TEST(Submit, ANewRunIsNotReadBack) {
  Client client;
  client.desk.store_up = false;
  const Answer made = client.post("/api/runs", R"({"dag":)" + map_dag("m", 3) + "}");
  EXPECT_EQ(made.status, 201);
  EXPECT_EQ(made.number("/counts/Queued"), 3);
}

TEST(Submit, OneKeyForTwoRequestsIsRefused) {
  Client client;
  const net::Headers key{{"Idempotency-Key", "k1"}};
  client.post("/api/runs", R"({"dag":)" + one_task_dag() + "}", key);
  const std::uint64_t before = core::digest(*client.desk.state);
  for (const std::string& body : {R"({"dag":)" + one_task_dag("two") + "}",
                                  R"({"dag":)" + one_task_dag() + R"(,"params":{"a":2}})",
                                  R"({"dag":)" + one_task_dag() + R"(,"labels":{"a":"b"}})"}) {
    const Answer answer = client.post("/api/runs", body, key);
    EXPECT_EQ(answer.status, 422);
    EXPECT_EQ(answer.code(), "VX-RUN-004");
  }
  EXPECT_EQ(core::digest(*client.desk.state), before);
}

TEST(Submit, AKeyThatIsTooLongIsRefused) {
  Client client;
  const Answer answer = client.post("/api/runs", R"({"dag":)" + one_task_dag() + "}",
                                    {{"Idempotency-Key", std::string(257, 'k')}});
  EXPECT_EQ(answer.code(), "VX-REQ-012");
}

TEST(Submit, WhatWasSaidIsThere) {
  Client client;
  const Answer made = client.post(
      "/api/runs",
      R"({"dag":)" + map_dag("m", 3) + R"(,"params":{"dir":"/srv"},"labels":{"b":"2","a":"1"}})",
      {{"Idempotency-Key", "k"}});
  EXPECT_EQ(made.text("/dag"), "m");
  EXPECT_EQ(made.text("/params/dir"), "/srv");
  EXPECT_EQ(made.text("/labels/a"), "1");
  EXPECT_EQ(made.text("/idempotency_key"), "k");
  EXPECT_EQ(made.number("/tasks"), 3);
  EXPECT_EQ(made.text("/state"), "Running");
  EXPECT_EQ(client.get("/api/runs?label=a=1&label=b=2").at("/runs").as_array().size(), 1U);
  EXPECT_EQ(client.get("/api/runs?label=a=2").at("/runs").as_array().size(), 0U);
}

TEST(Params, RunsAreFoundByThem) {
  Client client;
  const auto run = [&](const std::string& params) {
    return client.post("/api/runs", R"({"dag":)" + one_task_dag() + R"(,"params":)" + params + "}")
        .text("/id");
  };
  const std::string plain = run(R"({"dir":"/srv","n":3})");
  const std::string other = run(R"({"dir":"/tmp","n":3,"deep":{"a": [1, "x"]},"text":"3"})");
  run("{}");
  const auto found = [&](const std::string& query) {
    std::vector<std::string> ids;
    const Answer page = client.get("/api/runs?" + query);
    EXPECT_EQ(page.status, 200) << page.body;
    for (const auto& one : page.at("/runs").as_array()) {
      ids.emplace_back(one.at("id").as_string());
    }
    return ids;
  };
  using Ids = std::vector<std::string>;
  EXPECT_EQ(found("param=dir=/srv"), Ids{plain});
  EXPECT_EQ(found("param=n=3"), (Ids{other, plain}));
  EXPECT_EQ(found("param=n=3&param=dir=/tmp"), Ids{other});
  EXPECT_EQ(found("param=text=3&dag=one&state=Running"), Ids{other});
  EXPECT_EQ(found("param=deep=%7B%22a%22:[1,%22x%22]%7D"), Ids{other});
  EXPECT_EQ(found("param=n=4"), Ids{});
  EXPECT_EQ(client.get("/api/runs?param=dir").code(), "VX-REQ-003");
}

TEST(Submit, ByNameTakesTheVersionThatIsAppliedNow) {
  Client client;
  client.put("/api/dags/d", map_dag("d", 2));
  EXPECT_EQ(client.post("/api/runs", R"({"dag":"d"})").number("/tasks"), 2);
  client.put("/api/dags/d", map_dag("d", 5));
  const Answer run = client.post("/api/dags/d/runs", R"({"params":{"x":true}})");
  EXPECT_EQ(run.number("/tasks"), 5);
  EXPECT_EQ(run.at("/params/x").as_bool(), true);
  EXPECT_EQ(client.get("/api/runs/r1/dag").number("/tasks"), 2);
}

TEST(Submit, IsAnsweredAlsoWhenTheStoreCanNotBeReadJustThen) {
  Client client;
  client.desk.store_up = false;
  const Answer run = client.post("/api/runs", R"({"dag":)" + one_task_dag() + "}");
  EXPECT_EQ(run.status, 201);
  EXPECT_EQ(run.text("/id"), "r1");
}

struct Why {
  Unserved why;
  const char* code;
};

TEST(Unserved, EachReasonHasItsCodeAndRetryAfter) {
  Client client;
  const std::uint64_t before = core::digest(*client.desk.state);
  for (const Why& c :
       {Why{Unserved::kBusy, "VX-CTL-002"}, Why{Unserved::kNotLeader, "VX-CTL-001"},
        Why{Unserved::kNoSpace, "VX-STORE-002"}, Why{Unserved::kNoStore, "VX-STORE-001"},
        Why{Unserved::kUnknown, "VX-STORE-003"}}) {
    client.desk.unserved = UnservedError{c.why, "for the test", millis(2'500)};
    for (const Answer& answer :
         {client.post("/api/runs", R"({"dag":)" + one_task_dag() + "}"),
          client.put("/api/dags/one", one_task_dag()), client.post("/api/queues/default/pause"),
          client.post("/api/workers/w/sync", R"({"incarnation":1,"seq":1,"slots":1})")}) {
      EXPECT_EQ(answer.status, 503);
      EXPECT_EQ(answer.code(), c.code);
      EXPECT_EQ(answer.header("Retry-After"), "3");
      EXPECT_EQ(answer.number("/retry_after_ms"), 2'500);
    }
  }
  EXPECT_NE(client.post("/api/runs", R"({"dag":)" + one_task_dag() + "}")
                .text("/hint")
                .find("Idempotency-Key"),
            std::string::npos);
  EXPECT_EQ(core::digest(*client.desk.state), before);
}

TEST(Runs, AFinishedOneIsToldApartFromOneThatNeverWas) {
  Client client;
  const std::string run = submit(client, one_task_dag());
  EXPECT_EQ(client.post("/api/runs/" + run + "/cancel").text("/state"), "Cancelled");
  EXPECT_EQ(client.post("/api/runs/" + run + "/pause").code(), "VX-RUN-002");
  EXPECT_EQ(client.post("/api/runs/r77/pause").code(), "VX-RUN-001");
  EXPECT_EQ(client.get("/api/tasks/" + run + "-L0-0/explain").text("/reason"), "final");
}

TEST(Runs, APausedOneHandsOutNothingAndSaysWhy) {
  Client client;
  Worker worker = join(client, "w1");
  const std::string run = submit(client, map_dag("m", 2));
  EXPECT_TRUE(client.post("/api/runs/" + run + "/pause").at("/paused").as_bool());
  EXPECT_FALSE(sync(client, worker).json.as_object().contains("assignments"));
  EXPECT_EQ(client.get("/api/tasks/" + run + "-L0-0/explain").text("/reason"), "run_paused");
  client.post("/api/runs/" + run + "/resume");
  EXPECT_EQ(take(client, worker).task, run + "-L0-0");
}

TEST(Runs, OneThatDoesNotMoveSaysWhyUnaskedForEveryTask) {
  Client client;
  join(client, "w1");
  const std::string run =
      submit(client, R"({"name":"g","tasks":{"a":{"run":["true"],"queue":"gpu"},)"
                     R"("b":{"run":["true"],"queue":"gpu"}}})");
  const Answer why = client.get("/api/runs/" + run + "/explain");
  EXPECT_EQ(why.number("/held"), 0);
  EXPECT_EQ(why.number("/standstills/0/tasks"), 2);
  EXPECT_EQ(why.text("/standstills/0/obstacles/0/what"), "no worker serves queue 'gpu'");
  EXPECT_EQ(why.text("/standstills/0/obstacles/0/action"), "vortex worker --queue gpu");
  EXPECT_EQ(why.text("/standstills/0/workers/0/why"),
            "does not serve queue 'gpu' (serves default)");
  EXPECT_EQ(client.get("/api/status").number("/standstills/0/tasks"), 2);
  EXPECT_EQ(client.get("/api/runs/r77/explain").code(), "VX-RUN-001");
  client.post("/api/runs/" + run + "/cancel");
  EXPECT_TRUE(client.get("/api/runs/" + run + "/explain").at("/standstills").as_array().empty());
}

TEST(Submit, BeyondAQuotaIs429WithWhatIsUsedUpAndWhenToComeBack) {
  Client client;
  client.desk.state->policy.quota.runs = 1;
  const std::string body = R"({"dag":)" + one_task_dag() + "}";
  EXPECT_EQ(client.post("/api/runs", body).status, 201);
  const Answer refused = client.post("/api/runs", body);
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(refused.code(), "VX-RUN-006");
  EXPECT_EQ(refused.header("Retry-After"), "10");
  EXPECT_EQ(refused.text("/detail"),
            "1 of 1 live runs are in use, and this run needs 1 (quota of the whole controller)");
  EXPECT_EQ(client.post("/api/runs/r1/cancel").status, 200);
  EXPECT_EQ(client.post("/api/runs", body).status, 201);
}

// Many at once.

std::string many(const std::string& dag, const std::string& runs) {
  return R"({"dag":)" + dag + R"(,"runs":[)" + runs + "]}";
}

TEST(SubmitMany, EachRunHasItsOwnAnswer) {
  Client client;
  const std::string dag =
      R"({"name":"p","params":{"n":{"type":"number"}},"tasks":{"t":{"run":["true"]}}})";
  const Answer answer = client.post(
      "/api/runs:batch",
      many(dag,
           R"({"params":{"n":1},"labels":{"a":"b"},"idempotency_key":"k1"},)"
           R"({"params":{"n":"x"}},{"params":{"n":2},"idempotency_key":"k1"},)"
           R"({"params":{"n":1},"labels":{"a":"b"},"idempotency_key":"k1"},{"params":{"n":3}})"));
  ASSERT_EQ(answer.status, 200);
  EXPECT_EQ(answer.number("/runs/0/status"), 201);
  EXPECT_EQ(answer.text("/runs/0/id"), "r1");
  EXPECT_EQ(answer.number("/runs/1/status"), 422);
  EXPECT_EQ(answer.text("/runs/1/problem/errors/0/pointer"), "/params/n");
  EXPECT_EQ(answer.text("/runs/2/problem/code"), "VX-RUN-004");
  EXPECT_EQ(answer.number("/runs/3/status"), 200);
  EXPECT_EQ(answer.text("/runs/3/id"), "r1");
  EXPECT_EQ(answer.text("/runs/4/id"), "r2");
  EXPECT_EQ(answer.number("/started"), 2);
  EXPECT_EQ(answer.number("/repeated"), 1);
  EXPECT_EQ(answer.number("/refused"), 2);
  EXPECT_EQ(client.get("/api/runs/r1").number("/params/n"), 1);
  EXPECT_EQ(client.get("/api/runs/r1").text("/labels/a"), "b");
  EXPECT_EQ(client.get("/api/runs").at("/runs").as_array().size(), 2U);
}

TEST(SubmitMany, RepeatedWithTheKeyOfTheCallItStartsNothingTwice) {
  Client client;
  const std::string body = many(one_task_dag(), R"({},{},{"idempotency_key":"own"})");
  const net::Headers key{{"Idempotency-Key", "all"}};
  const Answer first = client.post("/api/runs:batch", body, key);
  EXPECT_EQ(first.number("/started"), 3);
  const Answer again = client.post("/api/runs:batch", body, key);
  EXPECT_EQ(again.number("/repeated"), 3);
  EXPECT_EQ(again.text("/runs/2/id"), first.text("/runs/2/id"));
  EXPECT_EQ(client.get("/api/runs/r2").text("/idempotency_key"), "all:1");
  EXPECT_EQ(client.get("/api/runs/r3").text("/idempotency_key"), "own");
}

TEST(SubmitMany, ARunCanNameAStoredDagOfItsOwn) {
  Client client;
  client.put("/api/dags/d", map_dag("d", 4));
  const Answer answer =
      client.post("/api/runs:batch", R"({"runs":[{"dag":"d"},{"dag":"none"},{}]})");
  EXPECT_EQ(client.get("/api/runs/r1").number("/tasks"), 4);
  EXPECT_EQ(answer.number("/runs/1/status"), 404);
  EXPECT_EQ(answer.text("/runs/1/problem/code"), "VX-DAG-015");
  EXPECT_EQ(answer.text("/runs/2/problem/code"), "VX-REQ-002");
}

TEST(SubmitMany, AMistakeInTheRequestItselfChangesNothing) {
  Client client;
  const std::uint64_t before = core::digest(*client.desk.state);
  std::string too_many = "{}";
  for (int i = 0; i < 10'000; ++i) too_many += ",{}";
  for (const std::string& body :
       {many(one_task_dag(), ""), many(one_task_dag(), too_many),
        many(one_task_dag(), R"({"a":1})"), many(one_task_dag(), "1"),
        many(R"({"name":"x","tasks":{}})", "{}"), many(one_task_dag(), R"({"dag":{"name":"x"}})"),
        std::string(R"({"dag":"one"})"), many(R"("none")", "{}")}) {
    const Answer answer = client.post("/api/runs:batch", body);
    EXPECT_GE(answer.status, 400) << body.substr(0, 100);
    EXPECT_LT(answer.status, 500) << body.substr(0, 100);
  }
  EXPECT_EQ(core::digest(*client.desk.state), before);
}

TEST(SubmitMany, WhatCannotBeServedAtAllIsOneRefusal) {
  Client client;
  client.desk.unserved = UnservedError{Unserved::kNotLeader, "for the test", millis(2'500)};
  const Answer answer = client.post("/api/runs:batch", many(one_task_dag(), "{},{}"));
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(answer.header("Retry-After"), "3");
}

TEST(SubmitMany, AQuotaRefusesTheRunsBeyondIt) {
  Client client;
  client.desk.state->policy.quota.runs = 2;
  const Answer answer = client.post("/api/runs:batch", many(one_task_dag(), "{},{},{}"));
  EXPECT_EQ(answer.number("/started"), 2);
  EXPECT_EQ(answer.number("/runs/2/status"), 429);
}

// A DAG of more than `bytes` bytes.
std::string large_dag(std::size_t bytes) {
  std::string dag = one_task_dag();
  dag.insert(dag.size() - 1, std::string(bytes, ' '));
  return dag;
}

TEST(Documents, LargeOnesAreReadInTheTurnOfTheirClient) {
  Client client;
  const std::string dag = large_dag(kQuickBytes);
  EXPECT_EQ(client.post("/api/dags/validate", one_task_dag()).status, 200);
  EXPECT_TRUE(client.desk.turns.empty()) << "a small one is read where it arrives";
  EXPECT_EQ(client.post("/api/dags/validate", dag).status, 200);
  EXPECT_EQ(client.post("/api/runs", R"({"dag":)" + dag + "}").status, 201);
  EXPECT_EQ(client.put("/api/dags/one", dag).status, 201);
  ASSERT_GE(client.desk.turns.size(), 4U);
  for (const auto& turn : client.desk.turns) {
    EXPECT_EQ(turn.client, "@127.0.0.1");
    EXPECT_FALSE(turn.of_worker);
  }
}

TEST(Documents, OfWorkersHaveATurnOfTheirOwn) {
  Client client;
  Worker worker = join(client, "w");
  const std::string padding(kQuickWorkerBytes, ' ');
  EXPECT_EQ(sync(client, worker, padding, 0).status, 200);
  ASSERT_EQ(client.desk.turns.size(), 1U);
  EXPECT_TRUE(client.desk.turns[0].of_worker);
}

TEST(Documents, TooManyAreRefusedWithRetryAfter) {
  Client client;
  client.desk.documents_full = true;
  const std::string dag = large_dag(kQuickBytes);
  for (const Answer& answer :
       {client.post("/api/dags/validate", dag), client.post("/api/runs", R"({"dag":)" + dag + "}"),
        client.put("/api/dags/one", dag)}) {
    EXPECT_EQ(answer.status, 503);
    EXPECT_EQ(answer.code(), "VX-CTL-002");
    EXPECT_EQ(answer.header("Retry-After"), "1");
  }
  EXPECT_EQ(client.get("/api/runs").at("/runs").as_array().size(), 0U);
}

TEST(Documents, HaveTheSizeOfTheirRoute) {
  Client client;
  const std::string much(65 * 1024, ' ');
  EXPECT_EQ(client.post("/api/tokens", much).code(), "VX-REQ-007");
  EXPECT_EQ(client.post("/api/runs/r1/cancel", much).code(), "VX-REQ-007");
  EXPECT_EQ(client.post("/api/workers", std::string(5U << 20, ' ')).code(), "VX-REQ-007");
  EXPECT_NE(client.post("/api/dags/validate", std::string(5U << 20, ' ')).code(), "VX-REQ-007");
}

}  // namespace
}  // namespace vortex::api
