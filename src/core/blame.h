#pragma once
// Blame for workers: one on which several different definitions died abnormally in a row is
// cordoned.
//
// Distinct means distinct definitions, not tasks: a map whose program crashes on every item says
// something about the program, and must not take the whole fleet out of service.

#include "core/attempt_end.h"
#include "core/context.h"

namespace vortex::core {

void judge_worker(Context& cx, WorkerIx ix, const Task& task, const AttemptEnd& end);
void set_cordon(Context& cx, WorkerIx ix, bool cordoned, const char* why);

}  // namespace vortex::core
