#pragma once
// The exchange between worker and controller: one idempotent call, `sync`.
//
// The worker says what it holds and what happened; the controller answers with what to start, what
// to stop, and which of the worker's epochs are stale. A report counts once per (task, epoch).
// Every send has a new, higher `seq`; what arrives with a lower one is old and changes nothing.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/time.h"
#include "base/wiped.h"
#include "model/dag.h"
#include "model/ids.h"
#include "model/plan.h"
#include "model/words.h"

namespace vortex {

// What a worker says in one call is bounded. Texts for people are cut, longer lists are refused.
inline constexpr std::size_t kMessageBytesMax = 16 * 1024;  // about the end of an attempt
inline constexpr std::size_t kStepBytesMax = 256;           // of its progress
inline constexpr std::size_t kSyncEntriesMax = 500'000;     // tasks held, reports

// All that a worker needs to know about a task to run one attempt of it.
//
// The controller makes it from the plan when an assignment goes out on the wire, with every
// expression replaced by its value; the worker never sees a whole plan and evaluates nothing.
// On the wire: append-only.

struct MapItem {
  std::uint32_t index = 0;  // within its map
  std::string item;
  std::string as = "item";  // what expressions call it; not on the wire
  friend bool operator==(const MapItem&, const MapItem&) = default;
};

// The secrets of one attempt: in memory only, and wiped as soon as its process was started.
struct SecretValue {
  std::string as;  // name of the variable or file
  bool file = false;
  SecretText value;
};
struct SecretSet {
  std::vector<SecretValue> values;
};
using SecretsPtr = std::shared_ptr<SecretSet>;

struct WorkOrder {
  std::string task_text;  // the id as people see it: r42-L1-7
  std::string dag;
  std::string task;     // the name of its node
  CommandLine command;  // its argv is whole: a shell stands in front
  std::optional<MapItem> map;
  Resources resources;
  std::vector<std::string> outputs;  // names it must write
  bool report_output = false;        // say how much it has written: output counts as life
  SecretsPtr secrets = nullptr;      // null: none
  std::string user = {};             // whom it runs as; empty: the worker's choice
  std::string inputs = {};           // for $VORTEX_INPUTS, a JSON object; empty: none
};

// What a worker (or any agent) says about itself when it registers.
// It holds for one life of the worker: a change needs a new incarnation.

struct WorkerInfo {
  WorkerId id;
  MachineId machine;
  std::string name;
  std::string address;  // where its health endpoint listens; empty: it cannot be probed
  std::string zone;
  std::string group;
  std::string version;
  std::string metadata;
  std::vector<std::string> queues{"default"};  // sorted, unique
  Labels labels;
  std::vector<std::string> runtimes;  // sorted, unique
  std::uint32_t slots = 1;
  Resources resources;
  std::vector<std::string> users = {};  // whom tasks may ask to run as; sorted, unique
  friend bool operator==(const WorkerInfo&, const WorkerInfo&) = default;
};

struct RunRequest;  // model/rows.h

// A worker whose tasks are short may hold so many of them per slot before it starts them.
constexpr std::uint32_t kAheadPerSlotMax = 32;

struct Attempt {
  TaskId task;
  Epoch epoch;
  friend constexpr auto operator<=>(Attempt, Attempt) = default;
};

struct Progress {
  std::uint8_t percent = 0;  // 0..100
  std::string step;
  friend bool operator==(const Progress&, const Progress&) = default;
};

struct HeldTask {
  Attempt attempt;
  std::optional<Progress> progress;  // unset: the task has said nothing yet
  // How much it has written so far; only where the assignment asked for it.
  std::optional<std::uint64_t> output_bytes = {};
};

// A checkpoint that is kept in pieces beside the rows: which upload brought it, and its size.
struct CheckpointRef {
  std::uint64_t number = 0;  // 0: none
  std::uint64_t bytes = 0;
  friend bool operator==(const CheckpointRef&, const CheckpointRef&) = default;
};

struct Started {};
struct Checkpoint {
  std::string data;
};
struct Completed {
  std::string outputs;  // a JSON object, kept as it is
};
struct Failed {
  enum class Cause : std::uint8_t { kExitCode, kSignal, kOutOfMemory, kCouldNotStart };
  Cause cause = Cause::kExitCode;
  std::int32_t code = 1;  // exit code or signal number
  std::string message;
};
template <>
inline constexpr auto kWords<Failed::Cause> = words<Failed::Cause>({
    {Failed::Cause::kExitCode, "exit_code"},
    {Failed::Cause::kSignal, "signal"},
    {Failed::Cause::kOutOfMemory, "out_of_memory"},
    {Failed::Cause::kCouldNotStart, "could_not_start"},
});

// Its processes are gone and it is nobody's fault: drained, self-fenced, stopped when asked, or
// given back before it started (held ahead for too long, or its checkpoint could not be fetched).
struct Released {
  enum class Cause : std::uint8_t { kDrained, kSelfFenced, kStopped, kNotStarted };
  Cause cause = Cause::kDrained;
  std::string message = {};  // what happened, where the cause does not say it all
};
template <>
inline constexpr auto kWords<Released::Cause> = words<Released::Cause>({
    {Released::Cause::kDrained, "drained"},
    {Released::Cause::kSelfFenced, "self_fenced"},
    {Released::Cause::kStopped, "stopped"},
    {Released::Cause::kNotStarted, "not_started"},
});

// The worker's own clock of the execution timeout ended it.
struct TimedOut {};

using ReportBody = std::variant<Started, Checkpoint, Completed, Failed, Released, TimedOut>;

struct Report {
  Attempt attempt;
  ReportBody body;
};

struct ReplyMark {
  Term term;
  std::uint64_t reply = 0;
  friend constexpr auto operator<=>(ReplyMark, ReplyMark) = default;
};

enum class Leaving : std::uint8_t { kNo, kDraining, kGone };
template <>
inline constexpr auto kWords<Leaving> = words<Leaving>({
    {Leaving::kNo, "no"},
    {Leaving::kDraining, "draining"},
    {Leaving::kGone, "gone"},
});

struct SyncRequest {
  WorkerId worker;
  Incarnation incarnation;
  std::uint64_t seq = 0;
  ReplyMark ack;  // the newest reply this worker has acted on
  // How many tasks it is willing to hold in all, held ones included: its slots, and where tasks
  // are short some more that wait for a slot here.
  std::uint32_t slots = 0;
  std::optional<std::vector<HeldTask>> held;  // unset: this call says nothing about what is held
  std::vector<Report> reports;
  Leaving leaving = Leaving::kNo;
  Duration wait;         // how long the answer may be held back; zero: answer at once
  Instant worker_clock;  // the worker's own wall clock, for display only, never for decisions
};

// What is to be done, as each side knows it.
struct PlannedWork {  // the controller: a node of a plan it shares with the run
  PlanPtr plan;
  std::uint32_t node = 0;
  std::shared_ptr<const RunRequest> request = nullptr;  // null: no params to read
  std::optional<RunResult> run_result = {};             // of a task in `finally`
  // With its expressions resolved, before the answer is written; null: the plan's, as it stands.
  std::shared_ptr<const CommandLine> command = nullptr;
  // Opened just before the answer is written; null: the node has none.
  SecretsPtr secrets = nullptr;
  // Outputs of earlier tasks, as a JSON object; null: the node asks for none.
  std::shared_ptr<const std::string> inputs = nullptr;
};
using OrderPtr = std::shared_ptr<const WorkOrder>;  // the worker: the order it was sent
using Work = std::variant<PlannedWork, OrderPtr>;

struct Assignment {
  Attempt attempt;
  std::uint32_t number = 1;  // 1 for the first try
  Work work;
  Duration execution_timeout;
  std::string checkpoint;
  Duration kill_grace;          // from TERM to KILL; zero: the worker's own
  CheckpointRef uploaded = {};  // instead: too large for an answer, to be fetched before the start
  std::string token = {};  // opens what the task may ask of the controller; empty: none is made
};

struct StopOrder {
  enum class Why : std::uint8_t { kCancelled, kStale, kExecutionTimeout, kNotStartedInTime };
  Attempt attempt;
  Why why = Why::kCancelled;
};
template <>
inline constexpr auto kWords<StopOrder::Why> = words<StopOrder::Why>({
    {StopOrder::Why::kCancelled, "cancelled"},
    {StopOrder::Why::kStale, "stale"},
    {StopOrder::Why::kExecutionTimeout, "execution_timeout"},
    {StopOrder::Why::kNotStartedInTime, "not_started_in_time"},
});

struct SyncReply {
  ReplyMark mark;
  std::uint64_t seq_seen =
      0;  // every report sent up to this seq is durable, or was refused for good
  Duration lease;
  std::vector<Assignment> assignments;        // repeated until acknowledged
  std::vector<StopOrder> stops;               // repeated until the task is reported gone
  std::vector<Attempt> stale;                 // not yours any more: kill without a word
  bool drain = false;                         // an operator wants this worker to finish and leave
  std::optional<Duration> drain_within = {};  // unset: as long as it takes when asked by a signal
};

struct SyncRefusal {
  enum class Why : std::uint8_t {
    kUnknownWorker,     // register first
    kStaleIncarnation,  // a newer life of this worker is registered: stop
    kSessionEnded,      // declared gone: kill everything, register as a new incarnation
    kOldMessage,        // a later seq was already seen: nothing was changed
    kMalformed,         // impossible field: nothing was changed
    kNoSession,         // the secret of this life did not come with it: nothing was changed
    kWrongSession,      // another one came with it: nothing was changed
  };
  Why why = Why::kUnknownWorker;
  Incarnation current;
};
template <>
inline constexpr auto kWords<SyncRefusal::Why> = words<SyncRefusal::Why>({
    {SyncRefusal::Why::kUnknownWorker, "unknown_worker"},
    {SyncRefusal::Why::kStaleIncarnation, "stale_incarnation"},
    {SyncRefusal::Why::kSessionEnded, "session_ended"},
    {SyncRefusal::Why::kOldMessage, "old_message"},
    {SyncRefusal::Why::kMalformed, "malformed"},
    {SyncRefusal::Why::kNoSession, "no_session"},
    {SyncRefusal::Why::kWrongSession, "wrong_session"},
});

}  // namespace vortex
