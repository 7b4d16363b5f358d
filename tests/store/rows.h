#pragma once
// Short ways to write rows in tests: the least that makes sense, to be changed where it matters.
// All times are around one fixed moment.

#include <memory>
#include <string>

#include "model/commit.h"
#include "model/plan.h"
#include "model/rows.h"

namespace vortex::store::testing {

inline constexpr Instant kT0{1'771'800'000'000'000};  // 2026-02-22 22:40:00

// "list", then "resize" over `items`, then "report".
PlanPtr sample_plan(const std::string& name, std::int64_t items = 3);

// The same with a map over what "list" writes, which is not made yet.
PlanPtr late_plan(const std::string& name);
// Makes it, of so many items.
void make_map(RunRow& run, std::uint32_t items);

TaskId task_id(std::uint64_t run, std::uint32_t index);
RunRow run_row(std::uint64_t id, const PlanPtr& plan, const std::string& key = {});
RunRow finished(RunRow row, Instant at);
TaskRow task_row(const RunRow& run, std::uint32_t index, TaskState state);
AttemptRow attempt_row(TaskId task, std::uint64_t epoch, const std::string& worker);
WorkerRow worker_row(const std::string& id, WorkerState state);
DeadLetterRow letter_row(TaskId task, Instant at);

// Every task of the plan, Queued, with the run's counts to match.
void add_run(RowBatch& rows, RunRow run, TaskState state = TaskState::kQueued);

}  // namespace vortex::store::testing
