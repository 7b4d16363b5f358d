// Sub-DAGs over HTTP: which stored DAG a run gets, who is whose child, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/api/client.h"
#include "tests/api/steps.h"

namespace vortex::api {
namespace {

using ::testing::HasSubstr;

constexpr const char* kChild =
    R"({"name":"region","params":{"day":{}},"tasks":{"x":{"run":["y"]}}})";
constexpr const char* kParent =
    R"({"name":"d","tasks":{"load":{"dag":"region","params":{"day":"x"}}}})";

std::string submission(const std::string& dag) { return R"({"dag":)" + dag + "}"; }

TEST(ChildRuns, AStoredDagIsFoundWhenTheParentIsSubmitted) {
  Client client;
  ASSERT_EQ(client.put("/api/dags/region", kChild).status, 201);
  const std::string run = submit(client, kParent);
  const Answer list = client.get("/api/runs?parent=" + run);
  ASSERT_EQ(list.at("/runs").as_array().size(), 1U) << list.body;
  EXPECT_EQ(list.text("/runs/0/dag"), "region");
  EXPECT_EQ(list.text("/runs/0/parent"), run);
  EXPECT_EQ(list.text("/runs/0/parent_task"), "load");
  EXPECT_EQ(list.text("/runs/0/params/day"), "x");
  EXPECT_TRUE(client.get("/api/runs/" + run).at("/parent").is_null());
  const Answer why = client.get("/api/tasks/" + run + "-L0-0/explain");
  EXPECT_EQ(why.text("/reason"), "waits_for_child") << why.body;
  // What is stored later changes nothing that lives.
  client.put("/api/dags/region", R"({"name":"region","tasks":{"z":{"run":["y"]}}})");
  const std::string spec = client.get("/api/runs/" + run + "/dag").body;
  EXPECT_THAT(spec, HasSubstr(R"("x":{"run":["y"]})"));
}

TEST(ChildRuns, WhatIsNotStoredIsRefusedWithNearNamesAndAPlace) {
  Client client;
  const Answer none = client.post("/api/runs", submission(kParent));
  EXPECT_EQ(none.status, 422) << none.body;
  EXPECT_THAT(none.body, HasSubstr("no DAG 'region' is stored"));
  EXPECT_THAT(none.body, HasSubstr("/dag/tasks/load/dag"));
  client.put("/api/dags/regions", R"({"name":"regions","tasks":{"z":{"run":["y"]}}})");
  EXPECT_THAT(client.post("/api/runs", submission(kParent)).body,
              HasSubstr("did you mean 'regions'?"));
  EXPECT_THAT(client.put("/api/dags/d", kParent).body, HasSubstr("no DAG 'region' is stored"));
}

TEST(ChildRuns, CyclesThroughStoredDagsAreRefused) {
  Client client;
  ASSERT_EQ(client.put("/api/dags/region", kChild).status, 201);
  ASSERT_EQ(client.put("/api/dags/d", kParent).status, 201);
  const Answer cycle = client.put(
      "/api/dags/region", R"({"name":"region","params":{"day":{}},"tasks":{"x":{"dag":"d"}}})");
  EXPECT_THAT(cycle.body, HasSubstr("region -> d -> region")) << cycle.body;
  const Answer wrong = client.post(
      "/api/runs",
      submission(R"({"name":"e","tasks":{"load":{"dag":"region","params":{"days":"x"}}}})"));
  EXPECT_THAT(wrong.body, HasSubstr("did you mean 'day'?"));
}

}  // namespace
}  // namespace vortex::api
