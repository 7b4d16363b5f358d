#include "model/event.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace vortex {
namespace {

using Texts = std::vector<std::string_view>;

constexpr auto kOurs = static_cast<std::ptrdiff_t>(EventKind::kRunSubmitted);

TEST(Event, M06_TheContractsEventsHaveTheContractsNames) {
  const auto all = words_of<EventKind>();
  EXPECT_EQ(Texts(all.begin(), all.begin() + kOurs),
            (Texts{"worker_spawn",          "worker_spawn_retry",  "worker_spawn_failed",
                   "worker_ready",          "worker_exit",         "worker_crash",
                   "worker_respawn",        "task_claimed",        "task_started",
                   "task_complete",         "task_failed",         "task_timeout",
                   "task_reassigned",       "heartbeat_stale",     "heartbeat_recovered",
                   "state_reconcile_start", "state_reconcile_fix", "state_reconcile_complete",
                   "level_check",           "level_complete"}));
}

TEST(Event, NamesAreNeverChanged) {
  const auto all = words_of<EventKind>();
  EXPECT_EQ(Texts(all.begin() + kOurs, all.end()), (Texts{"run_submitted",
                                                          "run_complete",
                                                          "run_cancel_requested",
                                                          "run_paused",
                                                          "run_resumed",
                                                          "task_retry",
                                                          "task_requeued",
                                                          "task_cancelled",
                                                          "task_quarantined",
                                                          "task_dead_lettered",
                                                          "task_redriven",
                                                          "task_discarded",
                                                          "stale_result_refused",
                                                          "worker_registered",
                                                          "worker_draining",
                                                          "worker_inactive",
                                                          "worker_offline",
                                                          "worker_cordoned",
                                                          "worker_uncordoned",
                                                          "worker_reset",
                                                          "machine_online",
                                                          "machine_offline",
                                                          "health_pass",
                                                          "brake_engaged",
                                                          "brake_released",
                                                          "lease_acquired",
                                                          "lease_released",
                                                          "lease_expired",
                                                          "queue_paused",
                                                          "queue_resumed",
                                                          "checkpoint_refused",
                                                          "state_damaged",
                                                          "worker_deleted",
                                                          "lease_forgotten",
                                                          "worker_flapping",
                                                          "worker_probation",
                                                          "worker_cordon_withheld",
                                                          "secret_changed",
                                                          "secret_used",
                                                          "task_skipped",
                                                          "signal_received",
                                                          "approval_requested",
                                                          "task_approved",
                                                          "task_rejected",
                                                          "finally_started",
                                                          "schedule_set",
                                                          "schedule_removed",
                                                          "schedule_paused",
                                                          "schedule_resumed",
                                                          "schedule_triggered",
                                                          "slot_started",
                                                          "slot_queued",
                                                          "slot_skipped",
                                                          "slots_missed",
                                                          "run_waits",
                                                          "run_began",
                                                          "run_skipped",
                                                          "limit_changed",
                                                          "child_started",
                                                          "child_ended",
                                                          "run_started"}));
}

TEST(Event, NamesAreDistinctAndInSnakeCase) {
  const auto texts = words_of<EventKind>();
  EXPECT_EQ(std::set(texts.begin(), texts.end()).size(), texts.size());
  for (const auto text : texts) {
    EXPECT_TRUE(std::all_of(text.begin(), text.end(), [](char c) {
      return c == '_' || (c >= 'a' && c <= 'z');
    })) << text;
  }
}

TEST(Event, M06_SeverityIsInCapitals) {
  EXPECT_EQ(to_text(Severity::kInfo), "INFO");
  EXPECT_EQ(to_text(Severity::kWarning), "WARN");
  EXPECT_EQ(to_text(Severity::kError), "ERROR");
}

TEST(Event, AKindThatDoesNotExistEndsTheProcess) {
  EXPECT_DEATH(to_text(static_cast<EventKind>(kWords<EventKind>.size())), "kWords");
}

}  // namespace
}  // namespace vortex
