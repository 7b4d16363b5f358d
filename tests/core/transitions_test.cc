// Every (state, event) pair of a task's life against a literal table.

#include "core/transitions.h"

#include <array>

#include <gtest/gtest.h>

namespace vortex::core {
namespace {

constexpr auto kNo = static_cast<TaskState>(0xFF);
constexpr auto W = TaskState::kWaiting;
constexpr auto Q = TaskState::kQueued;
constexpr auto S = TaskState::kScheduled;
constexpr auto R = TaskState::kRunning;
constexpr auto C = TaskState::kCompleted;
constexpr auto F = TaskState::kFailed;
constexpr auto X = TaskState::kCancelled;
constexpr auto K = TaskState::kSkipped;

// clang-format off
constexpr std::array<std::array<TaskState, kTaskEvents>, kTaskStates> kTable{{
    // met  grant start back  done  fail  cancl skip  reviv unskip waited again kept
    {  Q,   kNo,  kNo,  kNo,  kNo,  F,    X,    K,    kNo,  kNo,  kNo, kNo, C   },  // Waiting
    {  kNo, S,    kNo,  kNo,  kNo,  F,    X,    K,    kNo,  kNo,  C  , Q  , kNo },  // Queued
    {  kNo, kNo,  R,    Q,    kNo,  F,    X,    kNo,  kNo,  kNo,  kNo, kNo, kNo },  // Scheduled
    {  kNo, kNo,  kNo,  Q,    C,    F,    X,    kNo,  kNo,  kNo,  kNo, kNo, kNo },  // Running
    {  kNo, kNo,  kNo,  kNo,  kNo,  kNo,  kNo,  kNo,  kNo,  kNo,  kNo, kNo, kNo },  // Completed
    {  kNo, kNo,  kNo,  kNo,  kNo,  kNo,  kNo,  kNo,  Q,    kNo,  kNo, kNo, kNo },  // Failed
    {  kNo, kNo,  kNo,  kNo,  kNo,  kNo,  kNo,  kNo,  kNo,  kNo,  kNo, kNo, kNo },  // Cancelled
    {  kNo, kNo,  kNo,  kNo,  kNo,  kNo,  kNo,  kNo,  kNo,  W,    kNo, kNo, kNo },  // Skipped
}};
// clang-format on

TEST(Transitions, EveryPairOfStateAndEventIsAsDrawn) {
  for (std::size_t from = 0; from < kTaskStates; ++from) {
    for (std::size_t event = 0; event < kTaskEvents; ++event) {
      const auto next = next_state(static_cast<TaskState>(from), static_cast<TaskEvent>(event));
      EXPECT_EQ(next.value_or(kNo), kTable[from][event])
          << to_text(static_cast<TaskState>(from)) << " at event " << event;
    }
  }
}

TEST(Transitions, OnlyAnOperatorLeadsOutOfAFinalState) {
  for (std::size_t from = 0; from < kTaskStates; ++from) {
    if (!is_final(static_cast<TaskState>(from))) continue;
    for (std::size_t event = 0; event < kTaskEvents; ++event) {
      const auto kind = static_cast<TaskEvent>(event);
      if (kind == TaskEvent::kRevived || kind == TaskEvent::kUnskipped) continue;
      EXPECT_FALSE(next_state(static_cast<TaskState>(from), kind).has_value());
    }
  }
}

}  // namespace
}  // namespace vortex::core
