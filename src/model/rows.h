#pragma once
// Rows: what the controller writes, and all it needs to come back after a crash.
//
// A row change replaces the row with the same key; the core deletes only workers, machines and
// leases that were forgotten. A batch of changes is one transaction. Field meaning is append-only:
// the rows are on disk.

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "model/plan.h"
#include "model/states.h"
#include "model/sync.h"

namespace vortex {

struct TaskCounters {
  std::uint16_t attempts = 0;   // grants so far; an operator's retry sets back all but this
  std::uint16_t failures = 0;   // the task's own fault: uses retries
  std::uint16_t crashes = 0;    // its worker died while it ran
  std::uint16_t stalls = 0;     // timed out or stale
  std::uint16_t releases = 0;   // drained, self-fenced, never started: nobody's fault
  std::uint16_t unstarted = 0;  // those releases where the start was never reported in time
  friend bool operator==(const TaskCounters&, const TaskCounters&) = default;
};

// How many tasks are in each state, by its number.
using TaskCounts = std::array<std::uint32_t, kTaskStates>;
using TaskTotals = std::array<std::uint64_t, kTaskStates>;

// What the submitter said besides the DAG. Never changes, so rows share it.
struct RunRequest {
  Labels labels;
  std::string params;
  std::string idempotency_key;    // empty: none
  std::uint64_t digest = 0;       // of DAG, params and labels: one key, one request
  std::string submitted_by = {};  // name of the token; empty: none was needed
  std::string schedule = {};      // the DAG by whose schedule it was started; empty: none
  Instant slot = kNever;          // of the schedule; kNever: none
  Instant slot_end = kNever;      // the slot after it; kNever: there is none
  std::string group = {};         // key among the runs of its DAG, where that limits them
  // Of a child: the attempt it is, of a task in another run. There is one run for each attempt.
  RunId parent = {};  // 0: it is no child
  std::uint32_t parent_index = 0;
  Epoch parent_epoch = {0};
  std::string parent_task = {};  // name of that task, and its number within a map
  RunId rerun_of = {};           // the run whose results it was allowed to keep; 0: none
};

struct RunRow {  // key: id
  RunId id;
  PlanPtr plan;  // in an image it need not be laid out
  std::shared_ptr<const RunRequest> request;
  RunState state = RunState::kRunning;
  RunEnding ending = RunEnding::kNone;
  bool paused = false;
  Instant created_at;
  Instant finished_at;
  std::uint32_t levels_passed = 0;
  Instant timeout_at = kNever;                  // of the run as a whole; kNever: none
  std::vector<std::uint32_t> stopped;           // nodes of maps that stopped at too many failures
  TaskCounts made{};                            // tasks that have been made, by state
  LateCounts late = {};                         // maps that were made at run time
  RunEnding finally_ending = RunEnding::kNone;  // why its `finally` tasks were stopped
  bool waits_for_turn = false;                  // its group was full, and it has not begun
  std::string reason = {};                      // of a run that another one ended; empty: none
  Instant starts_at = kNever;                   // nothing of it starts before; kNever: it has begun
};

struct TaskRow {  // key: id
  TaskId id;
  std::uint32_t node = 0;
  std::optional<std::uint32_t> level;
  TaskState state = TaskState::kWaiting;
  StopReason stop = StopReason::kNone;
  Epoch epoch;
  TaskCounters counters;
  WorkerId worker;
  Incarnation incarnation;
  WorkerId previous_worker;  // Queued: the one to keep away from, if another is eligible
  RecoveryId recovery;       // Queued: the ledger item waiting for its new worker; 0: none
  Instant created_at;
  Instant updated_at;
  Instant ready_at;             // Queued: not before; of a wait: when its time is up
  Instant granted_at = kNever;  // held: when it was handed out
  Instant started_at = kNever;  // Running, and once final: of its last attempt, if it started
  std::uint8_t percent = 0;
  std::string step;
  std::int32_t exit_code = 0;
  std::string error_message;
  std::string reused_from = {};  // id of the task whose result it has taken over; empty: its own
};

// What somebody outside told a run: a signal, or the answer to an approval. Each is kept; a wait
// takes one. key: (run, number)
struct SignalRow {
  RunId run;
  std::uint32_t number = 0;  // 1, 2, ... in the order of their arrival
  SignalKind kind = SignalKind::kSignal;
  std::string name;                  // of the signal, or of the task that asked
  std::string data = {};             // a JSON object; empty: none
  std::string comment = {};          // of an answer
  std::string idempotency_key = {};  // empty: none
  std::string sent_by = {};          // name of the token; empty: none was needed
  Instant at = {};
  std::optional<std::uint32_t> taken_by = {};  // index of the task; unset: none yet
  Epoch taken_epoch = {0};                     // of that task then
  friend bool operator==(const SignalRow&, const SignalRow&) = default;
};

// Kept apart from the task's row: large, and rewritten rarely. key: id
struct TaskDataRow {
  TaskId id;
  Epoch epoch;
  std::optional<std::string> checkpoint = {};  // unset: leave as it is
  std::optional<std::string> outputs = {};     // unset: leave as it is
  std::optional<CheckpointRef> uploaded = {};  // unset: leave as it is; number 0: none
};

struct AttemptRow {  // key: attempt; written once, when it ends
  Attempt attempt;
  std::uint32_t number = 1;
  WorkerId worker;
  Incarnation incarnation;
  Instant granted_at;
  Instant started_at;  // kNever: the start was not reported
  Instant ended_at;
  Verdict verdict = Verdict::kCompleted;
  std::int32_t code = 0;
  std::string message;
};

struct WorkerRow {  // key: info->id
  std::shared_ptr<const WorkerInfo> info;
  Incarnation incarnation;
  WorkerState state = WorkerState::kRegistering;
  bool suspect = false;
  bool cordoned = false;
  Instant registered_at;
  Instant last_heartbeat;  // kNever: none yet
  std::uint32_t times_lost = 0;
  std::vector<Instant> lost_lately = {};      // the newest losses, oldest first
  Incarnation end_told = {};                  // the newest life whose end is in the monitor log
  std::optional<Duration> drain_within = {};  // what an operator allowed
  WorkerBlame blame = WorkerBlame::kNone;     // not kNone: cordoned, and not by an operator
  std::uint32_t times_blamed = 0;             // in a row: each failed probation adds one
  Instant probation_at = kNever;              // kCordoned: when its probation begins
  std::string session_hash = {};  // of the secret of this life; empty: an earlier version made none
  std::string registered_by = {};  // name of the token; empty: none was needed
};

struct MachineRow {  // key: id
  MachineId id;
  bool online = false;
  Instant since;
};

struct RecoveryRow {  // key: id
  RecoveryId id;
  WorkerId worker;
  Incarnation incarnation;
  Evidence evidence = Evidence::kSilence;
  std::uint32_t num_tasks = 0;
  Instant at;
};

struct RecoveryItemRow {  // key: (recovery, task)
  RecoveryId recovery;
  TaskId task;
  Epoch old_epoch;
  Epoch new_epoch;
  WorkerId old_worker;
  WorkerId new_worker;  // empty until it is handed out again
  std::uint16_t attempts = 0;
};

struct DeadLetterRow {  // key: (task, epoch)
  Attempt attempt;
  DeathReason reason = DeathReason::kRetriesExhausted;
  DeadLetterState state = DeadLetterState::kOpen;
  Instant at;
  std::string message;
};

struct PartitionLeaseRow {  // key: partition
  PartitionKey partition;
  AgentId holder;  // empty: free
  Epoch epoch;
  Instant expires_at;
};

struct QueueRow {  // key: name
  std::string name;
  bool paused = false;
};

// A stored DAG that starts runs by itself. Which slot comes next and which of its runs are live
// follows from other rows.
struct ScheduleRow {  // key: dag
  std::string dag;
  PlanPtr plan;  // as it was applied last
  SchedulePause paused = SchedulePause::kNone;
  RunId failed_run = {};              // kByFailure: which
  Instant decided;                    // nothing is to be decided any more up to here
  std::vector<Instant> waiting = {};  // slots that wait for a run to end, oldest first
  RunId last_run = {};                // the newest that it started; 0: none
  Instant last_slot = kNever;         // of the newest that was started for a slot
  Instant applied_at;
  std::string applied_by = {};  // name of the token; empty: none was needed
  bool removed = false;         // the row is removed
};

// A named limit: how many tasks that name it may be on workers at once, how many may be started in
// any window of time, or both.
struct LimitRow {  // key: name
  std::string name;
  std::uint32_t slots = 0;                  // 0: any number
  std::uint32_t rate = 0;                   // so many in each window; 0: any number
  std::optional<Duration> window = {};      // of the rate; unset: there is none
  Instant newest = kNever;                  // when the newest slice of the window began
  std::vector<std::uint32_t> granted = {};  // in each slice, the newest first
  Instant set_at = {};
  std::string set_by = {};  // name of the token; empty: none was needed
  bool removed = false;     // the row is removed
};

// A controller that was there lately, leading or not.
struct ControllerRow {  // key: id
  ControllerId id;
  std::string url;  // where others reach it
  Instant seen_at;  // by the database's clock
};

// How far the journal of a supervisor has been taken over: what is sent twice counts once.
struct JournalRow {        // key: supervisor
  std::string supervisor;  // machine and name
  std::string journal;     // a new one begins its numbers anew
  std::uint64_t last = 0;  // the newest entry that was taken
  Instant at;
  bool forgotten = false;  // the row is removed
};

struct CounterRow {  // one row
  RunId next_run{1};
  RecoveryId next_recovery{1};
  std::uint64_t next_event = 1;
  TaskTotals tasks{};  // of all runs there ever were, by state
  Epoch lease_floor;   // the highest epoch of a forgotten lease: new ones begin above it
};

// One transaction: all of it or nothing. Within a list a later row replaces an earlier one.
struct RowBatch {
  std::vector<RunRow> runs;
  std::vector<TaskRow> tasks;
  std::vector<TaskDataRow> task_data;
  std::vector<AttemptRow> attempts;
  std::vector<WorkerRow> workers;
  std::vector<MachineRow> machines;
  std::vector<RecoveryRow> recoveries;
  std::vector<RecoveryItemRow> recovery_items;
  std::vector<DeadLetterRow> dead_letters;
  std::vector<PartitionLeaseRow> leases;
  std::vector<QueueRow> queues;
  std::vector<JournalRow> journals = {};
  std::vector<SignalRow> signals = {};
  std::vector<ScheduleRow> schedules = {};
  std::vector<LimitRow> limits = {};
  std::optional<CounterRow> counters;
  // Forgotten: deleted before the rows above are written, so one that comes back is there again.
  std::vector<WorkerId> workers_gone;
  std::vector<MachineId> machines_gone;
  std::vector<PartitionKey> leases_gone;
};

struct KeyRow {
  std::string key;
  RunId run;
  std::uint64_t digest = 0;
};

// One live run as it stands in the store.
struct RunImage {
  RunRow run;
  std::vector<TaskRow> tasks;
  // Checkpoints of unfinished tasks, and outputs of completed ones that the core reads.
  std::vector<TaskDataRow> data;
  std::vector<SignalRow> signals = {};  // by number
};

// A row that cannot be read, or that others need and that is not there. What depends on it is set
// aside; everything else goes on.
struct DamagedRow {
  std::string table;
  std::string id;      // of the row, as people know it
  std::string column;  // empty: the row as a whole
  std::string what;    // what is wrong with it
  RunId run;           // the run that is set aside because of it; 0: none
};
inline std::string to_text(const DamagedRow& row) {
  const std::string column = row.column.empty() ? "" : ", column " + row.column;
  return "table " + row.table + ", row " + row.id + column + ": " + row.what;
}

// Everything a controller needs to start its term: live runs whole, and what outlives runs.
struct StoreImage {
  CounterRow counters;
  std::vector<RunImage> runs;
  std::vector<WorkerRow> workers;
  std::vector<MachineRow> machines;
  std::vector<PartitionLeaseRow> leases;
  std::vector<QueueRow> queues;
  std::vector<JournalRow> journals = {};
  std::vector<ScheduleRow> schedules = {};
  std::vector<LimitRow> limits = {};
  std::vector<KeyRow> keys;                 // of finished runs too
  std::vector<DeadLetterRow> dead_letters;  // open ones
  std::vector<DamagedRow> damaged;
};

}  // namespace vortex
