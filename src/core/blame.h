#pragma once
// Blame for workers: one on which several different definitions died abnormally in a row is
// cordoned. And the doubt between tasks: when a worker dies, all that ran on it are suspects, and
// only one of them did it. Suspects on their last try do not share a worker, so that the one that
// kills takes no other to its limit with it.
//
// Distinct means distinct definitions, not tasks: a map whose program crashes on every item says
// something about the program, and must not take the whole fleet out of service.

#include "core/attempt_end.h"
#include "core/context.h"

namespace vortex::core {

void judge_worker(Context& cx, WorkerIx ix, const Task& task, const AttemptEnd& end);
// One more crash and it is quarantined. A limit of one leaves no room for doubt.
bool on_last_try(const Policy& policy, const Task& task);
// The worker holds such a task.
bool holds_last_try(const State& state, const Worker& worker);
void set_cordon(Context& cx, WorkerIx ix, bool cordoned, const char* why);

}  // namespace vortex::core
