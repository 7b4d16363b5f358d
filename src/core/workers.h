#pragma once
// Workers come, change state, hold tasks and go; their machine's status changes in the same step.
// Who fits a task and whether there is room is answered here; who gets it, in core/assign.h.

#include "core/command.h"
#include "core/context.h"

namespace vortex::core {

constexpr std::uint32_t kSlotsMax = 100'000;  // of one worker

void on_register(Context& cx, const RegisterWorker& command);
void on_drain_worker(Context& cx, const DrainWorker& command);
void on_cordon_worker(Context& cx, const CordonWorker& command);
void on_delete_worker(Context& cx, const DeleteWorker& command);
// Forgets workers that have been gone for long, a bounded number at a time.
void forget_old_workers(Context& cx);
// A part of the look at all tasks after which the places of forgotten workers can be used again.
void release_retired(State& state);
void on_reset_worker(Context& cx, const ResetWorker& command);

// The only way to change a worker's state: keeps its machine's count and status true.
void set_worker_state(Context& cx, WorkerIx ix, WorkerState state);

// IDLE or RUNNING by what it holds; other states stay.
void refresh_activity(Context& cx, WorkerIx ix);

// Books a task onto a worker and off again: held list, resources, play of the node.
void take_slot(Context& cx, TaskIx ix, WorkerIx worker);
void release_slot(Context& cx, TaskIx ix);

// Whether what is left of the worker's resources covers the demand.
bool resources_fit(const Worker& worker, const Resources& demand);

// Is there a worker other than `last` that is fit for this task and takes work?
bool another_could_take(Context& cx, const Task& task, WorkerIx last);

// Abilities and pin: may this worker ever run tasks of this class?
bool worker_fits(Context& cx, WorkerIx worker, ClassIx cls);

}  // namespace vortex::core
