// 76, 77 and 78: results that are taken over wrongly, and runs that start at the wrong time.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/reuse.h"
#include "tests/sim/checkers_story.h"

namespace vortex::sim {
namespace {

using testing::Contains;
using testing::Not;

// A run whose two tasks have completed, and a second one that keeps their results.
struct Again {
  Again() {
    worker = s.join("w");
    s.commit();
    first = s.submit(spec());
    run_task({first, 0});
    run_task({first, 1});
    s.end_run(first, RunState::kCompleted);
    s.commit();
  }
  static DagSpec spec() { return dag({node("a"), node("b", {"a"})}); }
  void run_task(TaskId id) {
    s.queue(id);
    s.commit();
    s.grant(id, worker);
    s.commit();
    s.start(id);
    s.commit();
    if (id.index == 0) {
      s.rows().task_data.push_back({.id = id, .epoch = {1}, .outputs = R"({"v":1})"});
    }
    s.complete(id);
    s.commit();
  }
  void keep(std::uint32_t index, const std::string& outputs = {}) {
    TaskRow& row = s.task({second, index});
    row.state = TaskState::kCompleted;
    row.reused_from = to_text(TaskId{first, index, index});
    if (!outputs.empty()) {
      s.rows().task_data.push_back({.id = row.id, .epoch = {1}, .outputs = outputs});
    }
  }

  Story s;
  WorkerId worker;
  RunId first;
  RunId second;
};

constexpr const char* kKept = "76-kept-as-it-was";

TEST(ReuseChecker, ResultsThatAreTakenOverAreClean) {
  Again again;
  again.second = again.s.submit(Again::spec());
  again.keep(0, R"({"v":1})");
  again.keep(1);
  again.s.end_run(again.second, RunState::kCompleted);
  again.s.commit();
  EXPECT_THAT(again.s.broken(), Not(Contains(kKept))) << again.s.report();
}

TEST(ReuseChecker, OtherOutputsAreFound) {
  Again again;
  again.second = again.s.submit(Again::spec());
  again.keep(0);
  again.s.commit();
  EXPECT_THAT(again.s.broken(), Contains(kKept));
}

TEST(ReuseChecker, AResultBehindATaskThatRunsIsFound) {
  Again again;
  again.second = again.s.submit(Again::spec());
  again.keep(1);
  again.s.commit();
  EXPECT_THAT(again.s.broken(), Contains(kKept));
}

TEST(ReuseChecker, AnotherDefinitionIsFound) {
  Again again;
  DagSpec other = Again::spec();
  other.nodes[0].command.argv = {"false"};
  again.second = again.s.submit(other);
  again.keep(0, R"({"v":1})");
  again.s.commit();
  EXPECT_THAT(again.s.broken(), Contains(kKept));
}

TEST(ReuseChecker, WhatWasToBeKeptAndRunsAgainIsFound) {
  Again again;
  again.second = again.s.submit(Again::spec());
  again.s.commit();
  core::SubmitRun submit;
  submit.dag = Again::spec();
  submit.kept = std::make_shared<const KeptResults>(KeptResults{again.first, {{0, {{"r1", {}}}}}});
  again.s.tell(ClientTold{submit, core::RunAccepted{again.second, false}});
  EXPECT_THAT(again.s.broken(), Contains("77-keeps-what-it-may"));
}

struct Later {
  explicit Later(Duration ahead) {
    due = s.now + ahead;
    run = s.submit(dag({node("a")}));
    s.run(run).starts_at = due;
    s.task({run, 0}).state = TaskState::kWaiting;
    s.commit();
  }
  Story s;
  Instant due;
  RunId run;
};

constexpr const char* kStarts = "78-starts-in-time";

TEST(ReuseChecker, ARunThatStartsAtItsTimeIsClean) {
  Later later(seconds(60));
  later.s.now = later.due;
  later.s.run(later.run).starts_at = kNever;
  later.s.queue({later.run, 0});
  later.s.commit();
  EXPECT_THAT(later.s.broken(), Not(Contains(kStarts))) << later.s.report();
}

TEST(ReuseChecker, ARunThatStartsBeforeItsTimeIsFound) {
  Later early(seconds(60));
  early.s.run(early.run).starts_at = kNever;
  early.s.commit();
  EXPECT_THAT(early.s.broken(), Contains(kStarts));
  Later quiet(seconds(60));
  quiet.s.queue({quiet.run, 0});
  quiet.s.commit();
  EXPECT_THAT(quiet.s.broken(), Contains(kStarts));
}

TEST(ReuseChecker, ARunThatWasToStartLaterAndDoesNotIsFound) {
  Story s;
  const RunId run = s.submit(dag({node("a")}));
  s.commit();
  core::SubmitRun submit;
  submit.starts_at = s.now + seconds(60);
  s.tell(ClientTold{submit, core::RunAccepted{run, false}});
  EXPECT_THAT(s.broken(), Contains(kStarts));
}

}  // namespace
}  // namespace vortex::sim
