// Acts on many things at once: as many as the caller has seen, or none.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/api/client.h"
#include "tests/api/steps.h"
#include "tests/core/digest.h"

namespace vortex::api {
namespace {

// A map whose items are given up the first time they fail.
std::string mortal_dag(int items) {
  return fmt::format(R"({{"name":"m","tasks":{{"item":{{"run":["true"],"retry":{{"max":0}},)"
                     R"("map":{{"over":{{"range":{{"from":1,"to":{}}}}}}}}}}}}})",
                     items);
}

// A run whose tasks all have an open letter.
std::string dead_run(Client& client, int tasks) {
  const std::string run = submit(client, mortal_dag(tasks));
  Worker worker = join(client, "w-" + run);
  for (int i = 0; i < tasks; ++i) {
    Held held = take(client, worker);
    fail(client, worker, held);
  }
  EXPECT_EQ(client.post("/api/workers/w-" + run + "/drain").status, 200);
  return run;
}

std::int64_t open_letters(Client& client) {
  return client.get("/api/status").number("/dead_letters");
}

TEST(Bulk, AllOpenLettersAreRedriven) {
  Client client;
  const std::string first = dead_run(client, 3);
  const std::string second = dead_run(client, 2);
  const Answer done = client.post("/api/dead-letters/retry", R"({"expected":5})");
  EXPECT_EQ(done.status, 200) << done.body;
  EXPECT_EQ(done.number("/done"), 5);
  EXPECT_TRUE(done.at("/refused").as_array().empty());
  EXPECT_EQ(open_letters(client), 0);
  EXPECT_EQ(client.get("/api/runs/" + first).number("/counts/Queued"), 3);
  EXPECT_EQ(client.get("/api/runs/" + second).text("/state"), "Running");
}

TEST(Bulk, AFilterLimitsItToOneRun) {
  Client client;
  const std::string first = dead_run(client, 3);
  const std::string second = dead_run(client, 2);
  const Answer done = client.post("/api/dead-letters/discard",
                                  fmt::format(R"({{"run":"{}","expected":2}})", second));
  EXPECT_EQ(done.number("/done"), 2) << done.body;
  EXPECT_EQ(open_letters(client), 3);
  EXPECT_EQ(client.get(fmt::format("/api/dead-letters/{}-L0-0", second)).text("/state"),
            "discarded");
  EXPECT_EQ(client.get(fmt::format("/api/dead-letters/{}-L0-0", first)).text("/state"), "open");
}

TEST(Bulk, ACountThatDriftedIsRefusedAndNothingIsDone) {
  Client client;
  const std::string run = dead_run(client, 3);
  const std::uint64_t before = core::digest(*client.desk.state);
  for (const char* verb : {"retry", "discard"}) {
    for (const int expected : {1, 2, 4, 1000}) {
      for (const std::string& filter : {std::string(), fmt::format(R"("run":"{}",)", run)}) {
        const Answer no = client.post(fmt::format("/api/dead-letters/{}", verb),
                                      fmt::format(R"({{{}"expected":{}}})", filter, expected));
        EXPECT_EQ(no.status, 409) << no.body;
        EXPECT_EQ(no.code(), "VX-DLQ-002");
      }
    }
  }
  EXPECT_EQ(core::digest(*client.desk.state), before);
  EXPECT_EQ(client.post("/api/dead-letters/retry", R"({"expected":4})").text("/detail"),
            "there are 3 open dead letters now, not 4");
  EXPECT_EQ(client.post("/api/dead-letters/retry", R"({"expected":1,"run":"r77"})").text("/detail"),
            "there are 0 open dead letters now, not 1");
}

TEST(Bulk, WithoutACountOrWithAnUnknownFilterItIsRefused) {
  Client client;
  dead_run(client, 1);
  for (const char* body :
       {"", "{}", R"({"expected":0})", R"({"expected":-1})", R"({"expected":"1"})",
        R"({"expected":1,"dag":"m"})", R"({"expected":1,"run":"x"})", R"({"expected":100001})"}) {
    const Answer no = client.post("/api/dead-letters/retry", body);
    EXPECT_TRUE(no.status == 422 || no.status == 400) << body << no.body;
  }
  EXPECT_EQ(open_letters(client), 1);
}

TEST(Bulk, WhatCannotBeRetriedIsNamedAndTheRestIsDone) {
  Client client;
  dead_run(client, 2);
  // A run that is ending, with one failed task and one that still runs.
  const std::string ending = submit(client, mortal_dag(2));
  Worker worker = join(client, "w", 2);
  Held held = take(client, worker);
  fail(client, worker, held);
  take(client, worker);
  EXPECT_EQ(client.post(fmt::format("/api/runs/{}/cancel", ending)).status, 200);
  const Answer done = client.post("/api/dead-letters/retry", R"({"expected":3})");
  EXPECT_EQ(done.status, 200) << done.body;
  EXPECT_EQ(done.number("/done"), 2);
  EXPECT_EQ(done.text("/refused/0/task"), held.task);
  EXPECT_EQ(done.text("/refused/0/code"), "VX-RUN-003");
  EXPECT_EQ(open_letters(client), 1);
}

TEST(Bulk, AControllerThatDoesNotLeadDoesNothing) {
  Client client;
  dead_run(client, 2);
  client.desk.unserved = UnservedError{Unserved::kNotLeader, "another one leads", seconds(1)};
  EXPECT_EQ(client.post("/api/dead-letters/retry", R"({"expected":2})").code(), "VX-CTL-001");
  client.desk.unserved.reset();
  EXPECT_EQ(open_letters(client), 2);
}

}  // namespace
}  // namespace vortex::api
