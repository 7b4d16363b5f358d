#pragma once
// From the columns of a statement to rows of the model. Columns come in the order of the parts
// run_columns, task_columns and worker_columns in the .sql files; each function reads just its own.

#include <cstdint>
#include <string>

#include "model/rows.h"
#include "store/sqlite/statement.h"

namespace vortex::store::sqlite {

TaskRow take_task(Rows& rows);

// All but the plan, whose digest is given back.
struct StoredRun {
  RunRow row;
  std::uint64_t digest = 0;
};
StoredRun take_run(Rows& rows);

WorkerRow take_worker(Rows& rows);
MachineRow take_machine(Rows& rows);
QueueRow take_queue(Rows& rows);
PartitionLeaseRow take_lease(Rows& rows);
DeadLetterRow take_dead_letter(Rows& rows);
CounterRow take_counters(Rows& rows);

Labels take_labels(Rows& rows);
RunState take_run_state(Rows& rows);
TaskState take_task_state(Rows& rows);
TaskCounts take_counts(Rows& rows);
// A column of numbers that stand for the values of an enum.
template <class Enum>
Enum take_enum(Rows& rows) {
  if (const auto value = from_number<Enum>(rows.number())) return *value;
  rows.damaged("an unknown code");
  return {};
}
// A checkpoint that is kept in pieces; unset: there is none.
std::optional<CheckpointRef> take_uploaded(Rows& rows);
// A level that may be missing.
std::uint32_t take_level(Rows& rows);

}  // namespace vortex::store::sqlite
