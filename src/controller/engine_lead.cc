#include <utility>

#include <fmt/format.h>

#include "base/clock.h"
#include "controller/engine.h"
#include "core/load.h"

namespace vortex::controller {

namespace lead = core::lead;

namespace {

// A refusal of the store as the leadership sees it.
template <class Answer>
Answer refused(const store::Error& error) {
  if (error.fault == store::Fault::kUnknown) return lead::Unknown{};
  return lead::Unavailable{};
}

std::string_view to_text(lead::StepDown::Why why) {
  using Why = lead::StepDown::Why;
  switch (why) {
    case Why::kOwnClock:
      return "the lease may end before it is renewed";
    case Why::kLost:
      return "another controller leads";
    case Why::kFenceLost:
      return "a write found a newer term";
    case Why::kCommitUnknown:
      return "what it remembers may differ from the database";
    case Why::kReloadFailed:
      return "the state could not be loaded";
    case Why::kStopped:
      return "it was asked to stop";
  }
  return "";
}

const api::UnservedError kNothingHappened{api::Unserved::kNotLeader,
                                          "this controller does not lead now", millis(500)};
const api::UnservedError kInDoubt{
    api::Unserved::kUnknown, "the controller lost the store while it wrote: it may have happened",
    millis(500)};

}  // namespace

void Engine::feed(const lead::Input& input) {
  for (const lead::Output& output : leadership_.on(input, boot_clock_now())) {
    std::visit([this](const auto& order) { perform(order); }, output);
  }
}

void Engine::perform(const lead::TryAcquire& order) {
  using Answer = decltype(lead::AcquireAnswer::result);
  committer_.post([this, order](store::Writer& writer) {
    const auto result = writer.acquire(order.me, order.lease);
    Answer answer = lead::Unavailable{};
    if (!result) {
      answer = refused<Answer>(result.error());
      set_trouble("the database cannot be written: " + result.error().detail);
      outlet_.say(LogLevel::kError, "cannot take the lead: " + result.error().detail);
      // The reserve lets a controller start on a full disk and finish what is running.
      if (result.error().fault == store::Fault::kFull) outlet_.make_space();
    } else if (const auto* won = std::get_if<store::Won>(&*result)) {
      answer = lead::Won{won->term, won->database_now};
    } else {
      const auto& other = std::get<store::HeldByOther>(*result);
      answer = lead::HeldByOther{other.holder, other.remaining};
    }
    inbox_.notice(lead::Input{lead::AcquireAnswer{order.call, answer}});
  });
}

void Engine::perform(const lead::Renew& order) {
  using Answer = decltype(lead::RenewAnswer::result);
  committer_.post([this, order](store::Writer& writer) {
    const auto result = writer.renew(order.term, order.lease);
    Answer answer = lead::Renewed{};
    if (!result) {
      const bool lost = result.error().fault == store::Fault::kFenced;
      answer = lost ? Answer{lead::Lost{}} : refused<Answer>(result.error());
    }
    inbox_.notice(lead::Input{lead::RenewAnswer{order.call, answer}});
  });
}

void Engine::perform(const lead::Release& order) {
  committer_.post([term = order.term](store::Writer& writer) { writer.release(term); });
}

void Engine::perform(const lead::StartLoading& order) {
  term_clock_ = order.clock;
  term_ = order.term.value;
  clock_offset_us_ = (order.clock.database_at_start - order.clock.boot_at_start).us;
  committer_.post([this, term = order.term](store::Writer& writer) {
    last_commit_done_ = true;
    inbox_.notice(ImageRead{term, writer.image()});
  });
}

void Engine::handle(ImageRead& read) {
  const auto* loading = std::get_if<core::Leadership::Loading>(&leadership_.state());
  if (loading == nullptr || loading->hold.term != read.term) return;
  if (!read.image) {
    set_trouble("the state could not be loaded: " + read.image.error().detail);
    outlet_.say(LogLevel::kError, "the state could not be loaded: " + read.image.error().detail);
    return feed(lead::ReloadFailed{read.term});
  }
  const Instant now = term_now();
  core::Effects repairs;
  state_ = std::make_unique<core::State>(core::load(
      config_.policy, read.term, now, config_.seed ^ read.term.value, *read.image, repairs));
  outlet_.say(LogLevel::kInfo,
              fmt::format("term {}: {} live runs, {} workers loaded", read.term.value,
                          state_->runs.size(), read.image->workers.size()));
  set_damaged(read.image->damaged);
  outlet_.loaded(read.image->counters.next_event - 1);
  gathering_ = {};
  gathering_.add(std::move(repairs), now);
  note_carried();
  if (gathering_.writes_nothing()) return feed(lead::ReloadDone{read.term});
  write(std::make_shared<Batch>(std::exchange(gathering_, {})));
}

void Engine::perform(const lead::StartServing& order) {
  outlet_.say(LogLevel::kInfo, fmt::format("leading (term {})", order.term.value));
  set_trouble({});
  next_audit_ = boot_clock_now() + config_.policy.reconcile_interval;
  store_well_ = true;
  next_tick_ = term_now();
  next_retention_ = boot_clock_now() + config_.retention_interval;
  serves_ = true;
}

void Engine::perform(const lead::StepDown& order) {
  const bool asked = order.why == lead::StepDown::Why::kStopped;
  outlet_.say(
      asked ? LogLevel::kInfo : LogLevel::kWarn,
      fmt::format("giving up leadership (term {}): {}", order.term.value, to_text(order.why)));
  // Asked to stop, it has committed all that it stepped; who still waits only waits for news.
  drop_memory(order.why == lead::StepDown::Why::kStopped ? kNothingHappened : kInDoubt);
}

bool Engine::may_act() const {
  if (!leadership_.leads()) return false;
  const auto until = leadership_.serves_until();
  return until && boot_clock_now() < *until;
}

void Engine::abandon(std::string_view why) {
  if (!state_) return;
  outlet_.say(LogLevel::kError, fmt::format("loading the state again: {}", why));
  store_well_ = false;
  const Term term = state_->term;
  drop_memory(kInDoubt);
  feed(lead::CommitUnknown{term});
}

void Engine::turn_away(Asked& asked) {
  if (auto* look = std::get_if<Look>(&asked)) return look->look(nullptr, {});
  if (auto* check = std::get_if<ReconcileAsked>(&asked)) {
    return check->done(std::unexpected(kNothingHappened));
  }
  waiters_.answer(request_of(asked), std::unexpected(kNothingHappened));
}

// `stepped` is the answer for what was stepped, or waits for news.
void Engine::drop_memory(const api::UnservedError& stepped) {
  serves_ = false;
  for (Asked& asked : inbox_.drop_asked()) turn_away(asked);
  for (Asked& asked : std::exchange(held_back_, {})) turn_away(asked);
  waiters_.answer_all(stepped);
  writing_.reset();
  space_again_.reset();
  state_.reset();
  gathering_ = {};
  wants_image_.reset();
  reading_image_ = false;
  stalled_ = false;
  drop_audit();
  ++commits_;  // the end of an earlier commit means nothing any more
}

}  // namespace vortex::controller
