// Runs that keep results of earlier ones, and runs that start later.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "model/schedule.h"
#include "tests/api/client.h"
#include "tests/api/steps.h"

namespace vortex::api {
namespace {

std::string line_dag(const std::string& last = "c") {
  return R"({"name":"line","params":{"n":{"type":"number","default":1},"m":{"type":"number","default":1}},)"
         R"("tasks":{"a":{"run":["a"],"outputs":["x"]},)"
         R"("b":{"run":["b","${{ params.n }}"],"needs":["a"]},)"
         R"("c":{"run":[")" +
         last + R"("],"needs":["b"],"retry":{"max":0}}}})";
}

void complete_with(Client& client, Worker& worker, const std::string& outputs) {
  const Held held = take(client, worker);
  report(client, worker, held, R"("kind":"started")");
  report(client, worker, held, R"("kind":"completed","outputs":)" + outputs);
}

// r1: a and b have completed, c has failed.
void make_first(Client& client, Worker& worker) {
  submit(client, line_dag());
  complete_with(client, worker, R"({"x":1})");
  complete(client, worker, take(client, worker));
  fail(client, worker, take(client, worker));
  EXPECT_EQ(client.get("/api/runs/r1").text("/state"), "Failed");
}

class Reruns : public ::testing::Test {
 protected:
  Reruns() : worker(join(client, "w")) { make_first(client, worker); }

  std::string reused(const std::string& task) {
    const Answer answer = client.get("/api/tasks/" + task);
    return answer.at("/reused_from").is_null() ? "" : answer.text("/reused_from");
  }

  Client client;
  Worker worker;
};

TEST_F(Reruns, KeepWhatHasCompleted) {
  const Answer made = client.post("/api/runs/r1/rerun", R"({"keep":true})");
  EXPECT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(made.text("/rerun_of"), "r1");
  EXPECT_EQ(made.number("/counts/Completed"), 2);
  EXPECT_EQ(reused("r2-L0-0"), "r1-L0-0");
  EXPECT_EQ(client.get("/api/tasks/r2-L0-0").at("/outputs/x").as_int64(), 1);
  EXPECT_EQ(take(client, worker).task, "r2-L2-2");
  EXPECT_EQ(client.get("/api/tasks/r2-L0-0/explain").text("/details/0"),
            "it did not run: its result is that of r1-L0-0");
}

TEST_F(Reruns, WithoutKeepingStartFromTheBeginning) {
  const Answer made = client.post("/api/runs/r1/rerun");
  EXPECT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(made.number("/counts/Completed"), 0);
  EXPECT_TRUE(made.at("/rerun_of").is_null());
  EXPECT_EQ(take(client, worker).task, "r2-L0-0");
}

TEST_F(Reruns, RunAgainWhatReadsAChangedParam) {
  const Answer other = client.post("/api/runs/r1/rerun", R"({"params":{"m":5},"keep":true})");
  EXPECT_EQ(other.number("/counts/Completed"), 2) << other.body;
  const Answer read = client.post("/api/runs/r1/rerun", R"({"params":{"n":5},"keep":true})");
  EXPECT_EQ(read.number("/counts/Completed"), 1) << read.body;
  EXPECT_EQ(read.number("/params/n"), 5);
  EXPECT_EQ(read.number("/params/m"), 1);
}

TEST_F(Reruns, RunAgainWhatIsNamedAndEverythingBehindIt) {
  const Answer made = client.post("/api/runs/r1/rerun", R"({"keep":true,"again":["b"]})");
  EXPECT_EQ(made.number("/counts/Completed"), 1) << made.body;
  const Answer typo = client.post("/api/runs/r1/rerun", R"({"keep":true,"again":["bb"]})");
  EXPECT_EQ(typo.status, 422) << typo.body;
  EXPECT_NE(typo.body.find("'line' has no task 'bb'"), std::string::npos) << typo.body;
  const Answer nothing = client.post("/api/runs/r1/rerun", R"({"again":["b"]})");
  EXPECT_EQ(nothing.status, 422) << nothing.body;
  EXPECT_EQ(client.post("/api/runs/r99/rerun").code(), "VX-RUN-001");
}

TEST_F(Reruns, OneKeyMakesOneOfThem) {
  const net::Headers key{{"Idempotency-Key", "k"}};
  EXPECT_EQ(client.post("/api/runs/r1/rerun", R"({"keep":true})", key).status, 201);
  EXPECT_EQ(client.post("/api/runs/r1/rerun", R"({"keep":true})", key).status, 200);
  EXPECT_EQ(client.get("/api/runs").at("/runs").as_array().size(), 2U);
}

TEST_F(Reruns, AChangedDagKeepsTheTasksThatDidNotChange) {
  const Answer made =
      client.post("/api/runs", R"({"dag":)" + line_dag("repaired") + R"(,"keep":{"run":"r1"}})");
  EXPECT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(made.number("/counts/Completed"), 2);
  const Answer none =
      client.post("/api/runs", R"({"dag":)" + line_dag() + R"(,"keep":{"run":"r77"}})");
  EXPECT_EQ(none.code(), "VX-RUN-001") << none.body;
}

TEST_F(Reruns, KeptResultsCanBeKeptOnceMore) {
  client.post("/api/runs/r1/rerun", R"({"keep":true})");
  const Answer third = client.post("/api/runs/r2/rerun", R"({"keep":true})");
  EXPECT_EQ(third.number("/counts/Completed"), 2) << third.body;
  EXPECT_EQ(reused("r3-L0-0"), "r2-L0-0");
  EXPECT_EQ(client.get("/api/tasks/r3-L0-0").at("/outputs/x").as_int64(), 1);
}

TEST(LaterRuns, StartWhenTheirTimeHasCome) {
  Client client;
  const Instant due{(client.desk.clock.us / 1'000'000 + 30) * 1'000'000};
  const Answer made = client.post(
      "/api/runs", fmt::format(R"({{"dag":{},"starts_at":"{}"}})", one_task_dag(), slot_text(due)));
  EXPECT_EQ(made.status, 201) << made.body;
  ASSERT_TRUE(made.at("/starts_at").is_string()) << made.body;
  const Answer why = client.get("/api/tasks/r1-L0-0/explain");
  EXPECT_EQ(why.text("/reason"), "run_not_begun");
  EXPECT_EQ(why.text("/moves_at"), made.text("/starts_at"));
  EXPECT_EQ(why.text("/details/0"), "its run starts at " + slot_text(due));
  client.desk.advance(seconds(31));
  EXPECT_TRUE(client.get("/api/runs/r1").at("/starts_at").is_null());
  Worker worker = join(client, "w");
  EXPECT_EQ(take(client, worker).task, "r1-L0-0");
}

TEST(LaterRuns, MistakesAreRefused) {
  Client client;
  for (const char* wrong : {R"("starts_at":"soon")", R"("starts_at":"2099-01-01T00:00:00Z")",
                            R"("starts_at":"2026-01-01T00:00:30")",
                            R"("starts_at":"2026-01-01T00:00:30Z","keep":{"run":"r1"})"}) {
    const Answer refused =
        client.post("/api/runs", R"({"dag":)" + one_task_dag() + "," + wrong + "}");
    EXPECT_EQ(refused.status, 422) << refused.body;
  }
}

}  // namespace
}  // namespace vortex::api
