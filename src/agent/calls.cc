// The agent's calls: who is called, what is said, and how long the answer may take.

#include <algorithm>
#include <utility>

#include "agent/agent.h"

namespace vortex::agent {

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
                             .time_limit = report_time_limit(serving.beat)});
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
                             .time_limit = limit});
}

}  // namespace vortex::agent
