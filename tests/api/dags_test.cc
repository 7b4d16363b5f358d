// DAG files that are checked, and the versions of a DAG that runs used.
#include <gtest/gtest.h>

#include "tests/api/client.h"
#include "tests/api/steps.h"

namespace vortex::api {
namespace {

TEST(Versions, AreThoseThatRunsUsedAndTheStoredOne) {
  Client client;
  EXPECT_EQ(client.get("/api/dags/m/versions").code(), "VX-DAG-015");
  const std::string first = submit(client, map_dag("m", 2));
  const std::string again = submit(client, map_dag("m", 2));
  const std::string other = submit(client, map_dag("m", 3));
  client.put("/api/dags/m", map_dag("m", 4));
  const Answer found = client.get("/api/dags/m/versions");
  ASSERT_EQ(found.at("/versions").as_array().size(), 3U) << found.body;
  EXPECT_EQ(found.text("/versions/0/last_run"), other);
  EXPECT_EQ(found.number("/versions/0/runs"), 1);
  EXPECT_EQ(found.text("/versions/1/first_run"), first);
  EXPECT_EQ(found.text("/versions/1/last_run"), again);
  EXPECT_EQ(found.number("/versions/1/runs"), 2);
  EXPECT_FALSE(found.at("/versions/1/stored").as_bool());
  EXPECT_TRUE(found.at("/versions/2/stored").as_bool());
  EXPECT_TRUE(found.at("/versions/2/last_run").is_null());
  EXPECT_EQ(found.text("/versions/2/digest"), client.get("/api/dags/m").text("/digest"));
  EXPECT_EQ(found.number("/runs_looked_at"), 3);
  EXPECT_TRUE(found.at("/complete").as_bool());
}

TEST(DagFiles, AreCheckedWithTheirLinesAndShownAsTheirSpecification) {
  Client client;
  const std::string good = "vortex: 1\nname: hello\ntasks:\n  greet:\n    run: [echo, hello]\n";
  const Answer fine = client.post("/api/dags/validate-file", good);
  ASSERT_EQ(fine.status, 200) << fine.body;
  EXPECT_EQ(fine.text("/name"), "hello");
  EXPECT_EQ(fine.number("/nodes"), 1);
  EXPECT_EQ(client.post("/api/dags/validate", boost::json::serialize(fine.at("/spec"))).status,
            200);
  const Answer bad =
      client.post("/api/dags/validate-file", good + "    retires: 3\n    needs: [x]\n");
  EXPECT_EQ(bad.status, 422) << bad.body;
  EXPECT_EQ(bad.code(), "VX-DAG-014");
  EXPECT_EQ(bad.number("/errors/0/line"), 6);
  EXPECT_EQ(bad.number("/errors/0/column"), 5);
  EXPECT_NE(bad.text("/errors/0/help").find("retries"), std::string::npos);
  EXPECT_EQ(client.post("/api/dags/validate-file?syntax=json", good).status, 422);
  EXPECT_EQ(client.post("/api/dags/validate-file?syntax=json", one_task_dag()).status, 200);
  EXPECT_EQ(client.post("/api/dags/validate-file?syntax=toml", good).code(), "VX-REQ-003");
}

}  // namespace
}  // namespace vortex::api
