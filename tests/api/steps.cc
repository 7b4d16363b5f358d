#include "tests/api/steps.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace vortex::api {

std::string one_task_dag(const std::string& name) {
  return fmt::format(
      R"({{"name":"{}","tasks":{{"hello":{{"run":["true"],"retry":{{"max":0}}}}}}}})", name);
}

std::string map_dag(const std::string& name, int items) {
  return fmt::format(
      R"({{"name":"{}","tasks":{{"item":{{"run":["true"],"map":{{"over":{{"range":{{"from":1,"to":{}}}}}}}}}}}}})",
      name, items);
}

std::string submit(Client& client, const std::string& dag) {
  const Answer run = client.post("/api/runs", fmt::format(R"({{"dag":{}}})", dag));
  EXPECT_EQ(run.status, 201) << run.body;
  return run.text("/id");
}

Worker join(Client& client, const std::string& id, int slots) {
  const Answer session =
      client.post("/api/workers",
                  fmt::format(R"({{"id":"{}","machine":"m1","slots":{},"zone":"z1","group":"g1"}})",
                              id, slots));
  EXPECT_EQ(session.status, 200) << session.body;
  return {id, session.number("/incarnation"), 0, session.text("/session")};
}

net::Headers session_of(const Worker& worker) { return {{"Vortex-Session", worker.session}}; }

Answer sync(Client& client, Worker& worker, const std::string& more, int slots) {
  return client.post(fmt::format("/api/workers/{}/sync", worker.id),
                     fmt::format(R"({{"incarnation":{},"seq":{},"slots":{}{}}})",
                                 worker.incarnation, ++worker.seq, slots, more),
                     session_of(worker));
}

Held take(Client& client, Worker& worker) {
  const Answer answer = sync(client, worker);
  EXPECT_EQ(answer.status, 200) << answer.body;
  if (!answer.json.as_object().contains("assignments")) {
    ADD_FAILURE() << "nothing was assigned: " << answer.body;
    return {};
  }
  return {answer.text("/assignments/0/task"), answer.number("/assignments/0/epoch"),
          answer.text("/assignments/0/token")};
}

void report(Client& client, Worker& worker, const Held& held, const std::string& what) {
  const Answer answer = sync(
      client, worker,
      fmt::format(R"(,"reports":[{{"task":"{}","epoch":{},{}}}])", held.task, held.epoch, what), 0);
  EXPECT_EQ(answer.status, 200) << answer.body;
}

void fail(Client& client, Worker& worker, const Held& held) {
  report(client, worker, held, R"("kind":"started")");
  report(client, worker, held,
         R"("kind":"failed","cause":"exit_code","code":3,"message":"it broke")");
}

void complete(Client& client, Worker& worker, const Held& held) {
  report(client, worker, held, R"("kind":"started")");
  report(client, worker, held, R"("kind":"completed","outputs":{"answer":42})");
}

}  // namespace vortex::api
