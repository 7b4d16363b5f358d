#include "sim/executor.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace vortex::sim {

void Executor::serve(WorkerId worker, Incarnation incarnation) {
  worker_ = std::move(worker);
  incarnation_ = incarnation;
}

void Executor::start(const Assignment& assignment) {
  const Fate fate = fate_of(scene_.setup, assignment);
  Duration takes = rng_.between(micros(200), millis(5));
  if (fate.slow_start) takes = scene_.setup.timings.policy.scheduled_timeout * 3;
  if (fate.end == Fate::End::kCouldNotStart) {
    scene_.agenda.after(takes, process_.mine([this, attempt = assignment.attempt] {
      callbacks_.tell(agent::ProcessCouldNotStart{attempt, 2, "no such file"});
    }));
    return;
  }
  const std::uint64_t id = scene_.next_process++;
  running_.emplace(id, Running{assignment.attempt, fate, false});
  scene_.recorder.fact(ProcessStarted{id, worker_, incarnation_, assignment.attempt});
  scene_.agenda.after(takes, process_.mine([this, id, assignment] { spawned(id, assignment); }));
  if (fate.end == Fate::End::kHangs) return;
  scene_.agenda.after(takes + fate.runs, [this, id] { end_by_itself(id); });
}

void Executor::spawned(std::uint64_t id, const Assignment& assignment) {
  const auto it = running_.find(id);
  if (it == running_.end()) return;
  callbacks_.tell(agent::ProcessStarted{assignment.attempt});
  const Fate& fate = it->second.fate;
  if (fate.progress_every > Duration{}) {
    scene_.agenda.after(fate.progress_every, [this, id] { say_progress(id, 1); });
  }
}

void Executor::say_progress(std::uint64_t id, std::uint32_t said) {
  const auto it = running_.find(id);
  if (it == running_.end()) return;
  const Running& running = it->second;
  const auto percent = static_cast<std::uint8_t>(std::min(said * 7, 99U));
  scene_.agenda.after({}, process_.mine([this, attempt = running.attempt, percent] {
    callbacks_.tell(
        agent::ProcessProgress{attempt, {percent, fmt::format("step {}", percent / 7)}});
  }));
  if (running.fate.checkpoints) {
    scene_.agenda.after({}, process_.mine([this, attempt = running.attempt, said] {
      callbacks_.tell(agent::ProcessCheckpoint{attempt, fmt::format("{}", said)});
    }));
  }
  // A hanging task looks alive at first.
  if (running.fate.end == Fate::End::kHangs && said >= 2) return;
  scene_.agenda.after(running.fate.progress_every,
                      [this, id, said] { say_progress(id, said + 1); });
}

void Executor::end_by_itself(std::uint64_t id) {
  const auto it = running_.find(id);
  if (it == running_.end()) return;
  const Running& running = it->second;
  agent::ProcessExited exited{running.attempt, Completed{"{}"}};
  switch (running.fate.end) {
    case Fate::End::kPoison:
      return callbacks_.poisoned();
    case Fate::End::kExitCode:
      exited.result = Failed{Failed::Cause::kExitCode, running.fate.code, "failed"};
      break;
    case Fate::End::kSignal:
      exited.result = Failed{Failed::Cause::kSignal, running.fate.code, "killed"};
      break;
    default:
      break;
  }
  if (running.term_sent) exited.result = agent::Killed{};
  ended(id, exited);
}

void Executor::end_by_signal(std::uint64_t id) {
  const auto it = running_.find(id);
  if (it != running_.end()) ended(id, {it->second.attempt, agent::Killed{}});
}

void Executor::ended(std::uint64_t id, const agent::ProcessExited& exited) {
  running_.erase(id);
  scene_.recorder.fact(ProcessEnded{id});
  scene_.agenda.after(rng_.between(micros(10), millis(1)),
                      process_.mine([this, exited] { callbacks_.tell(exited); }));
}

void Executor::kill(Attempt attempt) {
  for (auto& [id, running] : running_) {
    if (running.attempt != attempt || running.term_sent) continue;
    running.term_sent = true;
    const Duration kill_time = own_time(scene_.setup.timings.policy.kill_time);
    if (running.fate.obeys_term_after < kill_time) {
      scene_.agenda.after(running.fate.obeys_term_after, [this, id] { end_by_signal(id); });
    }
    // The grace ends by the executor's own timer: a paused executor kills late.
    scene_.agenda.after(kill_time, process_.mine([this, id] { end_by_signal(id); }));
  }
}

void Executor::lose_all() {
  std::vector<std::uint64_t> ids;
  ids.reserve(running_.size());
  for (const auto& [id, running] : running_) ids.push_back(id);
  for (const std::uint64_t id : ids) {
    ended(id, {running_.at(id).attempt, Failed{Failed::Cause::kSignal, 9, "killed"}});
  }
}

std::vector<Attempt> Executor::attempts() const {
  std::vector<Attempt> out;
  out.reserve(running_.size());
  for (const auto& [id, running] : running_) out.push_back(running.attempt);
  return out;
}

void Executor::kill_all() {
  for (const auto& [id, running] : std::exchange(running_, {})) {
    scene_.recorder.fact(ProcessEnded{id});
  }
}

}  // namespace vortex::sim
