#pragma once
// The larger planted bugs of the core, kept out of the files they spoil. Never called in the
// product, where `planted(...)` is the constant false.

#include <vector>

#include "core/context.h"
#include "model/sync.h"

namespace vortex::core {

// Heartbeat renews what is not held: takes back a task that was taken away from this worker.
bool adopt_unheld(Context& cx, const Attempt& attempt, WorkerIx worker);

// Death and re-queue in two transactions: the second one.
void finish_planted_split(Context& cx);

// Recovery from a stale read: remembers what a worker said it holds, and later puts all of that
// back, whatever has become of it since.
void remember_stale_read(Context& cx, WorkerIx ix, const std::vector<HeldTask>& held);
void recover_from_stale_read(Context& cx, WorkerIx ix);

}  // namespace vortex::core
