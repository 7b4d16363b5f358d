// Schedules of stored DAGs: made and removed with their DAG, shown, paused, triggered.
#include <gtest/gtest.h>

#include "tests/api/client.h"
#include "tests/api/steps.h"

namespace vortex::api {
namespace {

std::string scheduled_dag(const std::string& schedule = R"({"every":"10s"})",
                          const std::string& name = "etl") {
  std::string dag = one_task_dag(name);
  return dag.insert(1, R"("schedule":)" + schedule + ",");
}

TEST(Schedules, ComeAndGoWithTheirDag) {
  Client client;
  EXPECT_EQ(client.get("/api/schedules/etl").code(), "VX-SCHED-001");
  EXPECT_EQ(client.put("/api/dags/etl", scheduled_dag()).status, 201);
  const Answer one = client.get("/api/schedules/etl");
  EXPECT_EQ(one.text("/dag"), "etl");
  EXPECT_EQ(one.text("/schedule"), "every 10 seconds");
  EXPECT_EQ(one.text("/overlap"), "skip");
  EXPECT_EQ(one.text("/paused"), "none");
  EXPECT_EQ(one.at("/next").as_array().size(), 10U);
  EXPECT_TRUE(one.at("/last_run").is_null());
  EXPECT_EQ(client.get("/api/schedules/etl?slots=2").at("/next").as_array().size(), 2U);
  EXPECT_EQ(client.get("/api/schedules/etl?slots=0").status, 400);
  EXPECT_EQ(client.get("/api/schedules").at("/schedules").as_array().size(), 1U);
  EXPECT_EQ(client.put("/api/dags/etl", one_task_dag("etl")).status, 200);
  EXPECT_EQ(client.get("/api/schedules/etl").status, 404);
  client.put("/api/dags/etl", scheduled_dag());
  EXPECT_EQ(client.erase("/api/dags/etl").status, 204);
  EXPECT_EQ(client.get("/api/schedules").at("/schedules").as_array().size(), 0U);
}

TEST(Schedules, StartRunsThatKnowTheirSlot) {
  Client client;
  client.put("/api/dags/etl", scheduled_dag());
  const std::string slot = client.get("/api/schedules/etl").text("/next/0");
  const std::string after = client.get("/api/schedules/etl").text("/next/1");
  client.desk.advance(seconds(11));
  const Answer run = client.get("/api/runs/r1");
  EXPECT_EQ(run.text("/schedule"), "etl");
  EXPECT_EQ(run.text("/slot"), slot);
  EXPECT_EQ(run.text("/slot_end"), after);
  const Answer schedule = client.get("/api/schedules/etl");
  EXPECT_EQ(schedule.text("/last_run"), "r1");
  EXPECT_EQ(schedule.text("/last_run_state"), "Running");
  EXPECT_EQ(schedule.text("/last_slot"), slot);
  Worker worker = join(client, "w");
  fail(client, worker, take(client, worker));
  EXPECT_EQ(client.get("/api/schedules/etl").text("/last_run_state"), "Failed");
}

TEST(Schedules, ARunCanBeSubmittedForOneOfItsSlots) {
  Client client;
  client.put("/api/dags/etl", scheduled_dag());
  const Answer made = client.post("/api/dags/etl/runs", R"({"slot":"2026-01-01T00:00:10Z"})");
  EXPECT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(made.text("/slot"), "2026-01-01T00:00:10.000000Z");
  EXPECT_EQ(made.text("/slot_end"), "2026-01-01T00:00:20.000000Z");
  EXPECT_TRUE(made.at("/schedule").is_null()) << "the schedule has not started it";
  for (const char* slot : {"2026-01-01T00:00:11Z", "2026-01-01 00:00:10", "soon"}) {
    const Answer refused =
        client.post("/api/dags/etl/runs", std::string(R"({"slot":")") + slot + "\"}");
    EXPECT_EQ(refused.status, 422) << refused.body;
  }
  client.put("/api/dags/etl", one_task_dag("etl"));
  const Answer none = client.post("/api/dags/etl/runs", R"({"slot":"2026-01-01T00:00:10Z"})");
  EXPECT_EQ(none.status, 422) << "there is no schedule";
}

TEST(Schedules, ArePausedAndResumed) {
  Client client;
  client.put("/api/dags/etl", scheduled_dag());
  const Answer paused = client.post("/api/schedules/etl/pause");
  EXPECT_EQ(paused.text("/paused"), "operator");
  EXPECT_EQ(paused.at("/next").as_array().size(), 0U);
  client.desk.advance(seconds(30));
  EXPECT_EQ(client.get("/api/runs").at("/runs").as_array().size(), 0U);
  EXPECT_EQ(client.post("/api/schedules/etl/resume").text("/paused"), "none");
  client.desk.advance(seconds(11));
  EXPECT_EQ(client.get("/api/runs").at("/runs").as_array().size(), 1U);
  EXPECT_EQ(client.post("/api/schedules/elt/pause").code(), "VX-SCHED-001");
}

TEST(Schedules, AreTriggeredOnceForEachKey) {
  Client client;
  client.put("/api/dags/etl", scheduled_dag());
  const net::Headers key{{"Idempotency-Key", "now"}};
  const Answer made = client.post("/api/schedules/etl/trigger", "", key);
  EXPECT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(made.text("/schedule"), "etl");
  EXPECT_TRUE(made.at("/slot").is_null());
  const Answer again = client.post("/api/schedules/etl/trigger", "", key);
  EXPECT_EQ(again.status, 200);
  EXPECT_EQ(again.text("/id"), made.text("/id"));
  const Answer refused = client.post("/api/schedules/etl/trigger", R"({"unless_running":true})");
  EXPECT_EQ(refused.status, 409);
  EXPECT_EQ(refused.code(), "VX-STATE-001");
  EXPECT_EQ(client.post("/api/schedules/etl/trigger", R"({"unless_runing":true})").status, 422);
  EXPECT_EQ(client.post("/api/schedules/none/trigger").code(), "VX-SCHED-001");
  EXPECT_EQ(client.post("/api/schedules/etl/trigger", "{}").status, 201);
}

}  // namespace
}  // namespace vortex::api
