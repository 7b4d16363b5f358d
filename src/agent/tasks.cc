// What the agent makes of its tasks' processes, and how it ends them.

#include <algorithm>
#include <utility>
#include <variant>

#include "agent/agent.h"
#include "base/assert.h"
#include "base/reached.h"

namespace vortex::agent {

namespace {

constexpr std::int32_t kSigKill = 9;

ReportBody report_of_kill(KillWhy why) {
  switch (why) {
    case KillWhy::kStopped:
      return Released{Released::Cause::kStopped};
    case KillWhy::kTimedOut:
      return TimedOut{};
    case KillWhy::kSelfFenced:
      return Released{Released::Cause::kSelfFenced};
    case KillWhy::kDrained:
      return Released{Released::Cause::kDrained};
    case KillWhy::kNotStarted:
      return Released{Released::Cause::kNotStarted};
    case KillWhy::kStale:
    case KillWhy::kSessionOver:
      break;
  }
  VX_ASSERT(!is_silent(why));
  return TimedOut{};
}

// What the process did by itself stands, even if its end was already asked for.
ReportBody report_of_exit(ProcessExited& exited, const HeldTable::End& end) {
  if (auto* completed = std::get_if<Completed>(&exited.result)) return std::move(*completed);
  if (auto* failed = std::get_if<Failed>(&exited.result)) return std::move(*failed);
  if (end.why) return report_of_kill(*end.why);
  switch (std::get<Killed>(exited.result).by) {
    case Killed::By::kFence:
      return Released{Released::Cause::kSelfFenced};
    case Killed::By::kRunnerLoss:
      return Released{Released::Cause::kSelfFenced,
                      "the runner of the task was killed on its worker, together with the task"};
    case Killed::By::kWorkerFault:
      return Released{Released::Cause::kSelfFenced,
                      "the worker could not read the outputs of the task; its log says why"};
    case Killed::By::kOrder:
      break;
  }
  return Failed{Failed::Cause::kSignal, kSigKill, "killed by its own worker unexpectedly"};
}

}  // namespace

void Agent::handle(ProcessStarted& started) {
  if (held_.started(started.attempt, now_)) reports_.add({started.attempt, Started{}});
}

void Agent::handle(ProcessCouldNotStart& failed) {
  const auto end = held_.end(failed.attempt);
  if (!end) return;
  ReportBody body;
  if (end->why) {
    body = report_of_kill(*end->why);
  } else if (failed.fault == ProcessCouldNotStart::Fault::kWorker) {
    body = Released{Released::Cause::kNotStarted, std::move(failed.message)};
  } else {
    body = Failed{Failed::Cause::kCouldNotStart, failed.code, std::move(failed.message)};
  }
  reports_.add({failed.attempt, std::move(body)});
}

void Agent::handle(ProcessProgress& progress) {
  held_.progressed(progress.attempt, std::move(progress.progress));
}

void Agent::handle(ProcessOutput& output) { held_.wrote(output.attempt, output.bytes); }

void Agent::handle(ProcessCheckpoint& checkpoint) {
  if (!held_.is_live(checkpoint.attempt)) return;
  reports_.add({checkpoint.attempt, Checkpoint{std::move(checkpoint.data)}});
}

void Agent::handle(ProcessExited& exited) {
  if (const auto end = held_.end(exited.attempt)) {
    if (!end->why) pace_.ended(now_ - end->began);
    reports_.add({exited.attempt, report_of_exit(exited, *end)});
  }
}

void Agent::handle(DrainRequested&) { begin_leaving(config_.shutdown_timeout); }

void Agent::handle(ReleaseNow&) { begin_leaving({}); }

void Agent::handle(Tick&) {}

// The shortest limit that was ever given holds.
void Agent::begin_leaving(Duration limit) {
  leaving_ = std::max(leaving_, Leaving::kDraining);
  release_at_ = std::min(release_at_, now_ + limit);
  const auto* registering = std::get_if<Registering>(&session_);
  // Not known to anybody yet: there is nobody to take leave of. A register in flight is awaited,
  // because it may have made us known.
  const bool unknown =
      std::holds_alternative<Idle>(session_) || (registering && !registering->call);
  if (unknown) exit(Exit::How::kDrained);
}

void Agent::release_all() {
  released_ = true;
  if (std::holds_alternative<Serving>(session_)) kill_all(KillWhy::kDrained);
}

// Whether it may leave although the controller did not hear its last words: its supervisor tells
// that it is gone.
void Agent::judge_leaving() {
  const bool silent = held_.empty() && reports_.empty();
  if (held_.with_processes() > 0 || !(silent || released_)) return go_by_.reset();
  const Duration longest = silent ? kGoodbyeLongest : kLastWordsLongest;
  go_by_ = std::min(go_by_.value_or(kNever), now_ + longest);
  if (now_ < *go_by_ && !(silent && contact_.all_failed())) return;
  REACHED("agent: left without being heard");
  exit(Exit::How::kDrained);
}

bool Agent::kill(Attempt attempt, KillWhy why) {
  const HeldTable::Kill needed = held_.kill(attempt, why);
  if (is_silent(why)) reports_.drop(attempt);
  if (needed == HeldTable::Kill::kSignal) out_.emplace_back(KillProcess{attempt, why});
  if (needed == HeldTable::Kill::kNeverRan && !is_silent(why)) {
    reports_.add({attempt, report_of_kill(why)});
  }
  return needed != HeldTable::Kill::kNothing;
}

void Agent::kill_all(KillWhy why) {
  for (const Attempt attempt : held_.attempts()) kill(attempt, why);
}

}  // namespace vortex::agent
