// The description tells the truth: every route is answered, and every answer has its schema.
#include <algorithm>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "api/routes.h"
#include "api/schema/schema.h"
#include "tests/api/client.h"
#include "tests/api/steps.h"

namespace vortex::api {
namespace {

void walk_secrets(Client& client) {
  const auto key = std::make_shared<const vault::MasterKey>(vault::MasterKey::make());
  client.desk.vault().use(key, nullptr);
  client.desk.keys.current = key;
  EXPECT_EQ(client.put("/api/secrets/a%2Fb", R"({"value":"x","dag":"etl"})").status, 200);
  EXPECT_EQ(client.post("/api/secrets/a%2Fb/rotate", R"({"value_base64":"eA=="})").status, 200);
  for (const char* path :
       {"/api/secrets", "/api/secrets/a%2Fb", "/api/secrets/a%2Fb/versions", "/api/master-key"}) {
    EXPECT_EQ(client.get(path).status, 200) << path;
  }
  EXPECT_EQ(client.post("/api/master-key/rotate", "{}").status, 200);
  EXPECT_EQ(client.erase("/api/secrets/a%2Fb").status, 204);
}

void walk_system(Client& client) {
  for (const char* path :
       {"/health", "/livez", "/readyz", "/metrics", "/api/status", "/api/timings", "/api/settings",
        "/api/openapi.json", "/api/events", "/api/tokens", "/api/webhooks", "/api/audit",
        "/api/machines", "/api/queues", "/api/controllers"}) {
    EXPECT_EQ(client.get(path).status, 200) << path;
  }
  client.post("/api/tokens", R"({"name":"t","role":"viewer"})");
  client.erase("/api/tokens/t");
  client.post("/api/webhooks", R"({"name":"ci","url":"http://ci/","dag":"etl","after":0})");
  client.get("/api/webhooks/ci");
  client.get("/api/webhooks");
  client.post("/api/webhooks/ci/test");
  client.erase("/api/webhooks/ci");
  walk_secrets(client);
  EXPECT_EQ(client.get("/api/session").status, 200);
  EXPECT_EQ(client.post("/api/session", R"({"token":"any"})").status, 200);
  EXPECT_EQ(client.post("/api/session/pass").status, 200);
  EXPECT_EQ(client.erase("/api/session").status, 204);
  EXPECT_EQ(client.post("/api/reconcile").status, 200);
  client.put("/api/limits/api", R"({"slots":5,"rate":"100/1m"})");
  client.get("/api/limits");
  client.get("/api/limits/api");
  client.erase("/api/limits/api");
  client.post("/api/queues/default/pause");
  client.post("/api/queues/default/resume");
}

void walk_dags(Client& client) {
  EXPECT_EQ(client.post("/api/dags/validate", one_task_dag()).status, 200);
  EXPECT_EQ(client.put("/api/dags/one", one_task_dag()).status, 201);
  EXPECT_EQ(client.put("/api/dags/one", one_task_dag()).status, 200);
  EXPECT_EQ(client.get("/api/dags").at("/dags").as_array().size(), 1U);
  EXPECT_EQ(client.get("/api/dags/one").text("/name"), "one");
  EXPECT_EQ(client.post("/api/dags/one/runs").status, 201);
  std::string scheduled = one_task_dag();
  scheduled.insert(1, R"("schedule":{"every":"1h"},)");
  EXPECT_EQ(client.put("/api/dags/one", scheduled).status, 200);
  for (const char* path : {"/api/schedules", "/api/schedules/one"}) {
    EXPECT_EQ(client.get(path).status, 200);
  }
  EXPECT_EQ(client.post("/api/schedules/one/pause").status, 200);
  EXPECT_EQ(client.post("/api/schedules/one/resume").status, 200);
  const Answer triggered = client.post("/api/schedules/one/trigger");
  EXPECT_EQ(triggered.status, 201);
  client.post("/api/runs/" + triggered.text("/id") + "/cancel");
  const Answer again = client.post("/api/runs/" + triggered.text("/id") + "/rerun");
  EXPECT_EQ(again.status, 201);
  client.post("/api/runs/" + again.text("/id") + "/cancel");
  EXPECT_EQ(client.erase("/api/dags/one").status, 204);
  EXPECT_EQ(client.get("/api/dags/one").status, 404);
}

void walk_leases(Client& client) {
  const Answer lease = client.post("/api/leases/orders/3/acquire", R"({"agent":"a"})");
  const std::string held = fmt::format(R"({{"agent":"a","epoch":{}}})", lease.number("/epoch"));
  client.post("/api/leases/orders/3/renew", held);
  client.post("/api/leases/orders/3/check", held);
  client.get("/api/leases");
  client.get("/api/leases/orders/3");
  client.post("/api/leases/orders/3/release", held);
}

void walk_runs(Client& client) {
  const std::string run = submit(client, map_dag("m", 2));
  for (const char* part : {"", "/tasks", "/attempts", "/dag", "/explain", "/events"}) {
    EXPECT_EQ(client.get(fmt::format("/api/runs/{}{}", run, part)).status, 200) << part;
  }
  client.get("/api/runs");
  client.get("/api/dags/m/versions");
  client.post("/api/dags/validate-file?syntax=json", one_task_dag());
  client.post("/api/runs:batch", R"({"dag":)" + one_task_dag() + R"(,"runs":[{},{"dag":"none"}]})");
  for (const char* act : {"pause", "resume"}) client.post(fmt::format("/api/runs/{}/{}", run, act));
  const std::string task = client.get("/api/tasks?run=" + run).text("/tasks/0/id");
  for (const char* part : {"", "/attempts", "/logs", "/explain"}) {
    EXPECT_EQ(client.get(fmt::format("/api/tasks/{}{}", task, part)).status, 200) << part;
  }
  client.post(fmt::format("/api/tasks/{}/cancel", task));
  client.post(fmt::format("/api/runs/{}/cancel", run));
}

void walk_waits(Client& client) {
  const std::string run =
      submit(client, R"({"name":"w","tasks":{"go":{"wait":{"signal":"s"}},)"
                     R"("ok":{"wait":{"approval":"Yes?","by":["operator"],"timeout":"1h"}},)"
                     R"("no":{"wait":{"approval":"No?","by":["admin"]}}}})");
  client.post(fmt::format("/api/runs/{}/signals/s", run), R"({"data":{"a":1}})");
  client.get(fmt::format("/api/runs/{}/signals", run));
  client.get(fmt::format("/api/runs/{}/explain", run));
  client.get("/api/approvals");
  client.post(fmt::format("/api/tasks/{}-L0-1/approve", run), R"({"comment":"c"})");
  client.post(fmt::format("/api/tasks/{}-L0-2/reject", run), R"({"reason":"r"})");
}

// A worker that holds, fails, completes, is lost, and what is seen of it.
void walk_worker(Client& client) {
  Worker worker = join(client, "w1");
  const std::string run = submit(client, one_task_dag());
  Held held = take(client, worker);
  EXPECT_EQ(held.task, run + "-L0-0");
  const std::string task = "/api/tasks/" + held.task;
  client.get(fmt::format("{}/fence?epoch={}", task, held.epoch));
  client.post(fmt::format("{}/logs?epoch={}&offset=0", task, held.epoch), "hello\n");
  client.get(task + "/logs", {{"Accept", "application/json"}});
  const auto checkpoint = [&](const char* what, const std::string& rest) {
    return fmt::format("{}/checkpoint{}?epoch={}&worker=w1&incarnation={}&bytes=3{}", task, what,
                       held.epoch, worker.incarnation, rest);
  };
  const std::string upload =
      fmt::format("&upload={}", client.post(checkpoint("", "")).number("/upload"));
  client.put(checkpoint("", upload + "&offset=0"), "abc");
  client.post(checkpoint("/keep", upload));
  client.get(fmt::format("{}/checkpoint?{}", task, upload.substr(1)));
  client.post("/api/supervisors/s/events",
              R"({"machine":"m","journal":"j","entries":[{"id":1,"event":"worker_spawn",)"
              R"("worker":"w1"}]})");
  client.get(task + "/attempts");
  fail(client, worker, held);
  const std::string letter = "/api/dead-letters/" + held.task;
  client.get("/api/dead-letters");
  client.get(letter);
  client.post(letter + "/retry");
  held = take(client, worker);
  fail(client, worker, held);
  client.post(letter + "/discard");
  client.post(task + "/retry");
  held = take(client, worker);
  fail(client, worker, held);
  EXPECT_EQ(client.post("/api/dead-letters/retry", R"({"expected":1})").number("/done"), 1);
  held = take(client, worker);
  fail(client, worker, held);
  EXPECT_EQ(client.post("/api/dead-letters/discard", R"({"expected":1})").number("/done"), 1);
  client.post(task + "/retry");
  held = take(client, worker);
  report(client, worker, held, R"("kind":"started")");
  client.post("/api/workers/w1/exited", fmt::format(R"({{"incarnation":{}}})", worker.incarnation));
  const Answer ledger = client.get("/api/recoveries");
  client.get(fmt::format("/api/recoveries/{}", ledger.number("/recoveries/0/id")));
  client.get("/api/workers");
  client.get("/api/workers/w1");
  client.desk.advance(seconds(1));
  worker = join(client, "w1");
  held = take(client, worker);
  complete(client, worker, held);
  EXPECT_EQ(client.get(task).number("/outputs/answer"), 42);
  for (const char* act : {"cordon", "uncordon", "drain", "reset-state"}) {
    EXPECT_EQ(client.post(fmt::format("/api/workers/w1/{}", act)).status, 200) << act;
  }
  EXPECT_EQ(client.erase("/api/workers/w1").status, 204);
  EXPECT_EQ(client.get("/api/workers/w1").status, 404);
}

TEST(OpenApi, EveryRouteIsAnsweredAndEveryAnswerHasItsSchema) {
  Client client;
  walk_system(client);
  walk_dags(client);
  walk_leases(client);
  client.post("/api/runs/r1/cancel");
  walk_worker(client);
  walk_runs(client);
  walk_waits(client);
  for (const Route& route : all_routes()) {
    EXPECT_TRUE(client.answered.contains(std::string(route.id))) << route.id << " was not answered";
  }
}

TEST(OpenApi, DescribesEveryRouteAndEverySchemaItRefersTo) {
  const boost::json::value json = boost::json::parse(openapi_json("1.2.3"));
  EXPECT_EQ(json.at_pointer("/openapi").as_string(), "3.1.0");
  const auto& paths = json.at_pointer("/paths").as_object();
  const auto& schemas = json.at_pointer("/components/schemas").as_object();
  std::set<std::string> ids;
  for (const Route& route : all_routes()) {
    std::string method(net::to_text(route.method));
    for (char& c : method) c = static_cast<char>(c + 32);
    const auto& operation = paths.at(route.path).at(method).as_object();
    EXPECT_EQ(operation.at("operationId").as_string(), route.id);
    EXPECT_TRUE(ids.emplace(route.id).second) << route.id << " is there twice";
    EXPECT_TRUE(route.answer_schema.empty() || schemas.contains(route.answer_schema)) << route.id;
    EXPECT_TRUE(route.body_schema.empty() || schemas.contains(route.body_schema)) << route.id;
    EXPECT_EQ(route.body == Body::kJson, !route.body_schema.empty()) << route.id;
    EXPECT_FALSE(route.summary.empty());
  }
  for (const Schema& schema : all_schemas()) {
    EXPECT_TRUE(schema.base.empty() || find_schema(schema.base) != nullptr) << schema.name;
    for (const Field& field : schema.fields) {
      EXPECT_TRUE(field.of.empty() || find_schema(field.of) != nullptr) << field.name;
      EXPECT_FALSE(field.doc.empty()) << schema.name << "." << field.name;
    }
  }
}

TEST(OpenApi, NamesTheIdempotencyKeyWhereARepeatedRequestCountsOnce) {
  const boost::json::value json = boost::json::parse(openapi_json("1.2.3"));
  for (const Route& route : all_routes()) {
    if (route.method != net::Method::kPost) continue;
    const auto& params = json.at_pointer("/paths").at(route.path).at("post").at("parameters");
    const bool named = std::ranges::any_of(params.as_array(), [](const boost::json::value& param) {
      return param.at("name").as_string() == "Idempotency-Key" &&
             param.at("in").as_string() == "header";
    });
    EXPECT_EQ(named, route.summary.find("Idempotency-Key") != std::string_view::npos) << route.id;
  }
}

TEST(OpenApi, TheCheckOfAnswersFindsWhatIsWrong) {
  const auto fault = [](const char* json) {
    return schema_fault(boost::json::parse(json), "Machine");
  };
  EXPECT_EQ(fault(R"({"id":"m","online":true,"since":"2026-01-01T00:00:00Z"})"), "");
  EXPECT_EQ(fault(R"({"id":"m","online":true})"), "Machine lacks since");
  EXPECT_EQ(fault(R"({"id":1,"online":true,"since":"2026-01-01T00:00:00Z"})"),
            "Machine: id has another type");
  EXPECT_EQ(fault(R"({"id":null,"online":true,"since":"2026-01-01T00:00:00Z"})"),
            "Machine: id is null");
  EXPECT_EQ(fault(R"({"id":"m","online":true,"since":"2026-01-01T00:00:00Z","x":1})"),
            "Machine has the undeclared field x");
}

TEST(Codes, AreUniqueAndComplete) {
  std::set<std::string_view> texts;
  for (const CodeInfo& info : all_codes()) {
    EXPECT_TRUE(texts.insert(info.text).second) << info.text;
    EXPECT_TRUE(info.text.starts_with("VX-"));
    EXPECT_FALSE(info.title.empty() || info.hint.empty()) << info.text;
    EXPECT_GE(info.status, 400);
    EXPECT_EQ(find_code(info.text), info.code);
  }
  EXPECT_EQ(find_code("VX-NO-001"), std::nullopt);
}

}  // namespace
}  // namespace vortex::api
