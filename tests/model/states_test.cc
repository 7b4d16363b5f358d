#include "model/states.h"

#include <cstdint>
#include <set>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace vortex {
namespace {

template <class Enum>
std::vector<std::string_view> texts_of() {
  return {words_of<Enum>().begin(), words_of<Enum>().end()};
}

using Texts = std::vector<std::string_view>;

TEST(States, TextsOfTasksAreTheContracts) {
  EXPECT_EQ(texts_of<TaskState>(), (Texts{"Waiting", "Queued", "Scheduled", "Running", "Completed",
                                          "Failed", "Cancelled", "Skipped"}));
  EXPECT_EQ(texts_of<TaskState>().size(), kTaskStates);
}

TEST(States, TextsOfRunsAreThoseOfTasks) {
  EXPECT_EQ(texts_of<RunState>(), (Texts{"Running", "Completed", "Failed", "Cancelled"}));
}

TEST(States, V02_TextsOfWorkersAreTheContracts) {
  EXPECT_EQ(texts_of<WorkerState>(),
            (Texts{"REGISTERING", "IDLE", "RUNNING", "DRAINING", "INACTIVE", "OFFLINE"}));
}

TEST(States, TextsOfVerdictsEvidenceAndReasonsAreWords) {
  EXPECT_EQ(texts_of<Verdict>(),
            (Texts{"completed", "exit_code", "signal", "out_of_memory", "could_not_start",
                   "execution_timeout", "stale", "not_started_in_time", "self_fenced", "drained",
                   "lost_in_transit", "worker_lost", "cancelled", "given_back", "child_failed"}));
  EXPECT_EQ(texts_of<Evidence>(), (Texts{"exit", "new_incarnation", "operator", "goodbye", "hint",
                                         "silence", "reconciler"}));
  EXPECT_EQ(texts_of<DeathReason>(),
            (Texts{"retries_exhausted", "not_retryable", "crash_limit", "stall_limit",
                   "never_started", "worker_queue_expired", "release_limit", "condition_error",
                   "map_error", "wait_timed_out", "rejected"}));
}

TEST(States, TextsOfStopsEndingsLettersAndRolesAreWords) {
  EXPECT_EQ(texts_of<StopReason>(),
            (Texts{"none", "cancel", "stale", "execution_timeout", "not_started"}));
  EXPECT_EQ(texts_of<RunEnding>(), (Texts{"none", "cancelled", "timed_out"}));
  EXPECT_EQ(texts_of<SchedulePause>(), (Texts{"none", "operator", "failure"}));
  EXPECT_EQ(texts_of<DeadLetterState>(), (Texts{"open", "redriven", "discarded"}));
  EXPECT_EQ(texts_of<Role>(), (Texts{"viewer", "submitter", "operator", "worker", "admin"}));
}

TEST(States, EveryWordLeadsBackToItsValue) {
  for (std::size_t i = 0; i < kTaskStates; ++i) {
    const auto state = static_cast<TaskState>(i);
    EXPECT_EQ(from_text<TaskState>(to_text(state)), state);
    EXPECT_EQ(from_number<TaskState>(static_cast<std::int64_t>(i)), state);
  }
  EXPECT_EQ(from_text<TaskState>("waiting"), std::nullopt);
  EXPECT_EQ(from_number<TaskState>(-1), std::nullopt);
  EXPECT_EQ(from_number<TaskState>(kTaskStates), std::nullopt);
}

TEST(States, AValueThatIsNoneOfTheStatesEndsTheProcess) {
  EXPECT_DEATH(to_text(static_cast<TaskState>(99)), "kWords");
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
