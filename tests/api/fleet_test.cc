// Workers and leases through the interface.
#include <boost/json/serialize.hpp>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/api/client.h"
#include "tests/api/steps.h"

namespace vortex::api {
namespace {

// The alert of the operators' handbook: `.workers | length`, `select(.state == "OFFLINE")`.
TEST(Workers, V09_AllAreOnTheFirstPageWithTheirState) {
  Client client;
  for (int i = 0; i < 120; ++i) join(client, fmt::format("w{:03}", i));
  const Answer session = client.get("/api/workers/w007");
  client.post("/api/workers/w007/exited",
              fmt::format(R"({{"incarnation":{}}})", session.number("/incarnation")));
  const Answer answer = client.get("/api/workers");
  const auto& workers = answer.at("/workers").as_array();
  EXPECT_EQ(workers.size(), 120U);
  const auto offline = std::ranges::count_if(
      workers, [](const auto& worker) { return worker.at("state").as_string() == "OFFLINE"; });
  EXPECT_EQ(offline, 1);
}

TEST(Workers, S01_AreFoundByZoneGroupMachineAndLife) {
  Client client;
  const auto join_in = [&](const char* id, const char* zone, const char* group) {
    client.post("/api/workers",
                fmt::format(R"({{"id":"{}","machine":"m-{}","zone":"{}","group":"{}",)"
                            R"("address":"127.0.0.1:1","metadata":{{"k":1}}}})",
                            id, id, zone, group));
  };
  join_in("a", "z1", "g1");
  join_in("b", "z1", "g2");
  join_in("c", "z2", "g1");
  const auto found = [&](const std::string& filter) {
    std::string out;
    const Answer page = client.get("/api/workers?" + filter);
    for (const auto& worker : page.at("/workers").as_array()) out += worker.at("id").as_string();
    return out;
  };
  EXPECT_EQ(found("zone=z1"), "ab");
  EXPECT_EQ(found("group=g1"), "ac");
  EXPECT_EQ(found("zone=z1&group=g1"), "a");
  EXPECT_EQ(found("machine=m-c"), "c");
  client.post("/api/workers/b/reset-state");
  EXPECT_EQ(found("live=true"), "ac");
  EXPECT_EQ(found("state=OFFLINE"), "b");
  EXPECT_EQ(found("state=offline"), "b");
}

TEST(Workers, AreProbedWhereTheyCallFromUnlessMoreIsAllowed) {
  Client client;
  const auto register_at = [&](const std::string& address, const std::string& peer) {
    auto request =
        make_request("POST", "/api/workers",
                     fmt::format(R"({{"id":"w","machine":"m","address":"{}"}})", address));
    request.peer = peer;
    return client.send(std::move(request));
  };
  const std::string from = "192.0.2.7:5555";
  EXPECT_EQ(register_at("192.0.2.7:80", from).status, 200);
  EXPECT_EQ(register_at("192.0.2.7:80", "::ffff:192.0.2.7:5555").status, 200);
  EXPECT_EQ(register_at("[2001:db8::1]:80", "[2001:db8::1]:5555").status, 200);
  EXPECT_EQ(register_at("", from).status, 200);
  for (const char* other : {"192.0.2.8:80", "127.0.0.1:22", "169.254.169.254", "[::1]:80",
                            "intranet:80", "192.0.2.7.example.org:80"}) {
    const Answer refused = register_at(other, from);
    EXPECT_EQ(refused.status, 422) << other;
    EXPECT_EQ(refused.code(), "VX-WORKER-007") << other;
  }
  client.desk.edit_settings().worker_networks = "10.0.0.0/8";
  EXPECT_EQ(register_at("10.1.1.1:80", from).status, 200);
  EXPECT_EQ(register_at("intranet:80", from).status, 200) << "judged when it is resolved";
  EXPECT_EQ(register_at("127.0.0.1:22", from).status, 422);
}

TEST(Workers, OneThatHasLeftIsNotUncordonedAndTheAnswerSaysSinceWhen) {
  Client client;
  Worker worker = join(client, "w");
  client.post("/api/workers/w/cordon");
  sync(client, worker, R"(,"leaving":"gone")", 0);
  ASSERT_EQ(client.get("/api/workers/w").text("/state"), "INACTIVE");
  const Answer refused = client.post("/api/workers/w/uncordon");
  EXPECT_EQ(refused.status, 409);
  EXPECT_TRUE(
      refused.text("/detail").starts_with("worker 'w' has left; it was last heard from at 20"))
      << refused.text("/detail");
  EXPECT_EQ(client.post("/api/workers/x/uncordon").status, 404);
}

TEST(Workers, RegisterAgainWithTheSameLifeOrANewOneButNotWithAnOldOne) {
  Client client;
  const auto join_as = [&](std::int64_t incarnation, const std::string& session = {}) {
    return client.post("/api/workers",
                       fmt::format(R"({{"id":"w","machine":"m","incarnation":{}}})", incarnation),
                       {{"Vortex-Session", session}});
  };
  const Answer first = join_as(5);
  EXPECT_EQ(first.number("/incarnation"), 5);
  EXPECT_EQ(join_as(5).status, 409) << "it may be somebody else";
  EXPECT_EQ(join_as(5, first.text("/session")).status, 200);
  EXPECT_EQ(join_as(6).status, 200);
  const Answer old = join_as(5);
  EXPECT_EQ(old.status, 409);
  EXPECT_EQ(old.code(), "VX-WORKER-002");
  EXPECT_EQ(old.text("/why"), "stale_incarnation");
  EXPECT_EQ(old.number("/current"), 6);
}

TEST(Workers, ChooseNoIncarnationAndGetOneThatGrows) {
  Client client;
  const Worker first = join(client, "w");
  client.desk.advance(seconds(1));
  const Worker second = join(client, "w");
  EXPECT_GT(second.incarnation, first.incarnation);
}

TEST(Sync, IsRefusedWithTheReasonAndTheCurrentLife) {
  Client client;
  Worker worker = join(client, "w");
  EXPECT_EQ(sync(client, worker).status, 200);
  --worker.seq;
  const Answer old = sync(client, worker);
  EXPECT_EQ(old.code(), "VX-WORKER-005");
  client.post("/api/workers/w/reset-state");
  const Answer ended = sync(client, worker);
  EXPECT_EQ(ended.status, 409);
  EXPECT_EQ(ended.code(), "VX-WORKER-004");
  EXPECT_EQ(ended.text("/why"), "session_ended");
  EXPECT_EQ(ended.number("/current"), worker.incarnation);
}

TEST(Sync, AParkedCallIsAnsweredWhenWorkComes) {
  Client client;
  const Worker worker = join(client, "w");
  auto parked = client.begin(make_request(
      "POST", "/api/workers/w/sync",
      fmt::format(R"({{"incarnation":{},"seq":1,"slots":1,"wait_ms":400}})", worker.incarnation)));
  client.get("/livez");
  EXPECT_FALSE(parked->response.has_value());
  submit(client, one_task_dag());
  client.until([&] { return parked->response.has_value(); });
  EXPECT_EQ(parked->response->status, 200);
  EXPECT_NE(parked->response->body.find("\"r1-L0-0\""), std::string::npos);
}

TEST(Sync, AParkedCallThatIsCutMakesTheWorkerSuspect) {
  Client client;
  const Worker worker = join(client, "w");
  auto parked = client.begin(make_request(
      "POST", "/api/workers/w/sync",
      fmt::format(R"({{"incarnation":{},"seq":1,"slots":1,"wait_ms":400}})", worker.incarnation)));
  client.get("/livez");
  parked->hang_up();
  client.until([&] { return parked->response.has_value(); });
  EXPECT_TRUE(client.get("/api/workers/w").at("/suspect").as_bool());
}

TEST(Workers, ProofOfExitNamesWhatRanInItAlthoughItWasNotReported) {
  Client client;
  Worker worker = join(client, "w1");
  submit(client, one_task_dag());
  const Held held = take(client, worker);
  const std::string body = fmt::format(
      R"({{"incarnation":{},"started":[{{"task":"{}","epoch":{},"newer":1}}],"newer":2}})",
      worker.incarnation, held.task, held.epoch);
  EXPECT_EQ(client.post("/api/workers/w1/exited", body).status, 204);
  EXPECT_EQ(client.get("/api/tasks/" + held.task).number("/crashes"), 1);
}

TEST(Workers, V03_ProofOfExitMovesTheTaskAndLeavesALedger) {
  Client client;
  Worker first = join(client, "w1");
  const std::string run = submit(client, one_task_dag());
  const Held held = take(client, first);
  report(client, first, held, R"("kind":"started")");
  EXPECT_EQ(
      client
          .post("/api/workers/w1/exited", fmt::format(R"({{"incarnation":{}}})", first.incarnation))
          .status,
      204);
  Worker second = join(client, "w2");
  EXPECT_EQ(take(client, second).task, held.task);
  const Answer ledger = client.get("/api/recoveries?worker=w1");
  EXPECT_EQ(ledger.text("/recoveries/0/evidence"), "exit");
  EXPECT_EQ(ledger.number("/recoveries/0/num_tasks"), 1);
  const Answer entry =
      client.get(fmt::format("/api/recoveries/{}", ledger.number("/recoveries/0/id")));
  EXPECT_EQ(entry.text("/items/0/task"), held.task);
  EXPECT_EQ(entry.text("/items/0/new_worker"), "w2");
  EXPECT_EQ(client.get("/api/status").number("/requeued_last_hour"), 1);
  EXPECT_EQ(client.get("/api/recoveries?task=" + held.task).at("/recoveries").as_array().size(),
            1U);
}

TEST(Mistakes, NamesThatNobodyHasGetTheNearestOneOrTheNewest) {
  Client client;
  Worker worker = join(client, "w1");
  submit(client, one_task_dag());
  take(client, worker);
  client.post("/api/workers/w1/exited", fmt::format(R"({{"incarnation":{}}})", worker.incarnation));
  const Answer recovery = client.get("/api/recoveries/99");
  EXPECT_EQ(recovery.code(), "VX-REC-001");
  EXPECT_EQ(recovery.text("/near/0"), "1") << recovery.body;
  const Answer queue = client.post("/api/queues/defalt/pause");
  EXPECT_EQ(queue.status, 404);
  EXPECT_EQ(queue.code(), "VX-QUEUE-001");
  EXPECT_EQ(queue.text("/near/0"), "default") << queue.body;
  const Answer far = client.post("/api/queues/elsewhere/pause");
  EXPECT_EQ(far.json.at("near"), boost::json::array{"default"}) << far.body;
  EXPECT_EQ(client.post("/api/queues/default/pause").status, 200);
}

TEST(Fence, HoldsWhileTheAttemptDoes) {
  Client client;
  Worker worker = join(client, "w1");
  submit(client, one_task_dag());
  const Held held = take(client, worker);
  const std::string fence = fmt::format("/api/tasks/{}/fence?epoch=", held.task);
  EXPECT_EQ(client.get(fence + fmt::to_string(held.epoch)).status, 200);
  EXPECT_EQ(client.get(fence + fmt::to_string(held.epoch + 1)).status, 409);
  client.post("/api/workers/w1/reset-state");
  EXPECT_EQ(client.get(fence + fmt::to_string(held.epoch)).code(), "VX-TASK-002");
}

TEST(Leases, S02_S03_OneHolderAtATimeAndTheEpochGrows) {
  Client client;
  const std::string at = "/api/leases/orders/0";
  const Answer a = client.post(at + "/acquire", R"({"agent":"a"})");
  EXPECT_TRUE(a.at("/live").as_bool());
  EXPECT_EQ(client.post(at + "/acquire", R"({"agent":"b"})").code(), "VX-LEASE-002");
  const std::string held = fmt::format(R"({{"agent":"a","epoch":{}}})", a.number("/epoch"));
  client.desk.advance(seconds(20));
  EXPECT_EQ(client.post(at + "/renew", held).status, 200);
  client.desk.advance(seconds(31));
  const Answer expired = client.post(at + "/renew", held);
  EXPECT_EQ(expired.status, 409);
  EXPECT_EQ(expired.code(), "VX-LEASE-001");
  EXPECT_EQ(expired.text("/title"), "LeaseNotHeld");
  EXPECT_FALSE(client.get(at).at("/live").as_bool());
  const Answer b = client.post(at + "/acquire", R"({"agent":"b"})");
  EXPECT_GT(b.number("/epoch"), a.number("/epoch"));
  EXPECT_EQ(client.post(at + "/check", held).status, 409);
  const std::string held_b = fmt::format(R"({{"agent":"b","epoch":{}}})", b.number("/epoch"));
  EXPECT_EQ(client.post(at + "/release", held_b).status, 204);
  EXPECT_TRUE(client.get(at).at("/agent").is_null());
}

TEST(Leases, S02_AnswersSayWhenToRenew) {
  Client client;
  const std::string at = "/api/leases/orders/0";
  const Answer granted = client.post(at + "/acquire", R"({"agent":"a"})");
  EXPECT_EQ(granted.number("/renew_after_ms"), 20'000);
  EXPECT_EQ(granted.number("/expires_in_ms"), 30'000);
  EXPECT_LT(granted.text("/renew_at"), granted.text("/expires_at"));
  const std::string held = fmt::format(R"({{"agent":"a","epoch":{}}})", granted.number("/epoch"));
  client.desk.advance(seconds(12));
  const Answer checked = client.post(at + "/check", held);
  EXPECT_EQ(checked.number("/renew_after_ms"), 8'000);
  EXPECT_EQ(checked.number("/expires_in_ms"), 18'000);
  client.desk.advance(seconds(10));
  EXPECT_EQ(client.post(at + "/check", held).number("/renew_after_ms"), 0);
  EXPECT_EQ(client.post(at + "/renew", held).number("/renew_after_ms"), 20'000);
}

TEST(Workers, V02_ActiveIsIdleOrRunning) {
  Client client;
  Worker busy = join(client, "busy");
  join(client, "new");
  submit(client, one_task_dag());
  const Held held = take(client, busy);
  report(client, busy, held, R"("kind":"started")");
  const auto count = [&](const std::string& state) {
    return client.get("/api/workers?state=" + state).at("/workers").as_array().size();
  };
  EXPECT_EQ(count("ACTIVE"), 1U);
  EXPECT_EQ(count("active"), 1U);
  EXPECT_EQ(count("REGISTERING"), 1U);
  EXPECT_EQ(client.get("/api/workers?state=BUSY").code(), "VX-REQ-003");
}

TEST(Status, V07_ShowsWorkersAndTasksByState) {
  Client client;
  Worker worker = join(client, "w1");
  join(client, "w2");
  submit(client, map_dag("m", 3));
  const Held held = take(client, worker);
  report(client, worker, held, R"("kind":"started")");
  const Answer status = client.get("/api/status");
  EXPECT_EQ(status.number("/workers/RUNNING"), 1);
  EXPECT_EQ(status.number("/workers_active"), 1);
  EXPECT_EQ(status.number("/workers_registering"), 1);
  EXPECT_EQ(status.number("/tasks/Running"), 1);
  EXPECT_EQ(status.number("/tasks/Queued"), 2);
  EXPECT_EQ(status.number("/queues/0/ready"), 2);
}

TEST(Timings, FollowTheSettings) {
  Client client;
  const Answer answer = client.get("/api/timings");
  const ControllerSettings& c = client.desk.settings().settings.controller;
  std::map<std::string, std::int64_t> worst;
  for (const auto& timing : answer.at("/timings").as_array()) {
    worst[std::string(timing.at("evidence").as_string())] =
        timing.at("worst_ms").to_number<std::int64_t>();
  }
  EXPECT_EQ(worst.at("proof"), 0);
  EXPECT_EQ(worst.at("hint"), (c.reconnect_grace + c.sweep_interval).us / 1'000);
  EXPECT_EQ(worst.at("silence"), (c.heartbeat_timeout + c.sweep_interval).us / 1'000);
  EXPECT_LT(worst.at("silence"), worst.at("not_started"));
  EXPECT_EQ(worst.size(), 6U);
}

// What /api/timings says about silence is what the core does.
TEST(Timings, SilenceIsNoLongerThanSaid) {
  Client client;
  Worker worker = join(client, "w1");
  submit(client, one_task_dag());
  take(client, worker);
  std::int64_t worst = 0;
  const Answer answer = client.get("/api/timings");
  for (const auto& timing : answer.at("/timings").as_array()) {
    if (timing.at("evidence").as_string() == "silence") {
      worst = timing.at("worst_ms").to_number<std::int64_t>();
    }
  }
  client.desk.advance(millis(worst));
  EXPECT_EQ(client.get("/api/workers/w1").text("/state"), "OFFLINE");
  EXPECT_EQ(client.get("/api/tasks/r1-L0-0").text("/state"), "Queued");
}

constexpr std::string_view kTwoTasks =
    R"({"name":"two","tasks":{"hello":{"run":["true"]},
        "next":{"needs":["hello"],"shell":["bash","-euc"],"run":["echo $1","${{ run.id }} x"],
                "env":{"N":"${{ tasks.hello.outputs.NAME }}"},"workdir":"/srv/${{ task.name }}",
                "retry":{"max":0}}}})";

std::string two_tasks_reading(const std::string& name) {
  std::string dag(kTwoTasks);
  return dag.replace(dag.find("NAME"), 4, name);
}

TEST(Workers, AnAssignmentCarriesValuesInPlaceOfExpressions) {
  Client client;
  Worker worker = join(client, "w1", 1);
  const std::string run = submit(client, two_tasks_reading("answer"));
  complete(client, worker, take(client, worker));
  const Answer answer = sync(client, worker);
  ASSERT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(boost::json::serialize(answer.at("/assignments/0/run")),
            "[\"bash\",\"-euc\",\"echo $1\",\"" + run + " x\"]");
  EXPECT_EQ(answer.text("/assignments/0/env/N"), "42");
  EXPECT_EQ(answer.text("/assignments/0/workdir"), "/srv/next");
  EXPECT_GT(answer.number("/assignments/0/kill_grace_ms"), 0);
  const auto& assignment = answer.at("/assignments/0").as_object();
  for (const char* gone : {"params", "inputs", "shell"}) EXPECT_FALSE(assignment.contains(gone));
}

TEST(Workers, AnExpressionWithoutAValueFailsTheAttemptWithItsPlace) {
  Client client;
  Worker worker = join(client, "w1", 1);
  const std::string run = submit(client, two_tasks_reading("gone"));
  complete(client, worker, take(client, worker));
  const Answer answer = sync(client, worker);
  ASSERT_EQ(answer.status, 200) << answer.body;
  EXPECT_FALSE(answer.json.as_object().contains("assignments")) << answer.body;
  const Answer task = client.get("/api/tasks/" + run + "-L1-1");
  EXPECT_EQ(task.text("/state"), "Failed") << task.body;
  EXPECT_NE(task.body.find("cannot resolve env.N: tasks.hello.outputs.gone: there is no 'gone'"),
            std::string::npos)
      << task.body;
}

TEST(Workers, ATaskIsGivenWhatAllItemsOfAMapHaveWritten) {
  Client client;
  Worker worker = join(client, "w1", 1);
  const std::string dag =
      R"({"name":"gather","tasks":{)"
      R"("m":{"map":{"over":"${{ params.hosts }}","as":"host"},"run":["ping","${{ map.host }}"]},)"
      R"("last":{"needs":["m"],"run":["echo","${{ join(tasks.m.outputs.answer, '+') }}"],)"
      R"("inputs":["${{ tasks.m.outputs.answer }}"]}}})";
  const std::string run =
      client.post("/api/runs", "{\"dag\":" + dag + R"(,"params":{"hosts":["x",{"y": 1}]}})")
          .text("/id");
  EXPECT_EQ(client.get("/api/runs/" + run).number("/tasks"), 3);
  EXPECT_EQ(client.get("/api/runs/" + run + "/dag").number("/late_maps/m"), 2);
  for (const char* item : {"x", R"({"y":1})"}) {
    const Held held = take(client, worker);
    const Answer task = client.get("/api/tasks/" + held.task);
    EXPECT_EQ(task.text("/map/item"), item);
    complete(client, worker, held);
  }
  EXPECT_EQ(client.get("/api/runs/" + run + "/tasks?node=m").at("/tasks").as_array().size(), 2U);
  const Answer answer = sync(client, worker);
  ASSERT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(answer.text("/assignments/0/run/1"), "42+42");
  EXPECT_EQ(boost::json::serialize(answer.at("/assignments/0/inputs")),
            R"({"m":{"answer":[42,42]}})");
}

}  // namespace
}  // namespace vortex::api
