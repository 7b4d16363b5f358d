#pragma once
// Everything that can be asked of the core. A command is data; `step` is the only thing done to it.
//
// Commands that somebody waits for carry a RequestId; exactly one reply answers it, in this step
// or, for a parked sync, in a later one. Request 0: nobody waits.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "model/event.h"
#include "model/ids.h"
#include "model/plan.h"
#include "model/reuse.h"
#include "model/rows.h"
#include "model/states.h"
#include "model/sync.h"

namespace vortex::core {

struct RegisterWorker {
  RequestId request;
  WorkerInfo info;
  Incarnation incarnation;         // 0: the core chooses one
  std::string session_hash = {};   // of the secret that the new life is given
  std::string presented = {};      // hash of the secret that came with the request; empty: none
  std::string registered_by = {};  // name of the token; empty: none was needed
  bool may_replace = true;         // a life that is present, whoever registered it
};
struct Sync {
  RequestId request;
  SyncRequest body;
  std::string session = {};  // hash of the secret that came with it; empty: none
};
// The connection of a sync that was waiting for its reply is gone. Only a hint.
struct ConnectionLost {
  WorkerId worker;
  Incarnation incarnation;
  RequestId request;
};
enum class ProbeOutcome : std::uint8_t { kAnswered, kRefused, kTimedOut };
struct ProbeResult {
  WorkerId worker;
  Incarnation incarnation;
  ProbeOutcome outcome = ProbeOutcome::kTimedOut;
};
struct ProcessEnd {
  bool by_signal = false;
  std::int32_t code = 0;  // the exit code, or the number of the signal
};
// Proof: its supervisor saw the process end and nothing of its tasks is left.
struct WorkerExited {
  RequestId request;
  WorkerId worker;
  Incarnation incarnation;
  // What ran in it then. A task that kills its worker at once leaves it no time to report the
  // start.
  std::vector<Attempt> started = {};
  // All lives that process had: it may have registered anew by itself, or have died on its way to.
  std::vector<Incarnation> lives = {};
  std::optional<ProcessEnd> how = {};
  std::string session = {};  // hash of the secret of the life; empty: none came with it
};
// What a supervisor has to tell, in order. Entries that were taken before are passed over.
struct LifecycleEntry {
  std::uint64_t number = 0;
  EventKind kind = EventKind::kWorkerSpawn;
  WorkerId worker;
  Incarnation incarnation;       // of an end: whose
  std::vector<EventField> data;  // the keys are literals
  std::string session = {};      // of an end: hash of the secret of that life; empty: none
};
struct TellLifecycle {
  RequestId request;
  std::string supervisor;
  std::string journal;
  std::vector<LifecycleEntry> entries;
};
// Who speaks of a checkpoint beside the reports.
struct CheckpointClaim {
  WorkerId worker;
  Incarnation incarnation;
  Attempt attempt;
  std::string session = {};  // hash of the secret that came with it; empty: none
};
// It is not taken: that is said aloud.
struct RefuseCheckpoint {
  RequestId request;
  CheckpointClaim by;
  std::string reason;
  std::uint64_t bytes = 0;
};
// All its pieces are in the store.
struct KeepCheckpoint {
  RequestId request;
  CheckpointClaim by;
  CheckpointRef uploaded;
};
// Assignments of an answer that could not leave with it: an expression has no value, or the answer
// was full. Told before that answer goes out, so that nobody waits for the worker to name them.
struct Unsent {
  struct Unresolved {
    Attempt attempt;
    std::string message;  // for the user whose task it is
  };
  RequestId request;
  WorkerId worker;
  ReplyMark mark;                           // of the answer
  std::vector<Unresolved> unresolved = {};  // fail now; the worker had no part in it
  std::vector<Attempt> left_out = {};       // go with the next answer
};
// What is done with secrets, for the log of events: never a value. Uses are told before the values
// leave, and refused as kLeaseNotHeld when the worker does not hold one of the attempts any more.
struct NoteSecrets {
  struct Use {
    Attempt attempt;
    std::string secret;
    std::uint32_t version = 0;
    std::string as;  // name of the variable or file
  };
  struct Change {
    std::string secret;
    std::string what;  // "set", "deleted", ...
    std::uint32_t version = 0;
    std::string by;  // name of a token; empty: none was needed
  };
  RequestId request;
  WorkerId worker = {};  // of the uses
  std::vector<Use> uses = {};
  std::vector<Change> changes = {};
};
struct DrainWorker {
  RequestId request;
  WorkerId worker;
  // How long what runs may take to finish; unset: what the worker was set up with.
  std::optional<Duration> within = {};
};
struct CordonWorker {
  RequestId request;
  WorkerId worker;
  bool cordoned = true;
};
// A person says: this life of the worker is over; take its work away and start clean.
struct ResetWorker {
  RequestId request;
  WorkerId worker;
};

// Forgets a worker that is gone: its row and what is remembered of it.
struct DeleteWorker {
  RequestId request;
  WorkerId worker;
};

struct SubmitRun {
  RequestId request;
  std::variant<DagSpec, PlanPtr> dag;
  Labels labels;
  std::string params;
  std::string idempotency_key;
  std::string submitted_by = {};  // name of the token; empty: none was needed
  // What the run is for, where somebody makes up for a slot by hand; kNever: nothing of the kind.
  Instant slot = kNever;
  Instant slot_end = kNever;
  Instant starts_at = kNever;  // nothing of it starts before; kNever: it starts at once
  // Results of an earlier run that are still valid (model/reuse.h). Null: none.
  std::shared_ptr<const KeptResults> kept = {};
};
struct CancelRun {
  RequestId request;
  RunId run;
};
struct PauseRun {
  RequestId request;
  RunId run;
  bool paused = true;
};
struct CancelTask {
  RequestId request;
  TaskId task;
};
// Tells a run something: a wait for a signal of this name takes it, now or when it begins.
struct SignalRun {
  RequestId request;
  RunId run;
  std::string name;
  std::string data = {};             // a JSON object, which becomes the outputs of the wait
  std::string idempotency_key = {};  // empty: none
  std::string sent_by = {};          // name of the token; empty: none was needed
};
// Answers the approval that a task asks for.
struct AnswerApproval {
  RequestId request;
  TaskId task;
  bool approved = true;
  Role role = Role::kAdmin;  // of who answers
  std::string sent_by = {};  // name of the token; empty: none was needed
  std::string comment = {};  // of a rejection: why
  std::string outputs = {};  // of the task when it is approved: a JSON object
};
// Runs a failed task again, and what was skipped because of it. A run that has left memory is
// refused as kRunNotLive; the caller then sends the command again with the run's image, read from
// the store by the one thread that writes it, with nothing stepped in between.
struct RetryTask {
  RequestId request;
  TaskId task;
  std::shared_ptr<const RunImage> image;
};
struct RedriveDeadLetter {
  RequestId request;
  TaskId task;
  std::shared_ptr<const RunImage> image;
};
struct DiscardDeadLetter {
  RequestId request;
  TaskId task;
};
struct PauseQueue {
  RequestId request;
  std::string queue;
  bool paused = true;
};

// Stores a DAG under its name, and its schedule with it; a DAG without one has no schedule any
// more.
struct ApplyDag {
  RequestId request;
  PlanPtr plan;
  std::string applied_by = {};  // name of the token; empty: none was needed
};
// Deletes a stored DAG and its schedule. Its runs go on.
struct DeleteDag {
  RequestId request;
  std::string name;
};
struct PauseSchedule {
  RequestId request;
  std::string dag;
  bool paused = true;
};
// Starts a run of a scheduled DAG now, outside of the slots.
struct TriggerSchedule {
  RequestId request;
  std::string dag;
  bool unless_running = false;  // refused while a run of the schedule has not ended
  std::string idempotency_key = {};
  std::string submitted_by = {};
};

// Sets a limit as a whole: what is not given is not limited.
struct SetLimit {
  RequestId request;
  std::string name;
  std::uint32_t slots = 0;  // 0: any number
  std::uint32_t rate = 0;   // 0: any number
  Duration window = {};     // of the rate
  std::string set_by = {};  // name of the token; empty: none was needed
};
struct DeleteLimit {
  RequestId request;
  std::string name;
  std::string deleted_by = {};
};

struct AcquireLease {
  RequestId request;
  PartitionKey partition;
  AgentId agent;
};
struct RenewLease {
  RequestId request;
  PartitionKey partition;
  AgentId agent;
  Epoch epoch;
};
struct ReleaseLease {
  RequestId request;
  PartitionKey partition;
  AgentId agent;
  Epoch epoch;
};
// May the holder still act? For a partition, and for an attempt at a task.
struct CheckLease {
  RequestId request;
  PartitionKey partition;
  AgentId agent;
  Epoch epoch;
};
struct CheckAttempt {
  RequestId request;
  Attempt attempt;
};

// The store stopped or resumed taking writes.
struct StoreHealth {
  bool writable = true;
};
// The answer to Effects::self_check: the store takes writes and our own listener answers.
struct SelfCheckResult {
  bool well = false;
};
// Retention removes a finished run: its key may be used again, its dead letters are gone.
struct ForgetRun {
  RunId run;
  std::string idempotency_key;  // empty: none
};
// What a check of the whole state found, for the log of events; `repaired`: by loading it again.
struct NoteFindings {
  std::vector<std::string> findings;
  bool repaired = false;
};
struct Tick {
  bool bulk = true;  // go on with work on very many tasks; false: the commit has enough rows
  bool runs = true;  // schedules may start runs; false: there is hardly any space left
};

using Command =
    std::variant<RegisterWorker, Sync, ConnectionLost, ProbeResult, WorkerExited, Unsent,
                 DrainWorker, CordonWorker, ResetWorker, SubmitRun, CancelRun, PauseRun, CancelTask,
                 SignalRun, AnswerApproval, RetryTask, RedriveDeadLetter, DiscardDeadLetter,
                 PauseQueue, ApplyDag, DeleteDag, PauseSchedule, TriggerSchedule, SetLimit,
                 DeleteLimit, AcquireLease, RenewLease, ReleaseLease, CheckLease, CheckAttempt,
                 TellLifecycle, RefuseCheckpoint, KeepCheckpoint, NoteSecrets, StoreHealth,
                 SelfCheckResult, ForgetRun, DeleteWorker, NoteFindings, Tick>;

}  // namespace vortex::core
