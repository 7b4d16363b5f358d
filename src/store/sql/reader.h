#pragma once
// Reads a store to show it, on a session of its own that never writes.
//
// One thread at a time. An answer made of several statements is read from one snapshot. The lists
// are spread over read_tasks.cc, read_fleet.cc and read_logs.cc;
// read_logs.cc is for the thorough check.

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "store/cursor.h"
#include "store/error.h"
#include "store/plan_shelf.h"
#include "store/reader.h"
#include "store/sql/statement.h"

namespace vortex::store::sql {

// The cursor of a list that runs from the newest to the oldest, at its begin.
inline constexpr std::int64_t kBeforeAll = std::numeric_limits<std::int64_t>::max();

// The statements of one reader, each prepared at its first use and kept. Names are those of the
// .sql files they come from: read_runs.sql, read_tasks.sql, read_fleet.sql, logs.sql.

struct ReaderStatements {
  explicit ReaderStatements(Session& db);

  Statement& runs_by_id;
  Statement& runs_by_state;
  Statement& runs_by_dag;
  Statement& runs_by_label;
  Statement& runs_by_parent;
  Statement& one_run;
  Statement& run_marks;
  Statement& running_runs;
  Statement& spec;
  Statement& tasks_by_key;
  Statement& task_marks;
  Statement& tasks_of_worker;
  Statement& one_task;
  Statement& one_task_data;
  Statement& outputs_of_tasks;
  Statement& signals_of_run;
  Statement& stored_checkpoint_bytes;
  Statement& one_checkpoint_piece;
  Statement& attempts_of_task;
  Statement& is_doomed;
  Statement& log_head;
  Statement& log_chunks;
  Statement& worker_page;
  Statement& one_worker;
  Statement& all_machines;
  Statement& all_queues;
  Statement& recoveries_by_id;
  Statement& recoveries_of_worker;
  Statement& recoveries_of_task;
  Statement& one_recovery;
  Statement& recovery_item_page;
  Statement& dead_letters_by_time;
  Statement& dead_letters_by_state;
  Statement& dead_letters_of_run;
  Statement& lease_page;
  Statement& lease_page_of_topic;
  Statement& one_lease;
  Statement& dag_page;
  Statement& one_dag;
  Statement& schedule_page;
  Statement& one_schedule;
  Statement& events_from;
  Statement& attempt_key;
  Statement& all_tokens;
  Statement& all_webhooks;
  Statement& audit_before;
  Statement& audit_after;
  Statement& all_secrets;
  Statement& one_secret;
  Statement& secret_versions;
  Statement& secret_version;
  Statement& leader;
  Statement& all_controllers;
  Statement& counters;
  Statement& requeued_since;
  Statement& count_open_dead_letters;
};

class SqlReader final : public Reader {
 public:
  SqlReader(std::unique_ptr<Session> db, PlanShelf& shelf)
      : db_(std::move(db)), shelf_(shelf), sql_(*db_) {}

  Result<Page<RunView>> runs(const RunFilter& filter, const PageRequest& page) override;
  Result<std::optional<RunView>> run(RunId id) override;
  Result<PlanPtr> plan(std::uint64_t digest) override;
  Result<Page<TaskView>> tasks(const TaskFilter& filter, const PageRequest& page) override;
  Result<std::optional<TaskView>> task(TaskId id) override;
  Result<std::vector<RunMarks>> marks(const std::vector<TaskSpan>& spans, ReadDepth depth) override;
  Result<std::vector<RunId>> running(std::uint32_t limit) override;
  Result<std::optional<TaskDataRow>> task_data(TaskId id) override;
  Result<std::vector<TaskDataRow>> outputs(const TaskSpan& span) override;
  Result<std::vector<SignalRow>> signals(RunId run) override;
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
  Result<Page<ScheduleView>> schedules(const PageRequest& page) override;
  Result<std::optional<ScheduleView>> schedule(const std::string& dag) override;
  Result<EventLines> events_after(std::uint64_t after, std::uint32_t bytes_max) override;
  Result<std::string> attempt_key() override;
  Result<std::vector<TokenRow>> tokens() override;
  Result<std::vector<WebhookRow>> webhooks() override;
  Result<Page<AuditRow>> audit(const AuditFilter& filter, const PageRequest& page) override;
  Result<std::vector<SecretRow>> secrets() override;
  Result<std::optional<SecretRow>> secret(const std::string& name) override;
  Result<std::vector<SecretVersionRow>> secret_versions(const std::string& name) override;
  Result<std::optional<SecretVersionRow>> secret_version(const std::string& name,
                                                         std::uint32_t version) override;
  Result<std::optional<Leader>> leader() override;
  Result<std::vector<ControllerRow>> controllers() override;
  Result<Totals> totals(Instant now) override;

 private:
  struct TaskKeys;
  Result<TaskKeys> keys_for(const TaskFilter& filter);
  struct RunQuery;
  Statement& list_runs(const RunQuery& query, std::int64_t before, std::uint32_t rows);
  Statement& tasks_in_state(TaskState state);
  Result<Page<TaskView>> walk_tasks(const TaskKeys& keys, std::optional<TaskState> state,
                                    std::uint32_t limit);
  Result<void> mark_run(RunId run, ReadDepth depth, RunMarks& out);
  Result<void> mark_tasks(const TaskSpan& span, ReadDepth depth, RunMarks& out);
  Result<bool> is_doomed(RunId run);
  Result<void> read_bytes(std::int64_t key, const LogRequest& request, LogText& into);

  std::unique_ptr<Session> db_;
  PlanShelf& shelf_;
  ReaderStatements sql_;
  std::map<TaskState, Statement*> by_state_;  // each: a partial index needs it as a literal
};

std::unique_ptr<Reader> make_reader(std::unique_ptr<Session> db, PlanShelf& shelf);

// How a statement becomes a page: it is asked for one row more than wanted, and that row only tells
// that there is a next page. Also single rows and whole small tables. A damaged row is left out of
// a list, so that it hides no other one; the load of the state and `db check` name it.

// `take` reads one row; `key` says where a page that ends with it ended.
template <class Item, class Take, class Key>
Result<Page<Item>> read_page(Statement& bound, std::uint32_t limit, CursorKind kind, Take take,
                             Key key) {
  Rows rows(bound);
  Page<Item> page;
  std::optional<Item> last;  // damaged or not: the next page goes on behind it
  for (std::uint32_t seen = 0; rows.next(); ++seen) {
    if (seen == limit) {
      page.next_cursor = write_cursor(kind, key(last ? *last : page.items.back()));
      break;
    }
    Item item = take(rows);
    const bool damaged = rows.take_damage().has_value();
    last.reset();
    if (damaged) {
      last = std::move(item);
    } else {
      page.items.push_back(std::move(item));
    }
  }
  if (rows.failed()) return std::unexpected(rows.error());
  return page;
}

template <class Item, class Take>
Result<std::optional<Item>> read_one(Statement& bound, Take take) {
  Rows rows(bound);
  std::optional<Item> item;
  if (rows.next()) item = take(rows);
  if (rows.failed()) return std::unexpected(rows.error());
  return item;
}

template <class Item, class Take>
Result<std::vector<Item>> read_all(Statement& bound, Take take) {
  Rows rows(bound);
  std::vector<Item> items;
  while (rows.next()) {
    Item item = take(rows);
    if (!rows.take_damage()) items.push_back(std::move(item));
  }
  if (rows.failed()) return std::unexpected(rows.error());
  return items;
}

}  // namespace vortex::store::sql
