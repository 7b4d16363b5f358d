#include <algorithm>
#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "core/load.h"
#include "sim/controller.h"

namespace vortex::sim {

namespace lead = core::lead;

namespace {

// Controllers are called c0, c1, c2.
std::optional<std::uint32_t> index_of(const ControllerId& id) {
  std::uint32_t index = 0;
  const char* end = id.text.data() + id.text.size();
  if (id.text.size() < 2) return std::nullopt;
  if (std::from_chars(id.text.data() + 1, end, index).ptr != end) return std::nullopt;
  return index;
}

}  // namespace

void Controller::begin_leadership() {
  core::LeadershipConfig config;
  config.me = ControllerId(name_);
  config.lease = scene_.setup.timings.leader_lease;
  config.seed = rng_.next();
  leadership_.emplace(config, boot_now());
  known_leader_.reset();
  feed_leadership(lead::Tick{});
}

void Controller::hint_free() {
  process_.run_in(process_.life(), [this] { feed_leadership(lead::MayBeFree{}); });
}

void Controller::feed_leadership(const lead::Input& input) {
  if (!leadership_) return;
  for (const lead::Output& output : leadership_->on(input, boot_now())) {
    std::visit([this](const auto& order) { perform(order); }, output);
    if (!leadership_) return;
  }
  arm_leadership();
}

void Controller::arm_leadership() {
  const Instant wanted = leadership_->next_wake();
  if (wanted >= kNever) return;
  const Instant now = scene_.agenda.now();
  const Instant when =
      wanted <= boot_now() ? now + micros(1) : std::max(clock_.true_at(wanted), now + micros(1));
  if (lead_wake_at_ > now && lead_wake_at_ <= when) return;
  lead_wake_at_ = when;
  scene_.agenda.at(when, process_.mine([this, when] {
    if (lead_wake_at_ != when) return;
    lead_wake_at_ = kNever;
    feed_leadership(lead::Tick{});
  }));
}

void Controller::perform(const lead::TryAcquire& order) {
  const auto tell = [this, call = order.call, life = process_.life()](auto result) {
    process_.run_in(life, [this, call, result] {
      if (const auto* other = std::get_if<lead::HeldByOther>(&result)) {
        known_leader_ = index_of(other->holder);
      }
      feed_leadership(lead::AcquireAnswer{call, result});
    });
  };
  using Answer = decltype(lead::AcquireAnswer::result);
  const auto serve = [tell, order](SimStore& store) -> SimStore::Answer {
    Answer answer = lead::Unavailable{};
    if (!store.is_full()) {
      if (const auto term = store.acquire(order.me, order.lease)) {
        answer = lead::Won{*term, store.database_now()};
      } else {
        const LeaderRow& row = store.leader();
        answer = lead::HeldByOther{row.holder, row.expires_at - store.database_now()};
      }
    }
    return [tell, answer] { tell(answer); };
  };
  scene_.store.ask({host_, serve, [tell] { tell(Answer{lead::Unavailable{}}); },
                    [tell] { tell(Answer{lead::Unknown{}}); }});
}

void Controller::perform(const lead::Renew& order) {
  using Answer = decltype(lead::RenewAnswer::result);
  const auto tell = [this, call = order.call, life = process_.life()](Answer result) {
    process_.run_in(life,
                    [this, call, result] { feed_leadership(lead::RenewAnswer{call, result}); });
  };
  const auto serve = [tell, order](SimStore& store) -> SimStore::Answer {
    Answer answer = lead::Unavailable{};
    if (!store.is_full()) {
      answer =
          store.renew(order.term, order.lease) ? Answer{lead::Renewed{}} : Answer{lead::Lost{}};
    }
    return [tell, answer] { tell(answer); };
  };
  scene_.store.ask({host_, serve, [tell] { tell(Answer{lead::Unavailable{}}); },
                    [tell] { tell(Answer{lead::Unknown{}}); }});
}

void Controller::perform(const lead::Release& order) {
  const auto serve = [term = order.term](SimStore& store) -> SimStore::Answer {
    store.free_lease(term);
    return [] {};
  };
  scene_.store.ask({host_, serve, [] {}, [] {}});
}

void Controller::perform(const lead::StartLoading& order) {
  term_clock_ = order.clock;
  const Term term = order.term;
  const auto failed = process_.mine([this, term] { feed_leadership(lead::ReloadFailed{term}); });
  const auto serve = [this, term, life = process_.life()](SimStore& store) -> SimStore::Answer {
    auto image = std::make_shared<const StoreImage>(store.tables().image());
    return [this, term, life, image] {
      process_.run_in(life, [this, term, image] { loaded(term, *image); });
    };
  };
  scene_.store.ask({host_, serve, failed, failed});
}

void Controller::loaded(Term term, const StoreImage& image) {
  const auto* loading =
      leadership_ ? std::get_if<core::Leadership::Loading>(&leadership_->state()) : nullptr;
  if (loading == nullptr || loading->hold.term != term) return;
  const Instant now = term_now();
  core::Effects repairs;
  state_.emplace(core::load(scene_.setup.timings.policy, term, now, rng_.next(), image, repairs));
  scene_.recorder.fact(TermBegan{term, now});
  Batch batch;
  batch.request = std::make_shared<CommitRequest>();
  batch.request->term = term;
  batch.request->term_now = now;
  batch.request->rows = std::move(repairs.rows);
  batch.request->events = std::move(repairs.events);
  submit(std::move(batch));
}

void Controller::perform(const lead::StartServing& order) {
  note(fmt::format("leads in term {}", order.term.value));
  serves_ = true;
  arm_tick();
}

void Controller::perform(const lead::StepDown& order) {
  note(fmt::format("steps down from term {} ({})", order.term.value, static_cast<int>(order.why)));
  drop_memory();
}

bool Controller::may_act() const {
  if (!leadership_ || !leadership_->leads()) return false;
  const auto until = leadership_->serves_until();
  return until && boot_now() < *until;
}

void Controller::abandon(std::string_view why) {
  if (!state_) return;
  note(fmt::format("throws its memory away: {}", why));
  feed_leadership(lead::CommitUnknown{state_->term});
  drop_memory();
}

void Controller::drop_memory() {
  serves_ = false;
  state_.reset();
  inbox_.clear();
  writing_.reset();
  waiting_.reset();
  ++commits_;  // an answer to an earlier commit means nothing any more
  adoptions_.clear();
  reading_image_ = false;
  store_stalled_ = false;
  tick_at_ = kNever;
  for (const auto& [request, waiter] : std::exchange(waiters_, {})) scene_.board.drop(waiter.line);
  for (const auto& [line, onward] : std::exchange(passed_on_, {})) scene_.board.hang_up(onward);
}

}  // namespace vortex::sim
