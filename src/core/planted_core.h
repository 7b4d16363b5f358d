#pragma once
// The larger planted bugs of the core, kept out of the files they spoil. They exist in the planted
// flavour alone; in the product, where `planted(...)` is the constant false, they are nothing.

#include <vector>

#include "core/context.h"
#include "model/sync.h"

namespace vortex::core {

#ifdef VX_PLANTED_BUGS

// Heartbeat renews what is not held: takes back a task that was taken away from this worker.
bool adopt_unheld(Context& cx, const Attempt& attempt, WorkerIx worker);

// Death and re-queue in two transactions: the first one notes the worker, the second one recovers.
void split_planted_loss(Context& cx, WorkerIx ix);
void finish_planted_split(Context& cx);

// Recovery from a stale read: remembers what a worker said it holds, and later puts all of that
// back, whatever has become of it since.
void remember_stale_read(Context& cx, WorkerIx ix, const std::vector<HeldTask>& held);
void recover_from_stale_read(Context& cx, WorkerIx ix);

#else

inline bool adopt_unheld(Context&, const Attempt&, WorkerIx) { return false; }
inline void split_planted_loss(Context&, WorkerIx) {}
inline void finish_planted_split(Context&) {}
inline void remember_stale_read(Context&, WorkerIx, const std::vector<HeldTask>&) {}
inline void recover_from_stale_read(Context&, WorkerIx) {}

#endif

}  // namespace vortex::core
