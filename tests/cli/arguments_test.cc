// What RUN and TASK mean.

#include "cli/arguments.h"

#include <gtest/gtest.h>

#include "cli/screen/json_view.h"
#include "tests/cli/fake_controller.h"

namespace vortex::cli::test {
namespace {

constexpr const char* kSpec =
    R"({"spec":{"name":"d","tasks":{"list":{"run":["true"]},)"
    R"("resize":{"needs":["list"],"run":["true"],"map":{"over":["a","b","c"]}}}}})";

// Runs r4 and r42 (failed) and r77.
net::Response runs_answer(const net::Request& request, std::size_t /*nth*/) {
  const std::string& target = request.target;
  if (target == "/api/runs?limit=1") return json_response(200, R"({"runs":[{"id":"r77"}]})");
  if (target == "/api/runs?limit=1&state=Failed") {
    return json_response(200, R"({"runs":[{"id":"r42"}]})");
  }
  if (target.starts_with("/api/runs?limit=1000")) {
    return json_response(200, R"({"runs":[{"id":"r77"},{"id":"r42"},{"id":"r4"}]})");
  }
  for (const char* id : {"r4", "r42", "r77"}) {
    if (target == std::string("/api/runs/") + id) {
      return json_response(200, std::string(R"({"id":")") + id + R"("})");
    }
    if (target == std::string("/api/runs/") + id + "/dag") return json_response(200, kSpec);
  }
  return problem(404, "VX-RUN-001");
}

class Arguments : public testing::Test {
 protected:
  std::string run(const std::string& text) {
    const auto found = find_run(api_, text);
    return found ? text_at(*found, "id") : failure_text(found.error());
  }
  std::string task(const std::string& text) {
    const auto found = find_task(api_, text);
    return found ? *found : failure_text(found.error());
  }

  FakeController there_{runs_answer};
  ApiClient api_{quick({there_.endpoint()})};
};

TEST_F(Arguments, ARunIsAnIdAPrefixOrTheLast) {
  EXPECT_EQ(run("r42"), "r42");
  EXPECT_EQ(run("42"), "r42");
  EXPECT_EQ(run("@last"), "r77");
  EXPECT_EQ(run("@last-failed"), "r42");
  EXPECT_EQ(run("r4"), "r4") << "an id wins over a prefix";
  EXPECT_EQ(run("r7"), "r77") << "the only one that begins so";
}

TEST_F(Arguments, WhatIsNoRunSaysSo) {
  EXPECT_NE(run("r9").find("no such run: 'r9'"), std::string::npos);
  EXPECT_NE(run("../etc").find("is not a run"), std::string::npos);
  EXPECT_NE(run("").find("is not a run"), std::string::npos);
}

TEST_F(Arguments, ATaskIsAnIdOrAPath) {
  EXPECT_EQ(task("r42-L1-2"), "r42-L1-2");
  EXPECT_EQ(task("r42/list"), "r42-L0-0");
  EXPECT_EQ(task("@last/resize[2]"), "r77-L1-3");
}

TEST_F(Arguments, WhatIsNoTaskSaysWhatToDo) {
  EXPECT_NE(task("r42/resize").find("map of 3 tasks"), std::string::npos);
  EXPECT_NE(task("r42/resize[3]").find("[3] does not exist"), std::string::npos);
  EXPECT_NE(task("r42/resise[1]").find("did you mean 'resize'?"), std::string::npos);
  EXPECT_NE(task("nonsense").find("is not a task"), std::string::npos);
}

TEST(TaskPaths, AreTakenApart) {
  const TaskPath plain = split_task_path("r1/a.b");
  EXPECT_EQ(plain.run, "r1");
  EXPECT_EQ(plain.name, "a.b");
  EXPECT_FALSE(plain.item);
  EXPECT_EQ(split_task_path("r1/a[12]").item, 12U);
  EXPECT_EQ(split_task_path("r1/a[12]").name, "a");
  EXPECT_FALSE(split_task_path("r1/a[x]").item);
  EXPECT_TRUE(split_task_path("r1").name.empty());
}

}  // namespace
}  // namespace vortex::cli::test
