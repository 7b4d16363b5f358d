#pragma once
// What the supervisor of a worker says: proof that a process has ended, and the journal of how its
// processes were started and ended. Both are repeated until they are heard, and count once.
//
// Also what follows when a worker is lost again and again (CONTRACT C05).

#include "core/command.h"
#include "core/context.h"
#include "model/states.h"

namespace vortex::core {

// Proof: whatever life of that process is registered is over, at once.
void on_worker_exited(Context& cx, const WorkerExited& command);

// Takes over the entries of a journal that are new, in order, as events of the monitor log.
void on_tell_lifecycle(Context& cx, const TellLifecycle& command);

// Counts a loss that nobody asked for; too many in a short time are an event.
void count_loss(Context& cx, WorkerIx ix, Evidence evidence);

// The event that a worker's life ended, unless its supervisor was quicker to say so.
struct LifeEnd {
  WorkerIx worker;
  EventKind kind = EventKind::kWorkerExit;
  Severity severity = Severity::kWarning;
  bool is_known = false;  // false: only concluded; its supervisor may still tell how it was
};
void tell_end(Context& cx, const LifeEnd& end, std::vector<EventField> data);

}  // namespace vortex::core
