#include "core/explain.h"

#include <gtest/gtest.h>

#include "tests/core/harness.h"

namespace vortex::core {
namespace {

class ExplainTest : public CoreTest {
 protected:
  Explanation why(RunId run, std::uint32_t index) { return explain(*state, {run, index}, now); }
  static NodeSpec gpu_copy(NodeSpec spec, const std::string& name) {
    spec.name = name;
    return spec;
  }
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

std::string worker_reason(const Explanation& out, const std::string& worker) {
  for (const WorkerObstacle& one : out.workers) {
    if (one.worker.text == worker) return one.why;
  }
  return "not named";
}

TEST_F(ExplainTest, AMissingLabelIsNamedWithEachWorkersReasonAndTheCommandThatHelps) {
  WorkerInfo old = worker_info("w1", 1);
  old.labels = {{"gpu", "v100"}};
  join(old);
  join("w2");
  NodeSpec a = node("a");
  a.requirements.labels = {{"gpu", "a100"}};
  const Explanation out = why(submit({a}), 0);
  EXPECT_EQ(out.reason, WaitReason::kNoSuchWorker);
  ASSERT_EQ(out.obstacles.size(), 1U);
  EXPECT_TRUE(out.obstacles[0].permanent);
  EXPECT_EQ(out.obstacles[0].what, "no worker has the label gpu=a100");
  EXPECT_EQ(out.obstacles[0].action, "vortex worker --label gpu=a100");
  EXPECT_EQ(worker_reason(out, "w1"), "lacks the label gpu=a100 (has gpu=v100)");
  EXPECT_EQ(worker_reason(out, "w2"), "lacks the label gpu=a100");
}

TEST_F(ExplainTest, ANamedResourceThatNobodyHasIsNotCalledBusy) {
  join("w");
  NodeSpec a = node("a");
  a.requirements.resources.named = {{"license", 1}};
  const Explanation out = why(submit({a}), 0);
  EXPECT_EQ(out.reason, WaitReason::kResourcesNowhere);
  EXPECT_TRUE(out.obstacles[0].permanent);
  EXPECT_EQ(out.obstacles[0].action, "vortex worker --resource license=1");
  EXPECT_EQ(worker_reason(out, "w"), "has no resource 'license'");
}

TEST_F(ExplainTest, TooLittleMemoryOrCpuEvenWhenIdleSaysHowMuchThereIs) {
  WorkerInfo small = worker_info("small", 1);
  small.resources = {1'500, std::int64_t{1} << 30, {{"license", 2}}};
  join(small);
  NodeSpec cpu = node("cpu");
  cpu.requirements.resources.cpu_milli = 2'000;
  NodeSpec memory = node("memory");
  memory.requirements.resources.memory_bytes = std::int64_t{1536} << 20;
  NodeSpec license = node("license");
  license.requirements.resources.named = {{"license", 3}};
  const RunId run = submit({cpu, memory, license});
  EXPECT_EQ(worker_reason(why(run, 0), "small"), "has 1.5 cpu in all, 2 needed");
  EXPECT_EQ(worker_reason(why(run, 1), "small"), "has 1GiB memory in all, 1536MiB needed");
  EXPECT_EQ(worker_reason(why(run, 2), "small"), "has 2 of resource 'license' in all, 3 needed");
}

TEST_F(ExplainTest, APauseAndACordonAreNotHiddenByAMapAtItsLimit) {
  Hand& w = join("w", 2);
  NodeSpec a = mapped("a", range(1, 3));
  a.map->max_parallel = 1;
  const RunId run = submit({a});
  take_and_start(w);
  EXPECT_EQ(why(run, 1).reason, WaitReason::kMapAtLimit);
  ask_done(CordonWorker{{}, WorkerId("w"), true});
  EXPECT_EQ(why(run, 1).reason, WaitReason::kFittingWorkersBarred);
  ask_done(PauseQueue{{}, "default", true});
  const Explanation out = why(run, 1);
  ASSERT_EQ(out.obstacles.size(), 3U);
  EXPECT_EQ(out.obstacles[0].reason, WaitReason::kQueuePaused);
  EXPECT_EQ(out.obstacles[0].action, "vortex queues resume default");
  EXPECT_EQ(out.obstacles[1].reason, WaitReason::kFittingWorkersBarred);
  EXPECT_EQ(out.obstacles[1].action, "vortex workers uncordon w");
  EXPECT_EQ(out.obstacles[2].reason, WaitReason::kMapAtLimit);
  EXPECT_FALSE(out.obstacles[2].permanent);
}

TEST_F(ExplainTest, NoWorkersAtAllIsSaidInTheseWords) {
  const Explanation out = why(submit({node("a")}), 0);
  EXPECT_EQ(out.obstacles[0].what, "there are no workers");
  EXPECT_EQ(out.obstacles[0].action, "vortex worker");
}

TEST_F(ExplainTest, ManyWorkersAreNotAllNamed) {
  for (int i = 0; i < 25; ++i) {
    WorkerInfo other = worker_info("w" + std::to_string(i), 1);
    other.queues = {"other"};
    join(other);
  }
  const Explanation out = why(submit({node("a")}), 0);
  EXPECT_EQ(out.workers.size(), 20U);
  EXPECT_EQ(out.workers_unnamed, 5U);
  EXPECT_EQ(out.workers[0].why, "does not serve queue 'default' (serves other)");
}

TEST_F(ExplainTest, StandstillsOfARunAreWhatOnlySomebodysActEnds) {
  Hand& w = join("w");
  NodeSpec gpu = node("gpu");
  gpu.requirements.labels = {{"gpu", "a100"}};
  const RunId run = submit({node("a"), gpu, gpu_copy(gpu, "gpu2"), node("b")});
  take_and_start(w);
  const auto found = standstills(*state, run, now);
  ASSERT_EQ(found.size(), 1U);  // b waits for a slot: that passes
  EXPECT_EQ(found[0].tasks, 2U);
  EXPECT_EQ(found[0].example.index, 1U);
  EXPECT_EQ(found[0].why.reason, WaitReason::kNoSuchWorker);
  EXPECT_TRUE(standstills(*state, RunId{99}, now).empty());
}

TEST_F(ExplainTest, StandstillsOfAllQueuesNameWhatNoWorkerWillRun) {
  Hand& w = join("w");
  submit({node("a"), node("b")});
  take_and_start(w);
  EXPECT_TRUE(standstills(*state, {}, now).empty());
  NodeSpec other = node("c");
  other.requirements.queue = "nobody";
  submit({other});
  ask_done(PauseQueue{{}, "default", true});
  const auto found = standstills(*state, {}, now);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].why.reason, WaitReason::kQueuePaused);
  EXPECT_EQ(found[1].why.obstacles[0].what, "no worker serves queue 'nobody'");
}

TEST_F(ExplainTest, AnUnknownTaskIsAnAnswerToo) {
  EXPECT_EQ(why({99}, 0).reason, WaitReason::kUnknownTask);
}

}  // namespace
}  // namespace vortex::core
