#pragma once
// Drawn values of everything that is written and read here: the same seed, the same value.
//
// All are valid, and reach into the corners: empty and odd texts, the ends of ranges, every kind.
// The comparisons name every field, so that one that is added and forgotten does not compile.

#include <string>

#include "base/rng.h"
#include "codec/sync_json.h"
#include "model/dag.h"
#include "model/sync.h"

namespace vortex::testing {

// UTF-8 with quotes, controls and characters of every length. With NUL only where bytes may be any.
std::string drawn_text(Rng& rng);
std::string drawn_bytes(Rng& rng);

DagSpec drawn_dag(Rng& rng);
codec::RegisterBody drawn_register(Rng& rng);
SyncRequest drawn_request(Rng& rng);
// Its work is orders, as a worker reads them.
SyncReply drawn_reply(Rng& rng);

bool same(const SyncRequest& a, const SyncRequest& b);
bool same(const SyncReply& a, const SyncReply& b);
bool same(const codec::RegisterBody& a, const codec::RegisterBody& b);
bool same(const WorkOrder& a, const WorkOrder& b);

}  // namespace vortex::testing
