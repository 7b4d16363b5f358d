#pragma once
// What is read from the store to be shown: lists by pages, single things, histories.
//
// Lists are keyset pages: `cursor` is opaque, empty for the first page; no page costs more than its
// rows, so one may be shorter than its limit, even empty, and still have a next one. A limit is
// taken as 1 to 10,000. Nothing here decides anything: decisions are the core's, which has its own
// memory.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "model/commit.h"
#include "model/ids.h"
#include "model/rows.h"
#include "model/states.h"
#include "store/error.h"

namespace vortex::store {

struct PageRequest {
  std::uint32_t limit = 100;
  std::string cursor;
};

template <class T>
struct Page {
  std::vector<T> items;
  std::string next_cursor;  // empty: that was all
};

struct RunView : RunRow {  // without its plan
  std::string dag;
  std::uint64_t dag_digest = 0;
  std::uint32_t levels = 0;
  std::uint32_t tasks = 0;  // by the plan, maps counted out
};

struct RunFilter {
  std::optional<RunState> state;
  std::string dag;
  Labels labels;       // all of them
  Labels params = {};  // all of them; a value that is no string as compact JSON
  RunId parent = {};   // only children of this run; 0: any
};

struct TaskView {
  TaskRow row;
  std::string name;  // of its node
};

struct TaskFilter {
  std::optional<RunId> run;
  std::optional<TaskState> state;
  std::optional<std::string> node;  // by name; only together with `run`, else kBadRequest
  std::optional<WorkerId> worker;   // tasks it holds
};

// What memory and the database must agree on about a run and its tasks, read in bulk.
struct TaskSpan {  // tasks [first, end) of a run
  RunId run;
  std::uint32_t first = 0;
  std::uint32_t end = 0;
};
struct TaskMark {
  std::uint32_t index = 0;
  TaskState state = TaskState::kWaiting;
  Epoch epoch;
  std::string worker;  // of a task that is held
};
struct RunMarks {
  bool is_there = false;
  std::string damage;  // set: the run's row cannot be read, and nothing else is given
  RunState state = RunState::kRunning;
  RunEnding ending = RunEnding::kNone;
  bool paused = false;
  std::uint32_t levels_passed = 0;
  TaskCounts made{};
  std::vector<TaskMark> tasks;  // by index; damaged rows are left out
};
// How closely rows are looked at: damage in a column that is not read is not seen.
enum class ReadDepth : std::uint8_t { kMarks, kWholeRows };

struct WorkerView {
  WorkerRow row;
  std::uint32_t held = 0;       // tasks it holds
  std::uint64_t completed = 0;  // attempts that completed on it, of forgotten runs too
  std::uint64_t ended = 0;      // attempts that ended on it in any way, likewise
};

struct WorkerFilter {
  std::optional<WorkerState> state;
  std::string zone;
  std::string group;
  std::string machine;
  bool live_only = false;    // present ones: neither INACTIVE nor OFFLINE
  bool active_only = false;  // IDLE or RUNNING
};

struct RecoveryView {
  RecoveryRow row;
};
struct RecoveryFilter {
  std::optional<WorkerId> worker;
  std::optional<TaskId> task;
};

struct DeadLetterFilter {
  std::optional<DeadLetterState> state;
  std::optional<RunId> run;
};
struct DeadLetterView {
  DeadLetterRow row;
  std::string name;  // of the task's node
  std::uint32_t level = 0;
  std::string dag;
};

struct DagView : DagRow {  // without its plan
  std::uint64_t digest = 0;
  std::uint32_t nodes = 0;
  std::uint32_t tasks = 0;
};

struct ScheduleView : ScheduleRow {  // without its plan
  std::uint64_t digest = 0;
};

struct LogText {
  std::uint64_t offset = 0;  // of the first byte of `data` in what the attempt wrote
  std::string data;
  std::uint64_t skipped = 0;  // bytes cut out between the end of `data` and next_offset
  std::uint64_t next_offset = 0;
  std::uint64_t size = 0;  // all that the attempt wrote so far
};
struct LogRequest {
  Attempt attempt;
  std::uint64_t offset = 0;
  std::uint32_t bytes_max = 1 << 20;
  bool from_end = false;  // the last bytes_max bytes instead
};

struct CheckpointText {
  std::string data;          // the piece that begins where was asked; empty: there is none
  std::uint64_t stored = 0;  // bytes of this upload that are there
};
struct CheckpointRequest {
  TaskId task;
  std::uint64_t upload = 0;
  std::uint64_t offset = 0;
};

struct EventLines {
  std::uint64_t first_seq = 0;  // 0: none
  std::uint64_t last_seq = 0;
  std::string lines;  // whole stored blocks: the caller drops what it did not ask for
};

// Entries of the audit log: all that is given must hold.
struct AuditFilter {
  std::string who;   // name of a token, or an address
  std::string what;  // id of an operation, or a target
  std::optional<AuditOutcome> outcome;
  Instant since{};                     // not before
  std::optional<std::uint64_t> after;  // entries after this one, oldest first; else newest first
};
AuditOutcome outcome_of(const AuditRow& row);
bool is_wanted(const AuditRow& row, const AuditFilter& filter);

struct Totals {
  CounterRow counters;
  std::uint64_t requeued_last_hour = 0;
  std::uint64_t open_dead_letters = 0;
};

// Who leads, as of now by the database's clock.
struct Leader {
  ControllerId id;
  std::string url;  // where others reach it
  Term term;
  Instant since;  // when this term began
};

class Reader {
 public:
  Reader() = default;
  virtual ~Reader() = default;
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  Reader(Reader&&) = delete;
  Reader& operator=(Reader&&) = delete;

