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

// The agent's calls: who is called, what is said, and how long the answer may take.

namespace {

// A lost report must leave time for another before the self-fence, yet not be given up too soon
// where the beat is fast.
Duration report_time_limit(Duration beat) { return std::max(beat / 2, std::min(beat, seconds(1))); }

}  // namespace

void Agent::send_register(Registering& registering) {
  if (registering.call || !contact_.may_call(now_)) return;
  const Call call{.id = next_call(), .to = contact_.callee(), .sent = now_};
  registering.call = call;
  out_.emplace_back(SendRegister{.controller = call.to.controller,
                                 .call = call.id,
                                 .info = config_.info,
                                 .incarnation = incarnation_,
                                 .time_limit = config_.heartbeat_interval});
}

SyncRequest Agent::new_request(const Serving& serving, CallId call) const {
  SyncRequest request;
  request.worker = config_.info.id;
  request.incarnation = incarnation_;
  request.seq = call.value;
  request.ack = serving.ack;
  // What is killed without a word is not held any more but still takes room.
  const auto dying = static_cast<std::uint32_t>(held_.killed_silently());
  const std::uint32_t slots = config_.info.slots;
  request.slots = leaving_ != Leaving::kNo ? 0 : slots - std::min(dying, slots) + pace_.ahead();
  request.leaving = leaving_;
  return request;
}

// Slots that still have work ahead of them do not wait for the answer. Anything else does: the next
// task of a chain may depend on this very end.
std::optional<Instant> Agent::report_not_before(const Serving& serving) const {
  const bool can_wait = held_.any_unstarted() && leaving_ == Leaving::kNo && reports_.any_waiting();
  if (!can_wait || !serving.reported_at) return std::nullopt;
  return *serving.reported_at + kReportsTogether;
}

// Goes out at once when there is something to say, and says what is held when nobody heard that
// for a while: under steady load there is always a report to send before the next poll.
void Agent::send_report(Serving& serving) {
  if (serving.report || !contact_.may_call(now_)) return;
  const bool unconfirmed =
      serving.unsure_since && (!serving.listed_at || *serving.listed_at < *serving.unsure_since);
  if (!reports_.any_waiting() && serving.told >= leaving_ && !unconfirmed) return;
  const auto not_before = report_not_before(serving);
  if (not_before && now_ < *not_before && !unconfirmed) return;
  const Call call{.id = next_call(),
                  .to = contact_.callee(),
                  .sent = now_,
                  .channel = Channel::kReport,
                  .leaving = leaving_};
  SyncRequest request = new_request(serving, call.id);
  request.reports = reports_.send_with(call.id, config_.report_bytes_max);
  const bool list = unconfirmed || leaving_ == Leaving::kGone || !serving.listed_at ||
                    now_ - *serving.listed_at >= serving.beat;
  if (list) {
    request.held = held_.list();
    serving.listed_at = now_;
  }
  serving.reported_at = now_;
  serving.report = call;
  out_.emplace_back(SendSync{.controller = call.to.controller,
                             .channel = call.channel,
                             .call = call.id,
                             .request = std::move(request),
                             .time_limit = report_time_limit(serving.beat),
                             .session = serving.session});
}

// Waits for a report call in flight, never the reverse: so the call that carries reports is always
// the last one sent, and a controller that has seen its number has seen the reports.
void Agent::send_poll(Serving& serving) {
  if (serving.poll || serving.report || leaving_ == Leaving::kGone) return;
  if (!contact_.may_call(now_) || now_ < serving.poll_not_before) return;
  const Duration beat = serving.beat;
  // After trouble, or near the self-fence, a quick answer is worth more than a parked call.
  const bool hurry = contact_.in_trouble() || serving.fence_at() - now_ < beat * 3 / 2;
  const Call call{.id = next_call(), .to = contact_.callee(), .sent = now_, .leaving = leaving_};
  SyncRequest request = new_request(serving, call.id);
  request.held = held_.list();
  request.wait = hurry ? Duration{} : beat;
  serving.listed_at = now_;
  serving.poll = call;
  const Duration limit = request.wait + beat;  // at most 2 H, and 3 H <= F
  out_.emplace_back(SendSync{.controller = call.to.controller,
                             .channel = call.channel,
                             .call = call.id,
                             .request = std::move(request),
                             .time_limit = limit,
                             .session = serving.session});
}

}  // namespace vortex::agent
