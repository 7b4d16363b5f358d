#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/planted.h"
#include "core/step.h"
#include "sim/controller.h"

namespace vortex::sim {

namespace {

bool is_empty(const CommitRequest& request) {
  const RowBatch& rows = request.rows;
  return rows.runs.empty() && rows.tasks.empty() && rows.task_data.empty() &&
         rows.attempts.empty() && rows.workers.empty() && rows.machines.empty() &&
         rows.recoveries.empty() && rows.recovery_items.empty() && rows.dead_letters.empty() &&
         rows.leases.empty() && rows.queues.empty() && !rows.counters &&
         rows.workers_gone.empty() && rows.machines_gone.empty() && rows.leases_gone.empty() &&
         request.events.empty();
}

}  // namespace

void Controller::submit(Batch batch) {
  if (!batch.request) return;
  if (planted(PlantedBug::kReplyBeforeCommit)) {
    for (const core::Reply& answer : batch.replies) reply(answer);
    batch.replied = true;
  }
  waiting_ = std::move(batch);
  pump();
}

void Controller::pump() {
  if (writing_ || !waiting_) return;
  writing_ = std::exchange(waiting_, std::nullopt);
  const std::uint64_t commit = ++commits_;
  if (is_empty(*writing_->request)) return on_commit(CommitOutcome::kCommitted);
  if (crashes_here("before a commit")) return;
  const auto done = [this, commit, life = process_.life()](CommitOutcome outcome) {
    process_.run_in(life, [this, commit, outcome] {
      if (commit == commits_ && writing_) on_commit(outcome);
    });
  };
  scene_.store.commit(host_, writing_->request, done);
  watch_for_stall(commit);
}

void Controller::on_commit(CommitOutcome outcome) {
  switch (outcome) {
    case CommitOutcome::kCommitted:
      break;
    case CommitOutcome::kRefused:
      return abandon("a commit was refused");
    case CommitOutcome::kFenced:
      note("finds that somebody else leads");
      return feed_leadership(core::lead::FenceLost{state_->term});
    case CommitOutcome::kUnknown:
      return abandon("the outcome of a commit is unknown");
  }
  // The repairs of a freshly loaded state are durable: now it may serve.
  if (!serves_) {
    writing_.reset();
    return feed_leadership(core::lead::ReloadDone{state_->term});
  }
  if (!may_act()) return abandon("the lease to lead is over");
  if (store_stalled_) tell_store_health(true);
  if (!writing_) return;
  Batch batch = std::move(*writing_);
  writing_.reset();
  if (!release(batch)) return;
  pump();
  if (!inbox_.empty() || !adoptions_.empty()) wake_engine();
}

void Controller::watch_for_stall(std::uint64_t commit) {
  scene_.agenda.after(scene_.setup.timings.store_stalled, process_.mine([this, commit] {
    const bool still = serves_ && writing_ && commit == commits_;
    if (still && !store_stalled_) tell_store_health(false);
  }));
}

// Goes around the inbox: the engine stands still while two batches wait for the store.
void Controller::tell_store_health(bool writable) {
  store_stalled_ = !writable;
  if (!waiting_) waiting_ = Batch{};
  if (!step_into(*waiting_, core::StoreHealth{writable})) return;
  if (writable) scene_.recorder.fact(OutageEnded{state_->term, state_->clock.last_seen()});
}

// False: the controller died on the way.
bool Controller::release(Batch& batch) {
  const bool wrote = !is_empty(*batch.request);
  if (wrote && crashes_here("between a commit and its replies")) return false;
  bool first = true;
  for (const core::Reply& answer : batch.replies) {
    if (!first && wrote && crashes_here("between two replies")) return false;
    first = false;
    if (!batch.replied) reply(answer);
  }
  for (const core::Probe& probe : batch.probes) start_probe(probe);
  if (batch.self_check) start_self_check();
  return true;
}

void Controller::reply(const core::Reply& answer) {
  const auto it = waiters_.find(answer.request);
  if (it == waiters_.end()) return;
  if (needs_image(answer)) {
    adoptions_.push_back(it->second.command);
    wake_engine();
    return;
  }
  scene_.board.answer(it->second.line, answer.body);
  waiters_.erase(it);
}

// The task's run is finished and has left memory: the command goes in again with its image.
bool Controller::needs_image(const core::Reply& answer) {
  const auto* refusal = std::get_if<core::Refusal>(&answer.body);
  if (refusal == nullptr || refusal->kind != core::RefusalKind::kRunNotLive) return false;
  const core::Command& command = waiters_.at(answer.request).command;
  if (const auto* retry = std::get_if<core::RetryTask>(&command)) return !retry->image;
  if (const auto* redrive = std::get_if<core::RedriveDeadLetter>(&command)) return !redrive->image;
  return false;
}

// Nothing is stepped between the read and the step that uses it, and all is committed before.
void Controller::adopt_next() {
  if (writing_ || waiting_) return;
  reading_image_ = true;
  auto command = std::make_shared<core::Command>(std::move(adoptions_.front()));
  adoptions_.pop_front();
  const auto* retry = std::get_if<core::RetryTask>(command.get());
  const TaskId task = retry ? retry->task : std::get<core::RedriveDeadLetter>(*command).task;
  using ImagePtr = std::shared_ptr<const RunImage>;
  const auto use = [this, command, term = state_->term,
                    life = process_.life()](const ImagePtr& image) {
    process_.run_in(life, [this, command, term, image] {
      if (!state_ || state_->term != term) return;
      adopt(*command, image);
    });
  };
  const auto serve = [use, run = task.run](SimStore& store) -> SimStore::Answer {
    ImagePtr image;
    if (auto read = store.tables().run_image(run)) {
      image = std::make_shared<const RunImage>(std::move(*read));
    }
    return [use, image] { use(image); };
  };
  scene_.store.ask({host_, serve, [use] { use(nullptr); }, [use] { use(nullptr); }});
}

void Controller::adopt(core::Command& command, const std::shared_ptr<const RunImage>& image) {
  reading_image_ = false;
  if (!may_act()) return abandon("the lease to lead is over");
  if (!image) return abandon("a finished run could not be read");
  RequestId request;
  if (auto* retry = std::get_if<core::RetryTask>(&command)) {
    retry->image = image;
    request = retry->request;
  } else {
    auto& redrive = std::get<core::RedriveDeadLetter>(command);
    redrive.image = image;
    request = redrive.request;
  }
  if (const auto it = waiters_.find(request); it != waiters_.end()) it->second.command = command;
  Batch batch;
  if (!step_into(batch, command)) return;
  submit(std::move(batch));
  wake_engine();
}

void Controller::start_probe(const core::Probe& probe) {
  const auto target = find_target_(probe.worker);
  auto done = std::make_shared<bool>(false);
  const Process::Action give_up = process_.mine([this, done, probe] {
    if (std::exchange(*done, true) || !serves_) return;
    enqueue(core::ProbeResult{probe.worker, probe.incarnation, core::ProbeOutcome::kTimedOut});
  });
  scene_.agenda.after(scene_.setup.timings.policy.heartbeat_interval, give_up);
  if (!target) return;
  scene_.network.send(host_, target->host, [this, target, done, probe] {
    const core::ProbeOutcome outcome = target->answer();
    if (outcome == core::ProbeOutcome::kTimedOut) return;
    scene_.network.send(target->host, host_, process_.mine([this, done, probe, outcome] {
      if (std::exchange(*done, true) || !serves_) return;
      enqueue(core::ProbeResult{probe.worker, probe.incarnation, outcome});
    }));
  });
}

void Controller::start_self_check() {
  const Duration takes = scene_.setup.timings.policy.heartbeat_interval / 2;
  scene_.agenda.after(takes, process_.mine([this] {
    if (!serves_) return;
    const HostId store = scene_.setup.store_host();
    const bool reaches_store =
        scene_.network.is_open(host_, store) && scene_.network.is_open(store, host_);
    const bool well =
        scene_.store.is_writable() && reaches_store && !scene_.network.is_isolated(host_);
    enqueue(core::SelfCheckResult{well});
  }));
}

bool Controller::crashes_here(const char* where) {
  if (scene_.faults_stopped) return false;
  const std::uint32_t boundary = scene_.boundaries++;
  const bool planned = scene_.setup.boundary_crash_at == boundary;
  if (!planned && !rng_.chance(scene_.setup.boundary_crash_permille)) return false;
  crash(where);
  const Duration down = rng_.between(millis(50), scene_.setup.timings.policy.worker_lease / 2);
  scene_.agenda.after(down, [this] { boot(); });
  return true;
}

}  // namespace vortex::sim
