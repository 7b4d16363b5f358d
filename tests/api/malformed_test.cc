// Whatever is wrong with a request: it gets its 4xx, and the core is as it was.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/api/client.h"
#include "tests/api/steps.h"
#include "tests/core/digest.h"

namespace vortex::api {
namespace {

struct Bad {
  const char* method;
  const char* target;
  std::string body;
  int status;
  const char* code;
};

std::string deep(std::size_t levels) { return std::string(levels, '[') + std::string(levels, ']'); }

std::vector<Bad> bad_paths() {
  return {
      {"GET", "/", "", 404, "VX-REQ-004"},
      {"GET", "/api", "", 404, "VX-REQ-004"},
      {"GET", "/api/nothing", "", 404, "VX-REQ-004"},
      {"GET", "/api/runs/r1/nothing", "", 404, "VX-REQ-004"},
      {"DELETE", "/api/runs", "", 405, "VX-REQ-005"},
      {"PATCH", "/api/runs/r1", "", 405, "VX-REQ-005"},
      {"PUT", "/health", "", 405, "VX-REQ-005"},
      {"GET", "/api/runs/42", "", 404, "VX-RUN-001"},
      {"GET", "/api/runs/r042", "", 404, "VX-RUN-001"},
      {"GET", "/api/runs/r99", "", 404, "VX-RUN-001"},
      {"GET", "/api/runs/r99999999999999999999", "", 404, "VX-RUN-001"},
      {"GET", "/api/runs/r99/tasks", "", 404, "VX-RUN-001"},
      {"GET", "/api/runs/r99/dag", "", 404, "VX-RUN-001"},
      {"GET", "/api/runs/r99/events", "", 404, "VX-RUN-001"},
      {"POST", "/api/runs/r99/cancel", "", 404, "VX-RUN-001"},
      {"POST", "/api/runs/r99/pause", "", 404, "VX-RUN-001"},
      {"GET", "/api/tasks/x", "", 404, "VX-TASK-001"},
      {"GET", "/api/tasks/r1-L0-9", "", 404, "VX-TASK-001"},
      {"GET", "/api/tasks/r1-L0-9/attempts", "", 404, "VX-TASK-001"},
      {"GET", "/api/tasks/r1-L0-9/logs", "", 404, "VX-TASK-001"},
      {"GET", "/api/tasks/r1-L0-9/explain", "", 404, "VX-TASK-001"},
      {"GET", "/api/tasks/r1-L0-0/logs?attempt=9", "", 404, "VX-TASK-003"},
      {"GET", "/api/tasks/r1-L0-0/logs?offset=-1", "", 400, "VX-REQ-003"},
      {"GET", "/api/tasks/r1-L0-0/logs?limit=0", "", 400, "VX-REQ-003"},
      {"POST", "/api/tasks/r1-L0-0/logs", "x", 400, "VX-REQ-003"},
      {"POST", "/api/tasks/r1-L0-0/logs?epoch=9&offset=0", "x", 409, "VX-TASK-002"},
      {"POST", "/api/tasks/r9-L0-0/logs?epoch=1&offset=0", "x", 409, "VX-TASK-002"},
      {"GET", "/api/tasks/r1-L0-0/fence", "", 400, "VX-REQ-003"},
      {"GET", "/api/tasks/r1-L0-0/fence?epoch=77", "", 409, "VX-TASK-002"},
      {"GET", "/api/tasks/r9-L0-0/fence?epoch=1", "", 409, "VX-TASK-002"},
      {"POST", "/api/tasks/r1-L0-0/retry", "", 409, "VX-STATE-001"},
      {"POST", "/api/tasks/r9-L0-0/cancel", "", 404, "VX-TASK-001"},
  };
}

std::vector<Bad> bad_queries() {
  return {
      {"GET", "/api/runs?limit=0", "", 400, "VX-REQ-003"},
      {"GET", "/api/runs?limit=1001", "", 400, "VX-REQ-003"},
      {"GET", "/api/runs?limit=ten", "", 400, "VX-REQ-003"},
      {"GET", "/api/runs?limit=-1", "", 400, "VX-REQ-003"},
      {"GET", "/api/runs?state=Sleeping", "", 400, "VX-REQ-003"},
      {"GET", "/api/runs?sate=Running", "", 400, "VX-REQ-003"},
      {"GET", "/api/runs?label=novalue", "", 400, "VX-REQ-003"},
      {"GET", "/api/runs?cursor=garbage", "", 400, "VX-REQ-011"},
      {"GET", "/api/tasks?run=x", "", 400, "VX-REQ-003"},
      {"GET", "/api/workers?live=perhaps", "", 400, "VX-REQ-003"},
      {"GET", "/api/events?after=x", "", 400, "VX-REQ-003"},
      {"GET", "/api/recoveries/9", "", 404, "VX-REC-001"},
      {"POST", "/api/queues/defalt/pause", "", 404, "VX-QUEUE-001"},
      {"POST", "/api/queues/defalt/resume", "", 404, "VX-QUEUE-001"},
      {"GET", "/api/recoveries/x", "", 404, "VX-REQ-004"},
      {"GET", "/api/dead-letters/r1-L0-0", "", 404, "VX-DLQ-001"},
      {"POST", "/api/dead-letters/r1-L0-0/discard", "", 404, "VX-DLQ-001"},
      {"POST", "/api/dead-letters/r1-L0-0/retry", "", 404, "VX-DLQ-001"},
      {"GET", "/api/leases/t/x", "", 404, "VX-REQ-004"},
      {"GET", "/api/leases/t/4294967296", "", 404, "VX-REQ-004"},
      {"GET", "/api/leases/t/1", "", 404, "VX-LEASE-003"},
      {"GET", "/api/workers/nobody", "", 404, "VX-WORKER-001"},
      {"POST", "/api/workers/nobody/drain", "", 404, "VX-WORKER-001"},
      {"GET", "/api/dags/none", "", 404, "VX-DAG-015"},
      {"DELETE", "/api/dags/none", "", 404, "VX-DAG-015"},
      {"POST", "/api/dags/none/runs", "", 404, "VX-DAG-015"},
  };
}

std::vector<Bad> bad_dags() {
  const std::string dag = one_task_dag();
  return {
      {"POST", "/api/runs", "", 400, "VX-REQ-001"},
      {"POST", "/api/runs", "{", 400, "VX-REQ-001"},
      {"POST", "/api/runs", R"({"dag":"x"} trailing)", 400, "VX-REQ-001"},
      {"POST", "/api/runs", "\xff\xfe", 400, "VX-REQ-001"},
      {"POST", "/api/runs", deep(100'000), 400, "VX-REQ-001"},
      {"POST", "/api/runs", "[]", 422, "VX-REQ-002"},
      {"POST", "/api/runs", "{}", 422, "VX-REQ-002"},
      {"POST", "/api/runs", R"({"dag":7})", 422, "VX-REQ-002"},
      {"POST", "/api/runs", R"({"dag":""})", 422, "VX-REQ-002"},
      {"POST", "/api/runs", R"({"dag":"none"})", 404, "VX-DAG-015"},
      {"POST", "/api/runs", R"({"dag":)" + dag + R"(,"parms":{}})", 422, "VX-REQ-002"},
      {"POST", "/api/runs", R"({"dag":)" + dag + R"(,"params":[]})", 422, "VX-REQ-002"},
      {"POST", "/api/runs", R"({"dag":)" + dag + R"(,"labels":{"a":1}})", 422, "VX-REQ-002"},
      {"POST", "/api/runs", R"({"dag":)" + dag + R"(,"labels":{"a":"\u202e"}})", 422, "VX-REQ-002"},
      {"POST", "/api/runs", R"({"dag":)" + dag + R"(,"labels":{"a\u001b":"b"}})", 422,
       "VX-REQ-002"},
      {"POST", "/api/runs", R"({"dag":"\u009bx"})", 422, "VX-REQ-002"},
      {"POST", "/api/runs", R"({"dag":)" + dag + R"(,"dag":)" + dag + "}", 422, "VX-REQ-002"},
      {"POST", "/api/runs", R"({"dag":{"name":"d","tasks":{}}})", 422, "VX-DAG-001"},
      {"POST", "/api/runs", R"({"dag":{"name":"d","tasks":{"a":{"run":["x"],"needs":["a"]}}}})",
       422, "VX-DAG-005"},
      {"POST", "/api/runs", R"({"dag":{"name":"d","tasks":{"a":{"run":["x"],"needs":["b"]}}}})",
       422, "VX-DAG-004"},
      {"POST", "/api/runs", R"({"dag":{"name":"d","tasks":{"a":{"run":["x"],"retires":1}}}})", 422,
       "VX-DAG-014"},
      {"PUT", "/api/dags/other", dag, 422, "VX-DAG-013"},
      {"PUT", "/api/dags/one", "nonsense", 400, "VX-REQ-001"},
      {"POST", "/api/dags/validate", R"({"name":"d"})", 422, "VX-DAG-014"},
  };
}

std::vector<Bad> bad_fleet() {
  return {
      {"POST", "/api/workers", "{}", 422, "VX-REQ-002"},
      {"POST", "/api/workers", R"({"id":"","machine":"m"})", 422, "VX-REQ-002"},
      {"POST", "/api/workers", R"({"id":"a\u202e","machine":"m"})", 422, "VX-REQ-002"},
      {"POST", "/api/workers", R"({"id":"a","machine":"m\u009b"})", 422, "VX-REQ-002"},
      {"POST", "/api/workers", R"({"id":"a","machine":"m","slots":-1})", 422, "VX-REQ-002"},
      {"POST", "/api/workers", R"({"id":"a","machine":"m","slots":0})", 422, "VX-REQ-012"},
      {"POST", "/api/workers/w1/sync", "{}", 422, "VX-REQ-002"},
      {"POST", "/api/workers/w1/sync", "garbage", 400, "VX-REQ-001"},
      {"POST", "/api/workers/no/sync", R"({"incarnation":1,"seq":1,"slots":1})", 409,
       "VX-WORKER-003"},
      {"POST", "/api/workers/w1/sync", R"({"incarnation":1,"seq":1,"slots":1})", 409,
       "VX-WORKER-002"},
      {"POST", "/api/workers/w1/exited", "{}", 422, "VX-REQ-002"},
      {"POST", "/api/workers/w1/exited", R"({"incarnation":1,"started":[{"task":"x"}]})", 422,
       "VX-REQ-002"},
      {"POST", "/api/leases/t/1/acquire", "{}", 422, "VX-REQ-002"},
      {"POST", "/api/leases/t/1/acquire", R"({"agent":7})", 422, "VX-REQ-002"},
      {"POST", "/api/leases/t/1/renew", R"({"agent":"a","epoch":1})", 409, "VX-LEASE-001"},
      {"POST", "/api/leases/t/1/release", R"({"agent":"a","epoch":0})", 422, "VX-REQ-002"},
      {"POST", "/api/leases/t/1/check", R"({"agent":"a","epoch":1})", 409, "VX-LEASE-001"},
      {"POST", "/api/tokens", R"({"name":"a b","role":"viewer"})", 422, "VX-REQ-002"},
      {"POST", "/api/tokens", R"({"name":"a","role":"root"})", 422, "VX-REQ-002"},
      {"DELETE", "/api/tokens/none", "", 404, "VX-AUTH-006"},
      {"POST", "/api/webhooks", R"({"name":"a"})", 422, "VX-REQ-002"},
      {"POST", "/api/webhooks", R"({"name":"a","url":"ftp://h/"})", 422, "VX-REQ-002"},
      {"POST", "/api/webhooks", R"({"name":"a","url":"http://u:p@h/"})", 422, "VX-REQ-002"},
      {"POST", "/api/webhooks", R"({"name":"a/b","url":"http://h/"})", 422, "VX-REQ-002"},
      {"POST", "/api/webhooks", R"({"name":"a","url":"http://h/","kinds":[]})", 422, "VX-REQ-002"},
      {"POST", "/api/webhooks", R"({"name":"a","url":"http://h/","kinds":["run_compelte"]})", 422,
       "VX-REQ-002"},
      {"POST", "/api/webhooks", R"({"name":"a","url":"http://h/","after":-1})", 422, "VX-REQ-002"},
      {"GET", "/api/webhooks/none", "", 404, "VX-HOOK-002"},
      {"POST", "/api/webhooks/none/test", "", 404, "VX-HOOK-002"},
      {"DELETE", "/api/webhooks/none", "", 404, "VX-HOOK-002"},
  };
}

TEST(Malformed, EveryBadRequestHasItsCodeAndChangesNothing) {
  Client client;
  const std::string run = submit(client, one_task_dag());
  ASSERT_EQ(run, "r1");
  join(client, "w1");
  const std::uint64_t before = core::digest(*client.desk.state);
  const std::uint64_t events = client.desk.feed.last_seq();
  std::vector<Bad> corpus;
  for (const auto& some : {bad_paths(), bad_queries(), bad_dags(), bad_fleet()}) {
    corpus.insert(corpus.end(), some.begin(), some.end());
  }
  for (const Bad& bad : corpus) {
    const Answer answer = client.send(make_request(bad.method, bad.target, bad.body));
    const std::string what =
        fmt::format("{} {} {}", bad.method, bad.target, bad.body.substr(0, 80));
    EXPECT_EQ(answer.status, bad.status) << what << " -> " << answer.body;
    ASSERT_EQ(answer.type, "application/problem+json") << what;
    EXPECT_EQ(answer.code(), bad.code) << what << " -> " << answer.body;
    EXPECT_EQ(core::digest(*client.desk.state), before) << what;
  }
  EXPECT_EQ(client.desk.feed.last_seq(), events);
}

TEST(Malformed, FaultsOfSyntaxAreShownWithLineAndColumn) {
  Client client;
  const Answer answer = client.post("/api/runs", "{\n  \"dag\": nope\n}");
  EXPECT_EQ(answer.code(), "VX-REQ-001");
  EXPECT_EQ(answer.number("/errors/0/line"), 2);
  EXPECT_GE(answer.number("/errors/0/column"), 10);
}

TEST(Malformed, FaultsInADagPointIntoTheBody) {
  Client client;
  const Answer answer = client.post(
      "/api/runs",
      "{\"dag\":\n {\"name\":\"d\",\n\"tasks\":{\"resize\":{\"run\":[\"x\"],\n   \"needz\":1}}}}");
  EXPECT_EQ(answer.text("/errors/0/pointer"), "/dag/tasks/resize/needz");
  EXPECT_EQ(answer.text("/hint"), "did you mean 'needs'?");
  EXPECT_EQ(answer.number("/errors/0/line"), 4);
  EXPECT_EQ(answer.number("/errors/0/column"), 4);
}

TEST(Malformed, OnlyJsonIsTakenWhereJsonIsMeant) {
  Client client;
  const std::string body = R"({"dag":)" + one_task_dag() + "}";
  for (const char* type : {"text/plain", "multipart/form-data; boundary=x", "application/jsonp"}) {
    EXPECT_EQ(client.post("/api/runs", body, {{"Content-Type", type}}).code(), "VX-REQ-006")
        << type;
  }
  for (const char* type : {"application/json", "application/json; charset=utf-8",
                           "Application/JSON", "application/cloudevents+json"}) {
    EXPECT_EQ(client.post("/api/runs", body, {{"Content-Type", type}}).status, 201) << type;
  }
}

// `curl -d` calls whatever it sends a form. So may a page of another site, but that has an Origin.
TEST(Malformed, WhatCurlCallsAFormIsTakenButNotFromAnotherSite) {
  Client client;
  const std::string body = R"({"dag":)" + one_task_dag() + "}";
  const net::Headers form{{"Content-Type", "application/x-www-form-urlencoded"}};
  EXPECT_EQ(client.post("/api/runs", body, form).status, 201);
  net::Headers foreign = form;
  foreign.emplace_back("Origin", "http://evil.example");
  EXPECT_EQ(client.post("/api/runs", body, foreign).code(), "VX-AUTH-004");
  EXPECT_EQ(client.get("/api/runs").at("/runs").as_array().size(), 1U);
}

TEST(Malformed, AMistypedParameterIsAnsweredWithTheNearOne) {
  Client client;
  const Answer answer = client.get("/api/runs?sate=Running");
  EXPECT_EQ(answer.text("/hint"), "did you mean 'state'?");
}

TEST(Methods, AreListedByOptionsAndByTheRefusalOfOthers) {
  Client client;
  const Answer options = client.send(make_request("OPTIONS", "/api/dags/x"));
  EXPECT_EQ(options.status, 204);
  EXPECT_EQ(options.header("Allow"), "GET, HEAD, PUT, DELETE, OPTIONS");
  const Answer refused = client.send(make_request("POST", "/api/dags/x"));
  EXPECT_EQ(refused.status, 405);
  EXPECT_EQ(refused.header("Allow"), "GET, HEAD, PUT, DELETE, OPTIONS");
  EXPECT_EQ(client.send(make_request("HEAD", "/api/runs")).status, 200);
  EXPECT_EQ(client.send(make_request("HEAD", "/api/events?follow=true")).status, 200);
}

TEST(RequestIds, AreTakenOverWhenSaneAndMadeWhenNot) {
  Client client;
  EXPECT_EQ(client.get("/livez", {{"X-Request-Id", "abc-1"}}).header("X-Request-Id"), "abc-1");
  EXPECT_NE(client.get("/livez", {{"X-Request-Id", "a\"b"}}).header("X-Request-Id"), "a\"b");
  EXPECT_NE(client.get("/livez").header("X-Request-Id"),
            client.get("/livez").header("X-Request-Id"));
}

TEST(Complaints, OfTheServerAreProblemsToo) {
  Client client;
  const net::Response response = client.api.complain()(413, "too much");
  EXPECT_EQ(response.status, 413);
  const auto json = boost::json::parse(response.body);
  EXPECT_EQ(schema_fault(json, "Problem"), "");
  EXPECT_EQ(json.at("code").as_string(), "VX-REQ-007");
}

}  // namespace
}  // namespace vortex::api
