#pragma once
// Reads a SQLite store to show it, on a connection of its own that never writes or checkpoints.
//
// One thread at a time. An answer made of several statements is read from one snapshot. The lists
// are spread over read_runs.cc, read_tasks.cc, read_recoveries.cc, read_fleet.cc and read_logs.cc;
// read_marks.cc is for the thorough check.

#include <map>
#include <memory>
#include <string>

#include "store/plan_shelf.h"
#include "store/reader.h"
#include "store/sqlite/connection.h"
#include "store/sqlite/reader_statements.h"
#include "store/sqlite/statement.h"

namespace vortex::store::sqlite {

// All statements between its making and its end see the same committed state.
class Snapshot {
 public:
  explicit Snapshot(ReaderStatements& statements) : statements_(statements) {
    statements_.begin.start().run();
  }
  ~Snapshot() { statements_.commit.start().run(); }
  Snapshot(const Snapshot&) = delete;
  Snapshot& operator=(const Snapshot&) = delete;
  Snapshot(Snapshot&&) = delete;
  Snapshot& operator=(Snapshot&&) = delete;

 private:
  ReaderStatements& statements_;
};

class SqliteReader final : public Reader {
 public:
  SqliteReader(std::unique_ptr<Connection> db, PlanShelf& shelf)
      : db_(std::move(db)), shelf_(shelf), sql_(*db_) {}

  Result<Page<RunView>> runs(const RunFilter& filter, const PageRequest& page) override;
  Result<std::optional<RunView>> run(RunId id) override;
  Result<PlanPtr> plan(std::uint64_t digest) override;
  Result<Page<TaskView>> tasks(const TaskFilter& filter, const PageRequest& page) override;
  Result<std::optional<TaskView>> task(TaskId id) override;
  Result<std::vector<RunMarks>> marks(const std::vector<TaskSpan>& spans, Look look) override;
  Result<std::vector<RunId>> running(std::uint32_t limit) override;
  Result<std::optional<TaskDataRow>> task_data(TaskId id) override;
  Result<std::vector<AttemptRow>> attempts(TaskId id) override;
  Result<LogText> log(const LogRequest& request) override;
  Result<CheckpointText> checkpoint(const CheckpointRequest& request) override;
  Result<Page<WorkerView>> workers(const WorkerFilter& filter, const PageRequest& page) override;
  Result<std::optional<WorkerView>> worker(const WorkerId& id) override;
  Result<std::vector<MachineRow>> machines() override;
  Result<std::vector<QueueRow>> queues() override;
  Result<Page<RecoveryView>> recoveries(const RecoveryFilter& filter,
                                        const PageRequest& page) override;
  Result<std::optional<RecoveryView>> recovery(RecoveryId id) override;
  Result<Page<RecoveryItemRow>> recovery_items(RecoveryId id, const PageRequest& page) override;
  Result<Page<DeadLetterView>> dead_letters(const DeadLetterFilter& filter,
                                            const PageRequest& page) override;
  Result<Page<PartitionLeaseRow>> leases(const std::string& topic,
                                         const PageRequest& page) override;
  Result<std::optional<PartitionLeaseRow>> lease(const PartitionKey& key) override;
  Result<Page<DagView>> dags(const PageRequest& page) override;
  Result<std::optional<DagView>> dag(const std::string& name) override;
  Result<EventLines> events_after(std::uint64_t after, std::uint32_t bytes_max) override;
  Result<std::vector<TokenRow>> tokens() override;
  Result<std::vector<WebhookRow>> webhooks() override;
  Result<Totals> totals(Instant now) override;

 private:
  struct TaskKeys;
  Result<TaskKeys> keys_for(const TaskFilter& filter);
  Statement& tasks_in_state(TaskState state);
  Result<Page<TaskView>> walk_tasks(const TaskKeys& keys, std::optional<TaskState> state,
                                    std::uint32_t limit);
  Result<void> mark_run(RunId run, Look look, RunMarks& out);
  Result<void> mark_tasks(const TaskSpan& span, Look look, RunMarks& out);
  Result<bool> is_doomed(RunId run);
  Result<void> read_bytes(std::int64_t key, const LogRequest& request, LogText& into);

  std::unique_ptr<Connection> db_;
  PlanShelf& shelf_;
  ReaderStatements sql_;
  std::map<TaskState, std::pair<std::unique_ptr<std::string>, std::unique_ptr<Statement>>>
      by_state_;  // prepared per state: a partial index needs it as a literal
};

std::unique_ptr<Reader> make_reader(std::unique_ptr<Connection> db, PlanShelf& shelf);

}  // namespace vortex::store::sqlite
