// What the answers to the agent's calls mean, and what follows when none comes.

#include <algorithm>
#include <utility>
#include <variant>

#include "agent/agent.h"
#include "base/planted.h"
#include "base/reached.h"

namespace vortex::agent {

namespace {

// Polls that keep being answered before their time without news are not repeated faster than this.
constexpr Duration kPollGapMin = millis(100);
constexpr std::uint32_t kIdlePollsMax = 3;

// Takes the call out if it is the one meant: an answer counts once, and not after it was given up.
std::optional<Call> take_call(std::optional<Call>& call, CallId id) {
  if (!call || call->id != id) return std::nullopt;
  return std::exchange(call, std::nullopt);
}

std::optional<Call> take_call(Session& session, CallId id) {
  if (auto* registering = std::get_if<Registering>(&session)) {
    return take_call(registering->call, id);
  }
  auto* serving = std::get_if<Serving>(&session);
  if (serving == nullptr) return std::nullopt;
  auto call = take_call(serving->report, id);
  return call ? call : take_call(serving->poll, id);
}

}  // namespace

void Agent::handle(Start&) {
  if (std::holds_alternative<Idle>(session_)) session_ = Registering{};
}

void Agent::handle(RegisterAnswer& answer) {
  if (!std::holds_alternative<Registering>(session_)) return;
  const auto call = take_call(session_, answer.call);
  if (!call) return;
  if (const auto* accepted = std::get_if<RegisterAccepted>(&answer.result)) {
    on_registered(*call, *accepted);
  } else {
    on_register_refused(std::get<RegisterRefused>(answer.result));
  }
}

void Agent::on_registered(const Call& call, const RegisterAccepted& accepted) {
  if (accepted.term < newest_term_) return on_no_answer(call, {});
  newest_term_ = accepted.term;
  contact_.succeeded(call.to);
  registered_ = true;
  raises_ = 0;
  // A session counts its replies from one, so the acknowledgement starts anew as well.
  Serving serving;
  serving.alive_at = call.sent;
  serving.session = accepted.session;
  serving.lease_granted = accepted.lease;
  serving.fence_told = accepted.self_fence;
  serving.beat = config_.heartbeat_interval;
  if (accepted.heartbeat_interval > Duration{}) {
    serving.beat = std::min(serving.beat, accepted.heartbeat_interval);
  }
  serving.fence_after = fence_after(serving, accepted.lease);
  serving.poll_not_before = now_;
  session_ = serving;
}

void Agent::on_register_refused(const RegisterRefused& refused) {
  if (leaving_ != Leaving::kNo) return exit(Exit::How::kDrained);
  if (registered_ && refused.current > incarnation_) {
    REACHED("agent: superseded while out of session");
    return exit(Exit::How::kSuperseded);
  }
  // The clock that numbers our lives went back, or the answer to an earlier try was lost and with
  // it the secret of that life: nobody can go on with it.
  REACHED("agent: refused register raised the incarnation");
  incarnation_ = std::max(refused.current, incarnation_).next();
  if (++raises_ > 1) contact_.hold_back(now_);
}

void Agent::handle(SyncAnswer& answer) {
  auto* serving = std::get_if<Serving>(&session_);
  if (serving == nullptr) return;
  const auto call = take_call(session_, answer.call);
  if (!call) return;
  if (auto* reply = std::get_if<SyncReply>(&answer.result)) {
    on_reply(*serving, *call, *reply);
  } else {
    on_refusal(*serving, *call, std::get<SyncRefusal>(answer.result));
  }
}

void Agent::on_reply(Serving& serving, const Call& call, SyncReply& reply) {
  // From a leader that has been replaced. Too rare in the simulator to be demanded of every run.
  if (reply.mark.term < newest_term_) return on_no_answer(call, {});
  newest_term_ = reply.mark.term;
  contact_.succeeded(call.to);
  serving.heard = true;
  serving.alive_at = std::max(serving.alive_at, call.sent);
  serving.fence_after = fence_after(serving, reply.lease);
  if (now_ >= serving.fence_at() && !reply.assignments.empty()) {
    REACHED("agent: reply too late to start anything");
  }
  if (serving.unsure_since && call.sent >= *serving.unsure_since) serving.unsure_since.reset();
  serving.told = std::max(serving.told, call.leaving);
  const bool news = take_orders(serving, reply);
  reports_.give_back(call.id);
  if (call.channel == Channel::kPoll) {
    const Instant paced = call.sent + kPollGapMin;
    serving.idle_polls = news || now_ >= paced ? 0 : serving.idle_polls + 1;
    serving.poll_not_before = serving.idle_polls > kIdlePollsMax ? paced : now_;
  }
  if (call.leaving == Leaving::kGone) exit(Exit::How::kDrained);
}

// Acting twice on the same order does nothing the second time, so late and repeated replies do no
// harm; only assignments need to be newer than everything acted on (see HeldTable::take).
bool Agent::take_orders(Serving& serving, SyncReply& reply) {
  bool news = false;
  for (const Attempt attempt : reports_.acknowledge(reply.seq_seen)) {
    held_.forget(attempt);
    news = true;
  }
  for (const Attempt attempt : reply.stale) {
    if (kill(attempt, KillWhy::kStale)) {
      REACHED("agent: stale attempt killed");
      news = true;
    }
  }
  if (reply.mark > serving.ack || planted(PlantedBug::kSameEpochStartsTwice)) {
    for (Assignment& assignment : reply.assignments) {
      news |= take_assignment(std::move(assignment));
    }
    serving.ack = std::max(serving.ack, reply.mark);
  } else if (!reply.assignments.empty()) {
    REACHED("agent: assignments of an overtaken reply ignored");
  }
  if (reply.drain && (leaving_ == Leaving::kNo || reply.drain_within)) {
    REACHED("agent: drained by an operator");
    news |= leaving_ == Leaving::kNo;
    begin_leaving(reply.drain_within.value_or(config_.shutdown_timeout));
  }
  for (const StopOrder& stop : reply.stops) news |= kill(stop.attempt, KillWhy::kStopped);
  return news;
}

bool Agent::take_assignment(Assignment assignment) {
  const Attempt attempt = assignment.attempt;
  if (planted(PlantedBug::kSameEpochStartsTwice) && held_.state_of(attempt) != nullptr) {
    out_.emplace_back(StartProcess{std::move(assignment)});
    return true;
  }
  if (held_.take(std::move(assignment), now_) != HeldTable::Taken::kNew) {
    REACHED("agent: repeated assignment ignored");
    return false;
  }
  for (const Attempt older : held_.older_than(attempt)) kill(older, KillWhy::kStale);
  return true;
}

void Agent::on_refusal(Serving& serving, const Call& call, const SyncRefusal& refusal) {
  switch (refusal.why) {
    case SyncRefusal::Why::kStaleIncarnation:
      REACHED("agent: superseded");
      return end_session(true);
    case SyncRefusal::Why::kUnknownWorker:
    case SyncRefusal::Why::kSessionEnded:
    case SyncRefusal::Why::kNoSession:
    case SyncRefusal::Why::kWrongSession:
      REACHED("agent: session ended by the controller");
      return end_session(false);
    case SyncRefusal::Why::kOldMessage:
      // Overtaken by our own later call: said anew at once. If it was our last word, something is
      // wrong with the numbering, and there is no point in hurrying.
      if (call.id.value == last_call_) return on_no_answer(call, {});
      REACHED("agent: overtaken call sent anew");
      reports_.give_back(call.id);
      serving.listed_at.reset();
      return;
    case SyncRefusal::Why::kMalformed:
      return on_no_answer(call, {});
  }
}

void Agent::end_session(bool superseded) {
  // Registered, then not known: asking faster would not help.
  const Serving& serving = std::get<Serving>(session_);
  if (!serving.heard) contact_.hold_back(now_);
  for (const std::optional<Call>& call : {serving.poll, serving.report}) {
    if (call) out_.emplace_back(HangUp{call->to.controller, call->channel, call->id});
  }
  session_ = Ending{superseded};
  reports_.clear();
  kill_all(KillWhy::kSessionOver);
}

void Agent::handle(CallFailed& failed) {
  if (const auto call = take_call(session_, failed.call)) on_no_answer(*call, failed);
}

void Agent::on_no_answer(const Call& call, const CallFailed& failed) {
  contact_.failed({.callee = call.to, .retry_after = failed.retry_after, .leader = failed.leader},
                  now_);
  auto* serving = std::get_if<Serving>(&session_);
  if (serving == nullptr) {
    if (leaving_ != Leaving::kNo) exit(Exit::How::kDrained);
    return;
  }
  reports_.give_back(call.id);
  serving->listed_at.reset();
}

// With F + tick + K <= 0.95 L the processes are gone before the lease can end, also when the
// controller grants a shorter lease than this worker was set up for. The controller's own F counts
// on its own K, which comes with every assignment and is kept to where it is the shorter one.
Duration Agent::fence_after(const Serving& serving, Duration lease) const {
  if (lease <= Duration{}) return config_.self_fence;
  const Duration by_own_kill = lease * 95 / 100 - config_.kill_time - config_.tick;
  const Duration shorter_by = std::max(serving.lease_granted - lease, Duration{});
  const Duration safe = std::max(by_own_kill, serving.fence_told - config_.tick - shorter_by);
  return std::clamp(safe, Duration{}, config_.self_fence);
}

Duration Agent::beat() const {
  const auto* serving = std::get_if<Serving>(&session_);
  return serving != nullptr ? serving->beat : config_.heartbeat_interval;
}

}  // namespace vortex::agent
