#include "core/checkpoints.h"

#include <utility>

#include "core/find.h"
#include "core/report.h"

namespace vortex::core {

namespace {

struct Refused {
  std::string reason;
  std::uint64_t bytes = 0;
  std::uint64_t bytes_max = 0;
};

void tell_refused(Context& cx, TaskIx ix, const Refused& refused) {
  cx.event(EventKind::kCheckpointRefused, {.worker = {}, .task = ix, .run = {}},
           {{"reason", refused.reason},
            {"bytes", static_cast<std::int64_t>(refused.bytes)},
            {"bytes_max", static_cast<std::int64_t>(refused.bytes_max)}},
           Severity::kWarning);
}

void moved(Context& cx, TaskIx ix) {
  start_attempt(cx, ix);
  Task& task = cx.task(ix);
  if (!cx.spec_of(task).stale_counts.progress) return;
  std::get<Running>(task.phase).progress_at = cx.judged;
}

// The task, if that life of the worker holds exactly this attempt at it.
TaskIx claimed(Context& cx, const CheckpointClaim& by) {
  const WorkerIx worker = cx.state.workers.find(by.worker);
  if (!worker.valid() || cx.worker(worker).incarnation != by.incarnation) return TaskIx::none();
  if (!is_present(cx.worker(worker).state)) return TaskIx::none();
  return find_attempt(cx, by.attempt, worker);
}

}  // namespace

void take_checkpoint(Context& cx, TaskIx ix, const Checkpoint& checkpoint) {
  if (checkpoint.data.empty()) return;
  const std::uint64_t bytes_max = cx.state.policy.checkpoint_bytes_max;
  if (checkpoint.data.size() > bytes_max) {
    return tell_refused(cx, ix, {"too large", checkpoint.data.size(), bytes_max});
  }
  moved(cx, ix);
  Task& task = cx.task(ix);
  TaskNotes& notes = task.notes_for_writing();
  TaskDataRow& row = cx.fx.rows.task_data.emplace_back();
  row.id = cx.id_of(task);
  row.epoch = task.epoch;
  row.checkpoint = checkpoint.data;
  if (std::exchange(notes.uploaded, {}).number != 0) row.uploaded = CheckpointRef{};
  notes.checkpoint = checkpoint.data;
}

void forget_checkpoint(Context& cx, TaskIx ix) {
  Task& task = cx.task(ix);
  if (!task.notes || std::exchange(task.notes->uploaded, {}).number == 0) return;
  cx.fx.rows.task_data.push_back(
      {.id = cx.id_of(task), .epoch = task.epoch, .uploaded = CheckpointRef{}});
}

void on_refuse_checkpoint(Context& cx, const RefuseCheckpoint& command) {
  const TaskIx ix = claimed(cx, command.by);
  if (!ix.valid()) return cx.refuse(command.request, RefusalKind::kLeaseNotHeld);
  tell_refused(cx, ix, {command.reason, command.bytes, cx.state.policy.upload_bytes_max});
  cx.reply(command.request, Done{});
}

void on_keep_checkpoint(Context& cx, const KeepCheckpoint& command) {
  const TaskIx ix = claimed(cx, command.by);
  if (!ix.valid() || command.uploaded.bytes > cx.state.policy.upload_bytes_max) {
    return cx.refuse(command.request, RefusalKind::kLeaseNotHeld);
  }
  moved(cx, ix);
  Task& task = cx.task(ix);
  TaskNotes& notes = task.notes_for_writing();
  notes.uploaded = command.uploaded;
  notes.checkpoint.clear();
  TaskDataRow& row = cx.fx.rows.task_data.emplace_back();
  row.id = cx.id_of(task);
  row.epoch = task.epoch;
  row.checkpoint = "";
  row.uploaded = command.uploaded;
  cx.reply(command.request, Done{});
}

}  // namespace vortex::core
