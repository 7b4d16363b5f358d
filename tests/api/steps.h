#pragma once
// The things that many tests of the interface do first: a run, a worker, a task that is held.
// Each goes through the interface itself and fails the test when it is refused.

#include <cstdint>
#include <string>

#include "tests/api/client.h"

namespace vortex::api {

// One task `hello` that runs `true`, without retries.
std::string one_task_dag(const std::string& name = "one");
std::string map_dag(const std::string& name, int items);

std::string submit(Client& client, const std::string& dag);  // the id of the run

struct Worker {
  std::string id;
  std::int64_t incarnation = 0;
  std::uint64_t seq = 0;
  std::string session = {};
};
net::Headers session_of(const Worker& worker);
Worker join(Client& client, const std::string& id, int slots = 1);

// One sync that is answered at once. `more` are further members of the body, each with a comma
// before it.
Answer sync(Client& client, Worker& worker, const std::string& more = {}, int slots = 1);

struct Held {
  std::string task;
  std::int64_t epoch = 0;
  std::string token = {};
};
// The one assignment that the worker gets now.
Held take(Client& client, Worker& worker);
void report(Client& client, Worker& worker, const Held& held, const std::string& what);
void fail(Client& client, Worker& worker, const Held& held);
void complete(Client& client, Worker& worker, const Held& held);

}  // namespace vortex::api
