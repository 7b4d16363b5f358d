#pragma once
// The brake: when most of the fleet seems dead at once, the controller suspects itself first.
//
//   Off --most of the fleet silent, or the store does not take writes--> Holding
//   Holding --proved well--> Trickle --nobody left to judge--> Off
//
// Weak evidence (silence, hints) waits while it holds, and is then acted on in random order at a
// limited rate, blaming nobody. Proof is always acted on.

#include "core/command.h"
#include "core/context.h"

namespace vortex::core {

// May this worker be taken as lost on weak evidence now? If not, it is noted and asked again later.
bool may_lose(Context& cx, WorkerIx ix);

// A worker was lost on weak evidence; counts for the brake for one lease.
void note_weak_loss(Context& cx, WorkerIx ix);

void on_store_health(Context& cx, const StoreHealth& command);
void on_self_check(Context& cx, const SelfCheckResult& command);
void on_brake_timer(Context& cx);

}  // namespace vortex::core
