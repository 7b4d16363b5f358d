// 3, 4, 5: results, whom they come from, and the epochs that fence them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sim/checkers_story.h"

namespace vortex::sim {
namespace {

using testing::Contains;
using testing::ElementsAre;

AttemptRow result_of(TaskId id, Verdict verdict) {
  AttemptRow row;
  row.attempt = {id, {1}};
  row.worker = WorkerId("w1");
  row.incarnation = {1};
  row.verdict = verdict;
  return row;
}

TEST(ResultChecker, AttemptThatEndsTwice) {
  Story s;
  const TaskId id = s.running_task(s.join("w1"));
  s.complete(id);
  s.end_run(id.run, RunState::kCompleted);
  s.commit();
  s.rows().attempts.push_back(result_of(id, Verdict::kCompleted));
  s.commit();
  EXPECT_THAT(s.broken(), Contains("03-one-result"));
}

TEST(ResultChecker, SuccessThatLeavesTheTaskOpen) {
  Story s;
  const TaskId id = s.running_task(s.join("w1"));
  s.end_attempt(id, Verdict::kCompleted);
  s.put_back(id);
  s.commit();
  EXPECT_THAT(s.broken(), Contains("03-one-result"));
}

TEST(ResultChecker, CompletedWithoutAResult) {
  Story s;
  const TaskId id = s.running_task(s.join("w1"));
  s.task(id).state = TaskState::kCompleted;
  s.task(id).worker = {};
  s.commit();
  EXPECT_THAT(s.broken(), ElementsAre("03-one-result"));
}

TEST(FenceChecker, ResultOfAnEarlierEpoch) {
  Story s;
  const WorkerId w1 = s.join("w1");
  const WorkerId w2 = s.join("w2");
  const TaskId id = s.running_task(w1);
  s.lose(w1, Evidence::kExit);
  s.grant(id, w2);
  s.commit();
  s.complete(id);
  s.rows().attempts.back().attempt.epoch = {1};
  s.commit();
  EXPECT_THAT(s.broken(), Contains("04-fenced-results"));
}

TEST(FenceChecker, ResultOfAnotherLife) {
  Story s;
  const TaskId id = s.running_task(s.join("w1"));
  s.complete(id);
  s.rows().attempts.back().incarnation = {2};
  s.commit();
  EXPECT_THAT(s.broken(), ElementsAre("04-fenced-results"));
}

// The rows look right; only the processes tell that the result was another attempt's.
TEST(FenceChecker, ResultOfAProcessThatStillRuns) {
  Story s;
  const WorkerId w1 = s.join("w1");
  const WorkerId w2 = s.join("w2");
  const TaskId id = s.running_task(w1);
  s.end_process(s.start_process(id));
  s.lose(w1, Evidence::kExit);
  s.grant(id, w2);
  s.commit();
  s.start_process(id);
  s.start(id);
  s.complete(id);
  s.commit();
  EXPECT_THAT(s.broken(), ElementsAre("04-fenced-results"));
}

TEST(FenceChecker, LateResultOnAFinalTask) {
  Story s;
  const TaskId id = s.running_task(s.join("w1"));
  s.cancel(id);
  s.rows().attempts.clear();
  s.commit();
  s.rows().attempts.push_back(result_of(id, Verdict::kExitCode));
  s.commit();
  EXPECT_THAT(s.broken(), Contains("04-fenced-results"));
}

TEST(FenceChecker, StaleCheckpoint) {
  Story s;
  const WorkerId w = s.join("w1");
  const TaskId id = s.running_task(w);
  s.rows().task_data.push_back({id, {1}, "good", {}});
  s.fail(id);
  s.commit();
  s.rows().task_data.push_back({id, {1}, "stale", {}});
  s.commit();
  EXPECT_THAT(s.broken(), ElementsAre("04-fenced-results"));
}

TEST(EpochChecker, TaskEpochGoesBack) {
  Story s;
  const WorkerId w = s.join("w1");
  const TaskId id = s.running_task(w);
  s.fail(id);
  s.commit();
  s.task(id).epoch = {1};
  s.commit();
  EXPECT_THAT(s.broken(), Contains("05-epochs-grow"));
}

TEST(EpochChecker, LeaseEpochGoesBack) {
  Story s;
  s.rows().leases.push_back({{"t", 0}, AgentId("a"), {3}, s.now + seconds(30)});
  s.commit();
  s.rows().leases.push_back({{"t", 0}, AgentId(), {2}, s.now});
  s.commit();
  EXPECT_THAT(s.broken(), ElementsAre("05-epochs-grow"));
}

TEST(EpochChecker, CommitOfAnEarlierTerm) {
  Story s;
  s.tell(TermBegan{{2}, s.now});
  s.commit();
  EXPECT_THAT(s.broken(), ElementsAre("05-epochs-grow"));
}

TEST(EpochChecker, TermThatBeginsTwice) {
  Story s;
  s.tell(TermBegan{{1}, s.now});
  EXPECT_THAT(s.broken(), ElementsAre("05-epochs-grow"));
}

TEST(EpochChecker, LeaderOvertakenWhileItLoadedIsClean) {
  Story s;
  s.commit();
  s.tell(TermBegan{{3}, s.now});
  s.tell(TermBegan{{2}, s.now});
  EXPECT_EQ(s.report(), "");
}

TEST(EpochChecker, WorkerThatGoesBackToAnEarlierLife) {
  Story s;
  const WorkerId w = s.join("w1");
  s.commit();
  s.join("w1");
  s.commit();
  s.worker(w).incarnation = {1};
  s.commit();
  EXPECT_THAT(s.broken(), Contains("05-epochs-grow"));
}

}  // namespace
}  // namespace vortex::sim
