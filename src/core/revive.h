#pragma once
// Operators' acts on what is already final: retry a failed task, re-drive or discard a dead letter.
//
// Each is logged and gives the task a new epoch and fresh counters. What was skipped because of the
// failure waits again. A run that already ended must be adopted into memory first.

#include "core/command.h"
#include "core/context.h"

namespace vortex::core {

void on_retry_task(Context& cx, const RetryTask& command);
void on_redrive(Context& cx, const RedriveDeadLetter& command);
void on_discard(Context& cx, const DiscardDeadLetter& command);
void on_pause_queue(Context& cx, const PauseQueue& command);

}  // namespace vortex::core
