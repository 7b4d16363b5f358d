#include "sim/model/told.h"

#include <utility>

namespace vortex::sim {

namespace {

const EventValue* value_in(const Event& event, std::string_view key) {
  for (const auto& [known, value] : event.data) {
    if (std::string_view(known) == key) return &value;
  }
  return nullptr;
}

Epoch epoch_in(const Event& event) {
  return {static_cast<std::uint64_t>(number_in(event, "epoch").value_or(0))};
}

std::string wrong_if(bool wrong, const char* what) { return wrong ? what : ""; }

}  // namespace

std::optional<std::int64_t> number_in(const Event& event, std::string_view key) {
  const EventValue* value = value_in(event, key);
  const auto* number = value != nullptr ? std::get_if<std::int64_t>(value) : nullptr;
  if (number == nullptr) return std::nullopt;
  return *number;
}

std::string text_in(const Event& event, std::string_view key) {
  const EventValue* value = value_in(event, key);
  const auto* text = value != nullptr ? std::get_if<std::string>(value) : nullptr;
  return text != nullptr ? *text : std::string();
}

void Told::begin_term() {
  for (auto& [id, worker] : workers_) worker.suspect = false;
}

std::string Told::take(const Event& event) {
  switch (event.kind) {
    case EventKind::kTaskClaimed:
    case EventKind::kTaskStarted:
    case EventKind::kTaskComplete:
    case EventKind::kTaskFailed:
    case EventKind::kTaskTimeout:
    case EventKind::kTaskRequeued:
    case EventKind::kTaskCancelled:
    case EventKind::kTaskQuarantined:
    case EventKind::kTaskDeadLettered:
    case EventKind::kTaskRetry:
    case EventKind::kTaskRedriven:
      return event.task ? take_task(event) : "it names no task";
    case EventKind::kRunSubmitted:
    case EventKind::kRunComplete:
    case EventKind::kRunCancelRequested:
    case EventKind::kRunSkipped:
    case EventKind::kRunPaused:
    case EventKind::kRunResumed:
    case EventKind::kFinallyStarted:
      return event.run ? take_run(event) : "it names no run";
    case EventKind::kQueuePaused:
    case EventKind::kQueueResumed:
    case EventKind::kMachineOnline:
    case EventKind::kMachineOffline:
      return take_switch(event);
    case EventKind::kLeaseAcquired:
    case EventKind::kLeaseReleased:
    case EventKind::kLeaseExpired:
    case EventKind::kLeaseForgotten:
      return take_lease(event);
    default:
      return event.worker.empty() ? "" : take_worker(event);
  }
}

std::string Told::take_task(const Event& event) {
  ToldTask& task = tasks_[*event.task];
  const bool held = is_held(task.state);
  switch (event.kind) {
    case EventKind::kTaskClaimed: {
      const bool wrong = task.state != TaskState::kQueued || epoch_in(event) != task.epoch;
      task.state = TaskState::kScheduled;
      task.epoch = epoch_in(event);
      task.worker = event.worker;
      return wrong_if(wrong, "it was not waiting under that epoch");
    }
    case EventKind::kTaskStarted: {
      const bool wrong = task.state != TaskState::kScheduled || task.worker != event.worker;
      task.state = TaskState::kRunning;
      return wrong_if(wrong, "it was not granted to that worker, or had started");
    }
    case EventKind::kTaskRequeued: {
      // A sub-DAG is tried again without ever having been held.
      const bool child = event.worker.empty() && task.state == TaskState::kQueued;
      const bool wrong = (!held && !child) || epoch_in(event) != task.epoch.next();
      task.state = TaskState::kQueued;
      task.epoch = epoch_in(event);
      task.previous = std::exchange(task.worker, {});
      task.requeued_at = event.at;
      task.ended.reset();
      return wrong_if(wrong, "it was not held, or its epoch is not the next");
    }
    case EventKind::kTaskRetry:
    case EventKind::kTaskRedriven: {
      const bool wrong = task.state != TaskState::kFailed || epoch_in(event) != task.epoch.next();
      task = ToldTask{};
      task.epoch = epoch_in(event);
      runs_[event.task->run].state.clear();
      return wrong_if(wrong, "it had not failed, or its epoch is not the next");
    }
    default:
      return take_end(event, task);
  }
}

std::string Told::take_end(const Event& event, ToldTask& task) {
  const bool held = is_held(task.state);
  switch (event.kind) {
    case EventKind::kTaskComplete: {
      // What only waits is given to nobody and has no attempts.
      if (event.worker.empty()) {
        const bool waited = task.state == TaskState::kQueued && event.worker.empty();
        task.state = TaskState::kCompleted;
        return wrong_if(!waited, "it did not wait");
      }
      const bool wrong = task.state != TaskState::kRunning || task.worker != event.worker;
      task.state = TaskState::kCompleted;
      return wrong_if(wrong, "it did not run on that worker");
    }
    case EventKind::kTaskFailed:
    case EventKind::kTaskTimeout: {
      // What no worker had: it goes on, or its death is told next.
      if (event.worker.empty())
        return wrong_if(task.state != TaskState::kQueued, "it did not wait");
      const bool wrong = !held || task.worker != event.worker || task.ended;
      task.ended = event.kind;
      return wrong_if(wrong, "that worker did not hold it, or its end was told before");
    }
    case EventKind::kTaskCancelled: {
      const bool wrong = is_final(task.state) || task.ended;
      task.state = TaskState::kCancelled;
      return wrong_if(wrong, "it had ended before");
    }
    default: {
      const bool wrong = is_final(task.state);
      task.state = TaskState::kFailed;
      task.ended.reset();
      return wrong_if(wrong, "it had ended before");
    }
  }
}

std::string Told::take_run(const Event& event) {
  any_ = true;
  ToldRun& run = runs_[*event.run];
  if (event.kind == EventKind::kRunSubmitted) return {};
  const bool over = !run.state.empty();
  switch (event.kind) {
    case EventKind::kRunComplete:
      run.state = text_in(event, "state");
      return wrong_if(over || run.state.empty(), "it had ended before, or has no state");
    case EventKind::kFinallyStarted:
      run.finally = true;
      return wrong_if(over, "it had ended");
    case EventKind::kRunSkipped:
    case EventKind::kRunCancelRequested: {
      bool& stopped = run.finally && run.stopped ? run.finally_stopped : run.stopped;
      return wrong_if(std::exchange(stopped, true) || over, "it had been stopped, or ended");
    }
    case EventKind::kRunPaused:
      return wrong_if(std::exchange(run.paused, true) || over, "it was paused, or had ended");
    default:
      return wrong_if(!std::exchange(run.paused, false) || over, "it was not paused, or had ended");
  }
}

std::string Told::take_switch(const Event& event) {
  const bool on = event.kind == EventKind::kQueuePaused || event.kind == EventKind::kMachineOnline;
  const bool queue =
      event.kind == EventKind::kQueuePaused || event.kind == EventKind::kQueueResumed;
  bool& known =
      queue ? queues_[text_in(event, "queue")] : machines_[MachineId(text_in(event, "machine"))];
  return wrong_if(std::exchange(known, on) == on, "it was so before");
}

std::string Told::take_lease(const Event& event) {
  ToldLease& lease = leases_[{text_in(event, "topic"), number_in(event, "partition").value_or(0)}];
  const std::string agent = text_in(event, "agent");
  const std::int64_t epoch = number_in(event, "epoch").value_or(0);
  if (event.kind == EventKind::kLeaseAcquired) {
    const bool wrong = epoch <= lease.epoch || (!lease.agent.empty() && lease.agent != agent);
    lease = {agent, epoch};
    return wrong_if(wrong, "somebody else had it, or the epoch is not new");
  }
  if (event.kind == EventKind::kLeaseForgotten) {
    return wrong_if(!lease.agent.empty(), "somebody had it");
  }
  const bool wrong = lease.agent != agent || lease.epoch != epoch;
  lease.agent.clear();
  return wrong_if(wrong, "nobody had it like that");
}

std::string Told::take_worker(const Event& event) {
  ToldWorker& worker = workers_[event.worker];
  const Standing was = worker.standing;
  const bool present = was >= Standing::kRegistering && was <= Standing::kDraining;
  switch (event.kind) {
    case EventKind::kWorkerRegistered: {
      any_ = true;
      const Incarnation life{
          static_cast<std::uint64_t>(number_in(event, "incarnation").value_or(0))};
      const bool wrong = present || life <= worker.incarnation;
      worker.standing = Standing::kRegistering;
      worker.incarnation = life;
      worker.suspect = false;
      return wrong_if(wrong, "its earlier life was not over, or this one is not new");
    }
    case EventKind::kWorkerReady:
      worker.standing = Standing::kActive;
      return wrong_if(was != Standing::kRegistering, "it was not registering");
    case EventKind::kWorkerDraining:
      worker.standing = Standing::kDraining;
      return wrong_if(!present || was == Standing::kDraining, "it was gone, or drained before");
    case EventKind::kWorkerInactive:
    case EventKind::kWorkerOffline:
      worker.standing =
          event.kind == EventKind::kWorkerOffline ? Standing::kGone : Standing::kInactive;
      worker.suspect = false;
      return wrong_if(!present, "it was gone before");
    case EventKind::kWorkerCordoned: {
      // By an operator it stays; by blame it waits for its probation, or waits again after it.
      const bool by_operator = !number_in(event, "probation_in_ms");
      const WorkerBlame before =
          std::exchange(worker.blame, by_operator ? WorkerBlame::kNone : WorkerBlame::kCordoned);
      const bool again =
          by_operator ? before != WorkerBlame::kNone : before == WorkerBlame::kProbation;
      return wrong_if(std::exchange(worker.cordoned, true) == true && !again, "it was so before");
    }
    case EventKind::kWorkerUncordoned:
      worker.blame = WorkerBlame::kNone;
      return wrong_if(std::exchange(worker.cordoned, false) == false, "it was so before");
    case EventKind::kWorkerProbation:
      return wrong_if(
          std::exchange(worker.blame, WorkerBlame::kProbation) != WorkerBlame::kCordoned,
          "it did not wait for its probation");
    case EventKind::kHeartbeatStale:
      // The same name also tells of a loss; only a reason makes it suspicion.
      if (text_in(event, "reason").empty()) return {};
      return wrong_if(std::exchange(worker.suspect, true) || !present, "it was suspect, or gone");
    case EventKind::kHeartbeatRecovered:
      worker.suspect = false;
      return wrong_if(!present, "it was gone");
    case EventKind::kWorkerDeleted:
      worker = ToldWorker{};
      worker.cordoned.reset();
      return wrong_if(present, "it was not gone");
    default:
      return {};
  }
}

std::size_t Told::held_by(const WorkerId& id) const {
  return static_cast<std::size_t>(std::ranges::count_if(tasks_, [&](const auto& entry) {
    return is_held(entry.second.state) && entry.second.worker == id;
  }));
}

}  // namespace vortex::sim
