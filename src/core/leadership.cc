#include "core/leadership.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "base/reached.h"

namespace vortex::core {

using lead::StepDown;

namespace {

constexpr std::uint32_t kDoublingsMax = 10;

template <class State>
auto hold_in(State& state) -> decltype(&std::get<Leadership::Leading>(state).hold) {
  if (auto* loading = std::get_if<Leadership::Loading>(&state)) return &loading->hold;
  if (auto* leading = std::get_if<Leadership::Leading>(&state)) return &leading->hold;
  return nullptr;
}

}  // namespace

Leadership::Leadership(LeadershipConfig config, Instant now)
    : config_(std::move(config)), rng_(config_.seed), state_(Standby{now}), now_(now) {
  VX_ASSERT(config_.lease >= millis(1));
}

lead::Outbox Leadership::on(const lead::Input& input, Instant now) {
  now_ = std::max(now_, now);
  std::visit([this](const auto& fact) { handle(fact); }, input);
  settle();
  return std::exchange(out_, {});
}

void Leadership::handle(const lead::Tick&) {}

void Leadership::handle(const lead::MayBeFree&) {
  if (auto* standby = std::get_if<Standby>(&state_)) standby->next_try = now_;
}

void Leadership::handle(const lead::AcquireAnswer& answer) {
  const auto* won = std::get_if<lead::Won>(&answer.result);
  if (auto* stopped = std::get_if<Stopped>(&state_)) {
    if (stopped->acquiring != answer.call) return;
    stopped->acquiring.reset();
    if (won != nullptr) out_.emplace_back(lead::Release{won->term});
    return;
  }
  const auto* acquiring = std::get_if<Acquiring>(&state_);
  if (acquiring == nullptr || acquiring->call != answer.call) return;
  if (won != nullptr) return on_won(*acquiring, *won);
  if (const auto* other = std::get_if<lead::HeldByOther>(&answer.result)) {
    // Its lease may be released at any time: look often, and not all standbys at once.
    return stand_by(jittered(
        std::min(paced(kLookPermille), std::max(other->remaining, paced(kLookMinPermille)))));
  }
  // If it did happen, the row holds our name and the next try wins a still higher term.
  if (std::holds_alternative<lead::Unknown>(answer.result)) REACHED("leadership: unknown acquire");
  stand_by(pause());
}

void Leadership::on_won(const Acquiring& acquiring, const lead::Won& won) {
  VX_ASSERT(won.term > last_term_);
  last_term_ = won.term;
  if (now_ >= acquiring.sent + part(kServePermille)) {
    REACHED("leadership: won too late to use it");
    return stand_by(pause());
  }
  const Hold hold{.term = won.term,
                  .clock = {.database_at_start = won.database_now, .boot_at_start = now_},
                  .held_since = acquiring.sent,
                  .next_renew = acquiring.sent + part(kRenewPermille),
                  .renewal = std::nullopt};
  state_ = Loading{hold};
  out_.emplace_back(lead::StartLoading{hold.term, hold.clock});
}

void Leadership::handle(const lead::RenewAnswer& answer) {
  Hold* held = hold();
  if (held == nullptr || !held->renewal || held->renewal->call != answer.call) return;
  const Renewal renewal = *std::exchange(held->renewal, std::nullopt);
  if (std::holds_alternative<lead::Renewed>(answer.result)) return on_renewed(*held, renewal);
  if (std::holds_alternative<lead::Lost>(answer.result)) {
    REACHED("leadership: renewal found another term");
    return step_down(StepDown::Why::kLost);
  }
  // Whether it happened or not: we count on nothing, and ask again.
  held->next_renew = now_ + jittered(paced(kRenewAgainPermille));
}

void Leadership::on_renewed(Hold& hold, const Renewal& renewal) {
  hold.held_since = renewal.sent;
  hold.next_renew = renewal.sent + part(kRenewPermille);
  if (leads()) pauses_ = 0;
}

void Leadership::handle(const lead::ReloadDone& done) {
  auto* loading = std::get_if<Loading>(&state_);
  if (loading == nullptr || loading->hold.term != done.term) return;
  const Hold hold = loading->hold;
  // Loading may have taken longer than the lease allows: then nothing is served.
  if (now_ >= hold.held_since + part(kServePermille)) return;
  state_ = Leading{hold};
  out_.emplace_back(lead::StartServing{hold.term});
}

void Leadership::handle(const lead::ReloadFailed& failed) {
  if (!std::holds_alternative<Loading>(state_) || !holds(failed.term)) return;
  REACHED("leadership: reload failed");
  step_down(StepDown::Why::kReloadFailed);
  out_.emplace_back(lead::Release{failed.term});  // perhaps another controller can
}

void Leadership::handle(const lead::FenceLost& lost) {
  if (!holds(lost.term)) return;
  REACHED("leadership: fence lost");
  step_down(StepDown::Why::kFenceLost);
}

void Leadership::handle(const lead::CommitUnknown& unknown) {
  if (!holds(unknown.term)) return;
  REACHED("leadership: commit unknown");
  step_down(StepDown::Why::kCommitUnknown);
}

void Leadership::handle(const lead::StopRequested&) {
  if (std::holds_alternative<Stopped>(state_)) return;
  Stopped stopped;
  if (const auto* acquiring = std::get_if<Acquiring>(&state_)) stopped.acquiring = acquiring->call;
  if (const Hold* held = hold()) {
    const Term term = held->term;
    step_down(StepDown::Why::kStopped);
    out_.emplace_back(lead::Release{term});
  }
  state_ = stopped;
}

void Leadership::settle() {
  if (const Hold* held = hold(); held && now_ >= held->held_since + part(kServePermille)) {
    REACHED("leadership: stepped down by its own clock");
    step_down(StepDown::Why::kOwnClock);
  }
  if (Hold* held = hold()) renew_when_due(*held);
  if (const auto* acquiring = std::get_if<Acquiring>(&state_);
      acquiring && now_ >= acquiring->sent + config_.lease) {
    REACHED("leadership: acquire never answered");
    stand_by(pause());
  }
  if (const auto* standby = std::get_if<Standby>(&state_); standby && now_ >= standby->next_try) {
    const Acquiring acquiring{.call = next_call(), .sent = now_};
    state_ = acquiring;
    out_.emplace_back(lead::TryAcquire{acquiring.call, config_.me, config_.lease});
  }
}

void Leadership::renew_when_due(Hold& hold) {
  if (hold.renewal || now_ < hold.next_renew) return;
  hold.renewal = Renewal{.call = next_call(), .sent = now_};
  out_.emplace_back(lead::Renew{hold.renewal->call, hold.term, config_.lease});
}

void Leadership::stand_by(Duration wait) { state_ = Standby{now_ + wait}; }

void Leadership::step_down(StepDown::Why why) {
  out_.emplace_back(StepDown{hold()->term, why});
  stand_by(pause());
}

// The first time there is hardly a pause; when terms keep ending in doubt the pauses grow.
Duration Leadership::pause() {
  const Duration doubled =
      paced(kPausePermille) * (std::int64_t{1} << std::min(pauses_, kDoublingsMax));
  ++pauses_;
  return jittered(std::min(doubled, paced(kPauseMaxPermille)));
}

bool Leadership::holds(Term term) const {
  const Hold* held = hold();
  return held != nullptr && held->term == term;
}

const Leadership::Hold* Leadership::hold() const { return hold_in(state_); }
Leadership::Hold* Leadership::hold() { return hold_in(state_); }

std::optional<Instant> Leadership::serves_until() const {
  const Hold* held = hold();
  if (held == nullptr) return std::nullopt;
  return held->held_since + part(kServePermille);
}

Instant Leadership::next_wake() const {
  if (const auto* standby = std::get_if<Standby>(&state_)) return standby->next_try;
  if (const auto* asked = std::get_if<Acquiring>(&state_)) return asked->sent + config_.lease;
  const Hold* held = hold();
  if (held == nullptr) return kNever;
  const Instant end = held->held_since + part(kServePermille);
  return held->renewal ? end : std::min(end, held->next_renew);
}

}  // namespace vortex::core