  // Newest first. Params can be long, and no index knows them: a page also ends when it has more
  // than kRunsBytes of them, and with a filter by params after kRunsWalked runs or
  // kRunsBytesWalked, however few were found.
  static constexpr std::uint32_t kRunsWalked = 5'000;
  static constexpr std::uint64_t kRunsBytes = 8ULL << 20U;
  static constexpr std::uint64_t kRunsBytesWalked = 32ULL << 20U;
  virtual Result<Page<RunView>> runs(const RunFilter& filter, const PageRequest& page) = 0;
  virtual Result<std::optional<RunView>> run(RunId id) = 0;
  // The definition that a run or a named DAG was made from.
  virtual Result<PlanPtr> plan(std::uint64_t digest) = 0;  // null: not kept
  virtual Result<Page<TaskView>> tasks(const TaskFilter& filter,
                                       const PageRequest& page) = 0;  // by run and index
  virtual Result<std::optional<TaskView>> task(TaskId id) = 0;
  // One for each span, all from one snapshot. Without the tasks of a run that has no row.
  virtual Result<std::vector<RunMarks>> marks(const std::vector<TaskSpan>& spans,
                                              ReadDepth depth) = 0;
  virtual Result<std::vector<RunId>> running(std::uint32_t limit) = 0;  // oldest first
  virtual Result<std::optional<TaskDataRow>> task_data(TaskId id) = 0;
  // Outputs of the completed ones that wrote any, by index. All of the span at once: keep it short.
  virtual Result<std::vector<TaskDataRow>> outputs(const TaskSpan& span) = 0;
  virtual Result<std::vector<AttemptRow>> attempts(TaskId id) = 0;  // oldest first, at most 1,000
  // What the run was told from outside, in the order of arrival.
  virtual Result<std::vector<SignalRow>> signals(RunId run) = 0;
  virtual Result<LogText> log(const LogRequest& request) = 0;
  virtual Result<CheckpointText> checkpoint(const CheckpointRequest& request) = 0;
  virtual Result<Page<WorkerView>> workers(const WorkerFilter& filter, const PageRequest& page) = 0;
  virtual Result<std::optional<WorkerView>> worker(const WorkerId& id) = 0;
  virtual Result<std::vector<MachineRow>> machines() = 0;
  virtual Result<std::vector<QueueRow>> queues() = 0;
  virtual Result<Page<RecoveryView>> recoveries(const RecoveryFilter& filter,
                                                const PageRequest& page) = 0;  // newest first
  virtual Result<std::optional<RecoveryView>> recovery(RecoveryId id) = 0;
  virtual Result<Page<RecoveryItemRow>> recovery_items(RecoveryId id, const PageRequest& page) = 0;
  virtual Result<Page<DeadLetterView>> dead_letters(const DeadLetterFilter& filter,
                                                    const PageRequest& page) = 0;  // newest first
  virtual Result<Page<PartitionLeaseRow>> leases(const std::string& topic,
                                                 const PageRequest& page) = 0;
  virtual Result<std::optional<PartitionLeaseRow>> lease(const PartitionKey& key) = 0;
  virtual Result<Page<DagView>> dags(const PageRequest& page) = 0;
  virtual Result<std::optional<DagView>> dag(const std::string& name) = 0;
  virtual Result<Page<ScheduleView>> schedules(const PageRequest& page) = 0;  // by DAG
  virtual Result<std::optional<ScheduleView>> schedule(const std::string& dag) = 0;
  // Events with a higher sequence than `after`; about bytes_max of them.
  virtual Result<EventLines> events_after(std::uint64_t after, std::uint32_t bytes_max) = 0;
  // Signs the tokens of attempts; random, and the same for all controllers of this database.
  virtual Result<std::string> attempt_key() = 0;
  virtual Result<std::vector<TokenRow>> tokens() = 0;
  virtual Result<std::vector<WebhookRow>> webhooks() = 0;  // by name
  virtual Result<Page<AuditRow>> audit(const AuditFilter& filter, const PageRequest& page) = 0;
  // Secrets, those that were deleted included.
  virtual Result<std::vector<SecretRow>> secrets() = 0;  // by name
  virtual Result<std::optional<SecretRow>> secret(const std::string& name) = 0;
  virtual Result<std::vector<SecretVersionRow>> secret_versions(const std::string& name) = 0;
  virtual Result<std::optional<SecretVersionRow>> secret_version(const std::string& name,
                                                                 std::uint32_t version) = 0;
  // Unset: it was released, or its lease has ended.
  virtual Result<std::optional<Leader>> leader() = 0;
  virtual Result<std::vector<ControllerRow>> controllers() = 0;  // by id
  virtual Result<Totals> totals(Instant now) = 0;
};

}  // namespace vortex::store
