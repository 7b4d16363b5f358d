#pragma once
// What one step wants from the world, as data. Nothing of it may leave before its rows are durable.
//
// Rows are one transaction. Replies, events and probes go out after the commit, in this order of
// lists; a step that refuses a command has no rows and no events.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/time.h"
#include "model/commit.h"
#include "model/event.h"
#include "model/ids.h"
#include "model/plan.h"
#include "model/rows.h"
#include "model/sync.h"

namespace vortex::core {

enum class RefusalKind : std::uint8_t {
  kUnknownRun,
  kUnknownTask,
  kUnknownWorker,
  kStaleIncarnation,
  kRunNotLive,  // finished and not in memory: adopt it first
  kWrongState,  // the thing exists but this cannot be done to it now
  kRunEnding,   // cancelled or timed out
  kNoDeadLetter,
  kKeyReused,  // same idempotency key, another request
  kDagInvalid,
  kLeaseNotHeld,
  kLeaseTaken,
  kMalformed,
  kOverQuota,      // live runs take up all that is allowed
  kNoSession,      // the secret of the worker's life did not come with it
  kWrongSession,   // another one came with it
  kWorkerTaken,    // somebody else's life of this worker is present
  kUnknownSignal,  // no wait of that run has this name
  kNotAllowed,     // the approval is not for this role to answer
  kTooManySignals,
  kUnknownSchedule,
  kUnknownLimit,
};

struct Refusal {
  RefusalKind kind = RefusalKind::kMalformed;
  std::string detail;
  std::optional<DagError> dag;             // kDagInvalid
  std::optional<Incarnation> incarnation;  // kStaleIncarnation: the current one
};

struct Done {};
struct RunAccepted {
  RunId run;
  bool existed = false;                    // an earlier request with the same key made it
  std::shared_ptr<const RunRow> row = {};  // of a new run, as the commit of this step makes it
};
struct Registered {
  Term term;
  Duration lease;
  Duration heartbeat_interval;
  Duration self_fence;  // how long after its last acknowledged call a worker may run its tasks
  Incarnation incarnation = {};  // of the life that has begun
  bool repeated = false;         // it had begun before, and keeps its secret
};
// A signal or an answer, as the commit of this step keeps it.
struct SignalKept {
  SignalRow row;
  bool existed = false;  // it was there already: said once more
};
struct LeaseGranted {
  Epoch epoch;
  Instant expires_at;
};

using ReplyBody = std::variant<Done, Refusal, RunAccepted, Registered, SyncReply, SyncRefusal,
                               LeaseGranted, SignalKept>;

struct Reply {
  RequestId request;
  ReplyBody body;
};

struct Probe {
  WorkerId worker;
  Incarnation incarnation;
  std::string address;
};

// What is measured and told to nobody: for the metrics alone.
struct Sample {
  enum class Kind : std::uint8_t {
    kTimeoutLateness,  // from a deadline to what was done about it; by clock
    kHeartbeatGap,  // since a worker was last heard, when its standing changed; by what it became
    kDisruption,    // an attempt ended by a restart, not by its task; by cause
    kHealthPass,    // one pass over all workers was part of this step
  };
  Kind kind = Kind::kHealthPass;
  const char* label = "";  // a literal
  Duration value;
};

struct Effects {
  RowBatch rows;
  std::vector<DagRow> dags;  // in the same transaction
  std::vector<Event> events;
  std::vector<Reply> replies;
  std::vector<Probe> probes;
  std::vector<Sample> samples;
  bool self_check = false;
  // The core found its own memory in a state that cannot be: throw it away and load again. What
  // was found outlives the memory: it is noted after the load.
  bool reload = false;
  std::vector<std::string> findings;
};

}  // namespace vortex::core
