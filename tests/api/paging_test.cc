// Pages: walked to their end they show everything once.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/api/client.h"
#include "tests/api/steps.h"

namespace vortex::api {
namespace {

// The values of `key` of all items, page by page.
std::vector<std::string> walk(Client& client, std::string path, const char* items,
                              const char* key) {
  std::vector<std::string> seen;
  const std::string first = path;
  for (int pages = 0; pages < 100; ++pages) {
    const Answer page = client.get(path);
    EXPECT_EQ(page.status, 200) << page.body;
    for (const auto& item : page.json.at(items).as_array()) {
      const auto& value = item.at(key);
      seen.emplace_back(value.is_string() ? std::string(value.as_string())
                                          : boost::json::serialize(value));
    }
    if (page.at("/next_cursor").is_null()) return seen;
    path = first + "&cursor=" + page.text("/next_cursor");
  }
  ADD_FAILURE() << "the pages of " << first << " do not end";
  return seen;
}

void expect_all(std::vector<std::string> seen, std::size_t count) {
  EXPECT_EQ(seen.size(), count);
  std::ranges::sort(seen);
  EXPECT_EQ(std::unique(seen.begin(), seen.end()), seen.end()) << "something was shown twice";
}

TEST(Paging, RunsTasksAndDagsAreWalkedToTheirEnd) {
  Client client;
  for (int i = 0; i < 7; ++i) submit(client, one_task_dag(fmt::format("d{}", i)));
  const std::string run = submit(client, map_dag("m", 23));
  for (int i = 0; i < 5; ++i) {
    const std::string name = fmt::format("d{}", i);
    client.put("/api/dags/" + name, one_task_dag(name));
  }
  expect_all(walk(client, "/api/runs?limit=3", "runs", "id"), 8);
  expect_all(walk(client, "/api/runs?limit=8", "runs", "id"), 8);
  expect_all(walk(client, "/api/tasks?limit=4", "tasks", "id"), 30);
  expect_all(walk(client, "/api/tasks?limit=4&run=" + run, "tasks", "id"), 23);
  expect_all(walk(client, "/api/runs/" + run + "/tasks?limit=5", "tasks", "id"), 23);
  expect_all(walk(client, "/api/dags?limit=2", "dags", "name"), 5);
}

TEST(Paging, WorkersLeasesAndLedgerAreWalkedToTheirEnd) {
  Client client;
  for (int i = 0; i < 6; ++i) {
    Worker worker = join(client, fmt::format("w{}", i));
    sync(client, worker);
    client.post(fmt::format("/api/leases/t{}/{}/acquire", i % 2, i), R"({"agent":"a"})");
    client.post(fmt::format("/api/workers/w{}/exited", i),
                fmt::format(R"({{"incarnation":{}}})", worker.incarnation));
  }
  expect_all(walk(client, "/api/workers?limit=4", "workers", "id"), 6);
  expect_all(walk(client, "/api/leases?limit=4", "leases", "partition"), 6);
  expect_all(walk(client, "/api/leases?limit=2&topic=t1", "leases", "partition"), 3);
}

TEST(Paging, RunsAreShownNewestFirst) {
  Client client;
  for (int i = 0; i < 3; ++i) submit(client, one_task_dag());
  EXPECT_EQ(walk(client, "/api/runs?limit=2", "runs", "id"),
            (std::vector<std::string>{"r3", "r2", "r1"}));
}

TEST(Paging, EventsAreWalkedByTheirSequence) {
  Client client;
  for (int i = 0; i < 5; ++i) submit(client, one_task_dag());
  std::uint64_t after = 0;
  std::uint64_t seen = 0;
  while (true) {
    const Answer page = client.get(fmt::format("/api/events?limit=2&after={}", after));
    for (const auto& event : page.json.at("events").as_array()) {
      EXPECT_EQ(event.at("seq").to_number<std::uint64_t>(), ++seen);
    }
    const auto next = page.json.at("next_after").to_number<std::uint64_t>();
    if (next == after) break;
    after = next;
  }
  EXPECT_EQ(seen, client.desk.feed.last_seq());
  EXPECT_GE(seen, 5U);
}

}  // namespace
}  // namespace vortex::api
