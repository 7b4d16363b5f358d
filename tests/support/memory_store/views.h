#pragma once
// The tables as readers see them: filtered, in the order of each list, forgotten runs left out.
// Pure functions; the caller holds the lock.

#include <vector>

#include "store/reader.h"
#include "tests/support/memory_store/tables.h"

namespace vortex::store::memory {

RunView view_of(const RunRow& row);
WorkerView view_of(const Tables& tables, const WorkerRow& row);
LogText text_of(const StoredLog& log, const LogRequest& request);

std::vector<RunView> runs_in(const Tables& tables, const RunFilter& filter);
std::vector<TaskView> tasks_in(const Tables& tables, const TaskFilter& filter);
RunMarks marks_in(const Tables& tables, const TaskSpan& span);
std::vector<WorkerView> workers_in(const Tables& tables, const WorkerFilter& filter);
std::vector<RecoveryView> recoveries_in(const Tables& tables, const RecoveryFilter& filter);
std::vector<RecoveryItemRow> items_in(const Tables& tables, RecoveryId recovery);
std::vector<DeadLetterView> letters_in(const Tables& tables, const DeadLetterFilter& filter);
std::vector<DagView> dags_in(const Tables& tables);

}  // namespace vortex::store::memory
