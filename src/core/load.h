#pragma once
// Coming back: a State made from what the store holds, at the start of a term or for one run.
//
// Everything derivable is derived again, so a controller that crashed at any instant goes on where
// its last commit was. Rows that contradict each other are repaired, and each repair is an event.

#include <cstdint>

#include "core/context.h"
#include "core/effects.h"
#include "core/state/state.h"
#include "model/rows.h"

namespace vortex::core {

// `repairs` must be committed before anything else of the term. Workers are given one full lease
// from `now`: nobody could renew with the leader that is gone.
State load(const Policy& policy, Term term, Instant now, std::uint64_t seed,
           const StoreImage& image, Effects& repairs);

// Brings one run into the tables. Its tasks that no worker holds any more are queued again.
RunIx restore_run(Context& cx, const RunImage& image);

}  // namespace vortex::core
