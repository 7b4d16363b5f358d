#include "model/states.h"

#include <cstdint>
#include <set>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace vortex {
namespace {

template <class Enum>
std::vector<std::string_view> texts_up_to(Enum last) {
  std::vector<std::string_view> texts;
  for (int i = 0; i <= static_cast<int>(last); ++i) texts.push_back(to_text(static_cast<Enum>(i)));
  return texts;
}

using Texts = std::vector<std::string_view>;

TEST(States, TextsOfTasksAreTheContracts) {
  EXPECT_EQ(texts_up_to(TaskState::kSkipped),
            (Texts{"Waiting", "Queued", "Scheduled", "Running", "Completed", "Failed", "Cancelled",
                   "Skipped"}));
  EXPECT_EQ(texts_up_to(TaskState::kSkipped).size(), kTaskStates);
}

TEST(States, TextsOfRunsAreThoseOfTasks) {
  EXPECT_EQ(texts_up_to(RunState::kCancelled),
            (Texts{"Running", "Completed", "Failed", "Cancelled"}));
}

TEST(States, V02_TextsOfWorkersAreTheContracts) {
  EXPECT_EQ(texts_up_to(WorkerState::kOffline),
            (Texts{"REGISTERING", "IDLE", "RUNNING", "DRAINING", "INACTIVE", "OFFLINE"}));
}

TEST(States, TextsOfVerdictsEvidenceAndReasonsAreWords) {
  EXPECT_EQ(texts_up_to(Verdict::kGivenBack),
            (Texts{"completed", "exit_code", "signal", "out_of_memory", "could_not_start",
                   "execution_timeout", "stale", "not_started_in_time", "self_fenced", "drained",
                   "lost_in_transit", "worker_lost", "cancelled", "given_back"}));
  EXPECT_EQ(
      texts_up_to(Evidence::kReconciler),
      (Texts{"exit", "new_incarnation", "operator", "goodbye", "hint", "silence", "reconciler"}));
  EXPECT_EQ(texts_up_to(DeathReason::kReleaseLimit),
            (Texts{"retries_exhausted", "not_retryable", "crash_limit", "stall_limit",
                   "never_started", "worker_queue_expired", "release_limit"}));
}

TEST(States, AValueThatIsNoneOfTheStatesEndsTheProcess) {
  EXPECT_DEATH(to_text(static_cast<TaskState>(99)), "TaskState");
}

TEST(States, ExactlyTheLastFourStatesOfATaskAreFinal) {
  const std::set<TaskState> final{TaskState::kCompleted, TaskState::kFailed, TaskState::kCancelled,
                                  TaskState::kSkipped};
  for (std::size_t i = 0; i < kTaskStates; ++i) {
    const auto state = static_cast<TaskState>(i);
    EXPECT_EQ(is_final(state), final.contains(state)) << to_text(state);
    EXPECT_FALSE(is_final(state) && is_held(state)) << to_text(state);
  }
  EXPECT_TRUE(is_held(TaskState::kScheduled) && is_held(TaskState::kRunning));
  EXPECT_FALSE(is_held(TaskState::kWaiting) || is_held(TaskState::kQueued));
}

TEST(States, AWorkerIsPresentUntilItLeavesOrIsLost) {
  EXPECT_TRUE(is_present(WorkerState::kRegistering) && is_present(WorkerState::kDraining));
  EXPECT_FALSE(is_present(WorkerState::kInactive) || is_present(WorkerState::kOffline));
}

TEST(States, HintSilenceAndTheReconcilerAreNoProof) {
  for (const auto e :
       {Evidence::kExit, Evidence::kNewIncarnation, Evidence::kOperator, Evidence::kGoodbye}) {
    EXPECT_TRUE(is_proof(e)) << to_text(e);
  }
  for (const auto e : {Evidence::kHint, Evidence::kSilence, Evidence::kReconciler}) {
    EXPECT_FALSE(is_proof(e)) << to_text(e);
  }
}

}  // namespace
}  // namespace vortex
