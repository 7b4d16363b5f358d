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
  running_.emplace(id, Running{assignment.attempt, fate});
  scene_.recorder.fact(ProcessStarted{id, worker_, incarnation_, assignment.attempt});
  scene_.agenda.after(takes, process_.mine([this, id, assignment] { spawned(id, assignment); }));
  watch_fence(id);
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
  if (fate.writes_every > Duration{}) {
    scene_.agenda.after(fate.writes_every, [this, id] { write_output(id, 1); });
  }
}

void Executor::write_output(std::uint64_t id, std::uint64_t bytes) {
  const auto it = running_.find(id);
  if (it == running_.end()) return;
  const Running& running = it->second;
  scene_.agenda.after({}, process_.mine([this, attempt = running.attempt, bytes] {
    callbacks_.tell(agent::ProcessOutput{attempt, bytes});
  }));
  if (running.fate.end == Fate::End::kHangs && bytes >= 2) return;
  scene_.agenda.after(running.fate.writes_every,
                      [this, id, bytes] { write_output(id, bytes + 1); });
}

void Executor::save_checkpoint(const Running& running, std::uint32_t said) {
  const bool too_large = running.fate.too_large && said % 2 == 0;
  if (running.fate.uploads) {
    scene_.agenda.after({}, process_.mine([this, attempt = running.attempt, too_large] {
      callbacks_.upload(attempt, too_large);
    }));
    return;
  }
  std::string data = fmt::format("{}", said);
  if (too_large) data.resize(scene_.setup.timings.policy.checkpoint_bytes_max + 1, 'x');
  scene_.agenda.after({}, process_.mine([this, attempt = running.attempt, data] {
    callbacks_.tell(agent::ProcessCheckpoint{attempt, data});
  }));
}

std::string Executor::outputs_of(const Running& running) const {
  // Each attempt says something else, so that only the list of the right one will do.
  std::string list = running.fate.list;
  const auto letter = static_cast<char>('A' + running.attempt.epoch.value % 26);
  if (list.starts_with("[\"")) list[2] = letter;
  if (!running.fate.outputs) return list.empty() ? "{}" : fmt::format(R"({{"l":{}}})", list);
  std::string value = fmt::format("{}", running.attempt.epoch.value);
  if (running.fate.too_large) value.resize(scene_.setup.timings.policy.outputs_bytes_max, '1');
  if (!list.empty()) return fmt::format(R"({{"v":{},"l":{}}})", value, list);
  return fmt::format(R"({{"v":{}}})", value);
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
  if (running.fate.checkpoints) save_checkpoint(running, said);
  // A hanging task looks alive at first.
  if (running.fate.end == Fate::End::kHangs && said >= 2) return;
  scene_.agenda.after(running.fate.progress_every,
                      [this, id, said] { say_progress(id, said + 1); });
}

void Executor::end_by_itself(std::uint64_t id) {
  const auto it = running_.find(id);
  if (it == running_.end()) return;
  const Running& running = it->second;
  agent::ProcessExited exited{running.attempt, Completed{outputs_of(running)}};
  switch (running.fate.end) {
    case Fate::End::kPoison:
      return callbacks_.poisoned();
    case Fate::End::kExitCode:
      exited.result = Failed{Failed::Cause::kExitCode, running.fate.code, "failed"};
      break;
    case Fate::End::kSignal:
      exited.result = Failed{Failed::Cause::kSignal, running.fate.code, "killed"};
      break;
    case Fate::End::kOutOfMemory:
      exited.result = Failed{Failed::Cause::kOutOfMemory, running.fate.code, "out of memory"};
      break;
    default:
      break;
  }
  if (running.killed) exited.result = agent::Killed{*running.killed};
  ended(id, exited);
}

void Executor::end_by_signal(std::uint64_t id) {
  const auto it = running_.find(id);
  if (it == running_.end()) return;
  ended(id, {it->second.attempt, agent::Killed{it->second.killed.value()}});
}

void Executor::watch_fence(std::uint64_t id) {
  if (!running_.contains(id) || until_ >= kNever) return;
  if (clock_.boot(scene_.agenda.now()) >= until_) {
    return terminate(id, agent::Killed::By::kFence);
  }
  const Instant look = std::max(clock_.true_at(until_), scene_.agenda.now() + micros(1));
  scene_.agenda.at(look, [this, id] { watch_fence(id); });
}

void Executor::ended(std::uint64_t id, const agent::ProcessExited& exited) {
  running_.erase(id);
  scene_.recorder.fact(ProcessEnded{id});
  scene_.agenda.after(rng_.between(micros(10), millis(1)),
                      process_.mine([this, exited] { callbacks_.tell(exited); }));
}

void Executor::kill(Attempt attempt) {
  for (const auto& [id, running] : running_) {
    if (running.attempt == attempt) terminate(id, agent::Killed::By::kOrder);
  }
}

void Executor::terminate(std::uint64_t id, agent::Killed::By by) {
  Running& running = running_.at(id);
  if (running.killed) return;
  running.killed = by;
  const Duration kill_time = own_time(scene_.setup.timings.policy.kill_time);
  const Duration takes = std::min(running.fate.obeys_term_after, kill_time);
  scene_.agenda.after(takes, [this, id] { end_by_signal(id); });
}

void Executor::lose_all() {
  std::vector<std::uint64_t> ids;
  ids.reserve(running_.size());
  for (const auto& [id, running] : running_) ids.push_back(id);
  for (const std::uint64_t id : ids) {
    ended(id, {running_.at(id).attempt, agent::Killed{agent::Killed::By::kRunnerLoss}});
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
