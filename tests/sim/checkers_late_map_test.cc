// 52, 53, 54: maps made at run time.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sim/checkers_story.h"

namespace vortex::sim {
namespace {

using testing::Contains;
using testing::IsEmpty;

// a runs and writes l; m is a map over it; z needs m.
struct Mapped {
  Mapped() {
    NodeSpec m = node("m", {"a"});
    m.map.emplace().over = MapOver{"${{ tasks.a.outputs.l }}"};
    run = s.submit(dag({node("a"), m, node("z", {"m"})}));
    s.grant(a, w);
    s.commit();
    s.start(a);
    s.commit();
  }
  void complete(const std::string& outputs) {
    s.complete(a);
    s.rows().task_data.push_back({.id = a, .epoch = {1}, .outputs = outputs});
  }
  // As a controller would lay it out, of whatever it takes for the list.
  void make(std::uint32_t tasks, std::vector<std::string> items = {}) {
    RunRow& row = s.run(run);
    LaidOut map{.node = 1, .tasks = tasks};
    if (!items.empty()) {
      map.items = std::make_shared<const std::vector<std::string>>(std::move(items));
    }
    row.plan = lay_out(*row.plan, std::move(map));
    row.late = late_counts(*row.plan);
  }
  void give(std::uint32_t index) {
    s.queue({run, index});
    s.grant({run, index}, w);
    s.commit();
    Assignment given;
    given.attempt = {{run, index, 1}, {1}};
    given.work = PlannedWork{s.run(run).plan, 1, s.run(run).request};
    given.execution_timeout = s.policy.execution_timeout;
    given.kill_grace = s.policy.kill_time;
    s.tell(WorkerGiven{.worker = w, .incarnation = {1}, .assignments = {given}});
  }
  Story s;
  WorkerId w = s.join("w1");
  RunId run{1};
  TaskId a{run, 0};
  TaskId z{run, 1};
};

TEST(LateMapChecker, AMapOfItsListIsFine) {
  Mapped m;
  m.complete(R"({"v":1,"l":["x","y"]})");
  m.make(2, {"x", "y"});
  m.s.queue({m.run, 2});
  m.s.queue({m.run, 3});
  m.s.commit();
  EXPECT_THAT(m.s.broken(), IsEmpty()) << m.s.report();
}

TEST(LateMapChecker, AnItemTooManyOrTooFewIsFound) {
  for (const std::uint32_t tasks : {1u, 3u}) {
    Mapped m;
    m.complete(R"({"l":["x","y"]})");
    m.make(tasks);
    m.s.commit();
    EXPECT_THAT(m.s.broken(), Contains("52-late-map-made"));
  }
}

TEST(LateMapChecker, AMapOfNoListIsFound) {
  Mapped m;
  m.complete(R"({"l":7})");
  m.make(1);
  m.s.commit();
  EXPECT_THAT(m.s.broken(), Contains("52-late-map-made"));
}

TEST(LateMapChecker, AMapThatIsMadeAnotherTimeIsFound) {
  Mapped m;
  m.complete(R"({"l":["x","y"]})");
  m.make(2);
  m.s.commit();
  m.s.run(m.run).late = {1, 3};
  m.s.commit();
  EXPECT_THAT(m.s.broken(), Contains("52-late-map-made"));
}

TEST(LateMapChecker, AFailureAlthoughThereIsAListIsFound) {
  Mapped m;
  m.complete(R"({"l":["x"]})");
  RunRow& row = m.s.run(m.run);
  row.plan = lay_out(*row.plan, {.node = 1, .tasks = 1, .failed = true});
  row.late = late_counts(*row.plan);
  m.s.commit();
  EXPECT_THAT(m.s.broken(), Contains("52-late-map-made"));
}

TEST(LateMapChecker, TheItemOfAnotherTaskIsFound) {
  for (const bool right : {true, false}) {
    Mapped m;
    m.complete(R"({"l":["x","y"]})");
    m.make(2, right ? std::vector<std::string>{"x", "y"} : std::vector<std::string>{"y", "x"});
    m.s.commit();
    m.give(3);
    EXPECT_EQ(m.s.broken().contains("53-own-item"), !right) << m.s.report();
  }
}

TEST(LateMapChecker, ASkipBehindAMapWithoutItemsIsFound) {
  Mapped m;
  m.complete(R"({"l":[]})");
  m.make(0);
  m.s.commit();
  m.s.skip(m.z);
  m.s.end_run(m.run, RunState::kCompleted);
  m.s.commit();
  EXPECT_THAT(m.s.broken(), Contains("54-empty-map-done"));
}

}  // namespace
}  // namespace vortex::sim
