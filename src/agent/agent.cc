#include "agent/agent.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "base/planted.h"
#include "base/reached.h"

namespace vortex::agent {

Agent::Agent(AgentConfig config)
    : config_(std::move(config)),
      contact_(config_.controllers, config_.heartbeat_interval / 2, config_.seed),
      incarnation_(config_.incarnation),
      pace_(config_.info.slots, config_.assumed_run) {}

Outbox Agent::on(Input input, Instant now) {
  now_ = last_on_ ? std::max(now, *last_on_) : now;
  notice_gap();
  std::visit([this](auto& fact) { handle(fact); }, input);
  settle();
  last_on_ = now_;
  return std::exchange(out_, {});
}

void Agent::notice_gap() {
  auto* serving = std::get_if<Serving>(&session_);
  if (serving == nullptr || now_ - *last_on_ <= serving->beat * 2) return;
  REACHED("agent: back after a gap");
  serving->unsure_since = now_;
}

void Agent::settle() {
  if (!released_ && now_ >= release_at_) release_all();
  if (auto* serving = std::get_if<Serving>(&session_)) settle_serving(*serving);
  if (const auto* ending = std::get_if<Ending>(&session_)) finish_ending(*ending);
  if (leaving_ != Leaving::kNo && !exited()) judge_leaving();
  if (auto* registering = std::get_if<Registering>(&session_)) send_register(*registering);
}

void Agent::settle_serving(Serving& serving) {
  judge_fence(serving);
  for (const Attempt attempt : held_.overdue(now_)) kill(attempt, KillWhy::kTimedOut);
  start_or_release(serving);
  if (leaving_ == Leaving::kDraining && serving.told == Leaving::kDraining && held_.empty() &&
      reports_.empty()) {
    leaving_ = Leaving::kGone;
  }
  send_report(serving);
  send_poll(serving);
}

void Agent::judge_fence(Serving& serving) {
  if (planted(PlantedBug::kNoSelfFence)) return;
  serving.fenced = now_ >= serving.fence_at();
  if (!serving.fenced || !held_.any_live()) return;
  REACHED("agent: self-fence");
  kill_all(KillWhy::kSelfFenced);
}

// The fence was judged before: what is still unstarted is not behind it.
void Agent::start_or_release(const Serving& serving) {
  if (!held_.any_unstarted()) return;
  if (leaving_ != Leaving::kNo) {
    REACHED("agent: drain releases what has not started");
    for (const Attempt attempt : held_.unstarted()) kill(attempt, KillWhy::kDrained);
    return;
  }
  if (serving.unsure_since) return;
  while (has_room()) {
    auto assignment = held_.start_next(now_);
    if (!assignment) return;
    out_.emplace_back(StartProcess{*std::move(assignment)});
  }
  if (!held_.any_unstarted()) return;
  REACHED("agent: work waits for a slot");
  if (now_ - held_.oldest_unstarted() >= kAheadPatience) give_back_ahead();
}

// A task turned out to be longer than those before it, and others wait behind it here while another
// worker may be free.
void Agent::give_back_ahead() {
  REACHED("agent: gave back what it held ahead");
  for (const Attempt attempt : held_.unstarted()) kill(attempt, KillWhy::kNotStarted);
  pace_.too_slow();
}

void Agent::finish_ending(const Ending& ending) {
  if (!held_.empty()) return;
  if (ending.superseded) return exit(Exit::How::kSuperseded);
  if (leaving_ != Leaving::kNo) return exit(Exit::How::kDrained);
  incarnation_ = incarnation_.next();
  session_ = Registering{};
}

void Agent::exit(Exit::How how) {
  session_ = Exited{};
  out_.emplace_back(Exit{how});
}

bool Agent::fenced() const {
  const auto* serving = std::get_if<Serving>(&session_);
  return serving != nullptr && serving->fenced;
}

// The agent itself is allowed to be late by a tick, and the kill takes its time after this.
Instant Agent::tasks_until() const {
  if (planted(PlantedBug::kNoSelfFence)) return kNever;
  const auto* serving = std::get_if<Serving>(&session_);
  return serving != nullptr ? serving->fence_at() + config_.tick : Instant{};
}

Instant Agent::next_wake() const {
  if (!last_on_ || std::holds_alternative<Idle>(session_) || exited()) return kNever;
  Instant wake = std::min(*last_on_ + beat(), go_by_.value_or(kNever));
  if (!released_) wake = std::min(wake, release_at_);
  if (!contact_.may_call(*last_on_)) wake = std::min(wake, contact_.not_before());
  if (const auto* serving = std::get_if<Serving>(&session_)) {
    wake = std::min(wake, held_.next_deadline());
    if (!has_room() && held_.any_unstarted()) {
      wake = std::min(wake, held_.oldest_unstarted() + kAheadPatience);
    }
    if (const auto report = report_not_before(*serving); report && !serving->report) {
      wake = std::min(wake, std::max(*report, contact_.not_before()));
    }
    if (held_.any_live() && !planted(PlantedBug::kNoSelfFence)) {
      wake = std::min(wake, serving->fence_at());
    }
    if (serving->poll_not_before > *last_on_) wake = std::min(wake, serving->poll_not_before);
  }
  return wake;
}

}  // namespace vortex::agent
