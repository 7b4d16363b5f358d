#include "core/explain.h"

#include <gtest/gtest.h>

#include "tests/core/harness.h"

namespace vortex::core {
namespace {

class ExplainTest : public CoreTest {
 protected:
  Explanation why(RunId run, std::uint32_t index) { return explain(*state, {run, index}, now); }
  void TearDown() override {
    ignore_everything_from_here();
    CoreTest::TearDown();
  }
};

TEST_F(ExplainTest, ATaskNobodyCanRunSaysThatNoSuchWorkerExists) {
  const RunId run = submit({node("a")});
  EXPECT_EQ(why(run, 0).reason, WaitReason::kNoSuchWorker);
}

TEST_F(ExplainTest, ATaskBehindItsNeedsNamesThem) {
  const RunId run = submit({node("a"), node("b", {"a"})});
  const Explanation out = why(run, 1);
  EXPECT_EQ(out.reason, WaitReason::kNeedsOpen);
  ASSERT_EQ(out.details.size(), 1U);
  EXPECT_NE(out.details[0].find("'a'"), std::string::npos);
}

TEST_F(ExplainTest, AHeldTaskSaysWhereItIsAndWhenItWouldBeTakenBack) {
  Hand& w = join("w");
  const RunId run = submit({node("a"), node("b")});
  EXPECT_EQ(why(run, 0).reason, WaitReason::kNotStartedYet);
  take_and_start(w);
  EXPECT_EQ(why(run, 0).reason, WaitReason::kRunning);
  EXPECT_TRUE(why(run, 0).moves_at.has_value());
  EXPECT_EQ(why(run, 1).reason, WaitReason::kFittingWorkersFull);
}

TEST_F(ExplainTest, ABackoffTellsWhenItEnds) {
  Hand& w = join("w");
  const RunId run = submit({node("a")});
  fail(w, take_and_start(w));
  const Explanation out = why(run, 0);
  EXPECT_EQ(out.reason, WaitReason::kBackoff);
  ASSERT_TRUE(out.moves_at.has_value());
  EXPECT_GT(*out.moves_at, now);
}

TEST_F(ExplainTest, APausedRunAndAPausedQueueAreReasonsOfTheirOwn) {
  const RunId run = submit({node("a")});
  ask_done(PauseQueue{{}, "default", true});
  EXPECT_EQ(why(run, 0).reason, WaitReason::kQueuePaused);
  ask_done(PauseRun{{}, run, true});
  EXPECT_EQ(why(run, 0).reason, WaitReason::kRunPaused);
}

TEST_F(ExplainTest, ACordonedFleetIsNamed) {
  join("w");
  ask_done(CordonWorker{{}, WorkerId("w"), true});
  const RunId run = submit({node("a")});
  EXPECT_EQ(why(run, 0).reason, WaitReason::kFittingWorkersBarred);
}

TEST_F(ExplainTest, ASkippedTaskNamesTheNeedThatDidNotEndAsAsked) {
  Hand& w = join("w");
  NodeSpec a = node("a");
  a.retry = retries(0);
  const RunId run = submit({a, node("b", {"a"}), node("other")});
  fail(w, take_and_start(w));
  const Explanation out = why(run, 1);
  EXPECT_EQ(out.reason, WaitReason::kFinal);
  EXPECT_EQ(out.state, TaskState::kSkipped);
  ASSERT_EQ(out.details.size(), 1U);
  EXPECT_EQ(out.details[0], "'a' failed");
}

TEST_F(ExplainTest, AnUnknownTaskIsAnAnswerToo) {
  EXPECT_EQ(why({99}, 0).reason, WaitReason::kUnknownTask);
}

}  // namespace
}  // namespace vortex::core
