#include "controller/engine.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "core/step.h"

namespace vortex::controller {
namespace {

constexpr Duration kIdle = seconds(1);  // the longest the engine sleeps at a stretch
constexpr Duration kCountEvery = seconds(1);
constexpr std::uint32_t kExpireAtOnce = 500;
constexpr std::uint32_t kSweepRows = 2'000;

core::LeadershipConfig leadership_config(const EngineConfig& config) {
  return {config.me, config.leader_lease, config.seed, config.leader_pace};
}

bool is_submit(const core::Command& command) {
  return std::holds_alternative<core::SubmitRun>(command);
}

}  // namespace

Engine::Engine(EngineConfig config, Committer& committer, Waiters& waiters, Outlet& outlet)
    : config_(std::move(config)),
      committer_(committer),
      waiters_(waiters),
      outlet_(outlet),
      inbox_(config_.inbox_max),
      leadership_(leadership_config(config_), boot_clock_now()) {}

Engine::~Engine() { stop(); }

void Engine::start() {
  thread_ = std::thread([this] { run(); });
}

void Engine::stop() {
  if (!thread_.joinable()) return;
  inbox_.notice(StopNow{});
  thread_.join();
}

Engine::Refused Engine::ask(Asked asked) {
  if (!serves_) return Refused::kNotServing;
  return inbox_.ask(std::move(asked)) ? Refused::kNo : Refused::kBusy;
}

Instant Engine::now() const { return boot_clock_now() + micros(clock_offset_us_); }
Instant Engine::term_now() const { return term_clock_.now(boot_clock_now()); }

void Engine::run() {
  feed(core::lead::Tick{});
  while (!is_done()) {
    Inbox::Taken taken = inbox_.take(patience(), wants_asked());
    for (Notice& notice : taken.notices) {
      std::visit([this](auto& n) { handle(n); }, notice);
    }
    for (Asked& asked : std::exchange(held_back_, {})) step(asked);
    for (Asked& asked : taken.asked) step(asked);
    tick_when_due();
    retain_when_due();
    watch_for_stall();
    hand_over();
    audit_when_due();
    if (leadership_.next_wake() <= boot_clock_now()) feed(core::lead::Tick{});
  }
}

bool Engine::is_done() const {
  return stopping_ && !writing_ &&
         std::holds_alternative<core::Leadership::Stopped>(leadership_.state());
}

// Until something is due of itself.
Duration Engine::patience() const {
  const Instant boot = boot_clock_now();
  Duration wait = std::min(kIdle, leadership_.next_wake() - boot);
  if (serves_) wait = std::min(wait, next_tick_ - term_now());
  if (writing_) wait = std::min(wait, writing_->since + config_.commit_stalled - boot);
  if (space_again_) wait = std::min(wait, *space_again_ - boot);
  if (serves_ && audit_.is_active() && !comparing_) wait = std::min(wait, next_slice_ - boot);
  return std::max(wait, micros(0));
}

bool Engine::wants_asked() const {
  return serves_ && !wants_image_ && !stopping_ && gathering_.rows() < config_.batch_rows_max;
}

void Engine::step(Asked& asked) {
  if (!serves_) return turn_away(asked);
  if (wants_image_) return held_back_.push_back(std::move(asked));
  if (auto* command = std::get_if<core::Command>(&asked)) return step_command(*command);
  if (auto* side = std::get_if<SideWriteAsked>(&asked)) return step_side(*side);
  if (auto* check = std::get_if<ReconcileAsked>(&asked)) {
    audit_waiters_.push_back(std::move(check->done));
    return begin_audit();
  }
  std::get<Look>(asked).look(state_.get(), term_now());
}

void Engine::step_command(core::Command& command) {
  if (low_space_ && is_submit(command)) {
    const api::UnservedError full{api::Unserved::kNoSpace,
                                  "the disk under the database is almost full", seconds(5)};
    return waiters_.answer(request_of(command), std::unexpected(full));
  }
  step_into(gathering_, command);
}

void Engine::step_side(SideWriteAsked& asked) {
  std::visit(
      [this](auto& write) {
        auto& [row] = write;
        gathering_.add(std::move(row));
      },
      asked.write);
  gathering_.answer({asked.request, core::Done{}});
}

bool Engine::step_into(Batch& batch, const core::Command& command) {
  const Instant now = term_now();
  core::Effects effects = core::step(*state_, command, now);
  if (effects.reload) {
    carried_ = std::move(effects.findings);
    for (const std::string& what : carried_) outlet_.say(LogLevel::kError, "found: " + what);
    abandon("what it remembers contradicts itself");
    return false;
  }
  if (needs_image(command, effects)) {
    wants_image_ = command;
    return false;
  }
  // Any step looks after what is due, so the pass may be part of whatever came first.
  for (const core::Sample& sample : effects.samples) {
    if (sample.kind != core::Sample::Kind::kHealthPass) continue;
    batch.health_pass = std::max(batch.health_pass, std::max(term_now() - now, micros(1)));
  }
  batch.add(std::move(effects), now);
  return true;
}

// The task's run is finished and has left memory: the command is stepped again with its image.
bool Engine::needs_image(const core::Command& command, const core::Effects& effects) {
  const auto* retry = std::get_if<core::RetryTask>(&command);
  const auto* redrive = std::get_if<core::RedriveDeadLetter>(&command);
  const bool could = (retry != nullptr && !retry->image) || (redrive != nullptr && !redrive->image);
  if (!could || effects.replies.empty()) return false;
  const auto* refusal = std::get_if<core::Refusal>(&effects.replies.back().body);
  return refusal != nullptr && refusal->kind == core::RefusalKind::kRunNotLive;
}

void Engine::tick_when_due() {
  if (!serves_) return;
  const Instant now = term_now();
  if (now < next_tick_ && now < state_->next_wake()) return;
  if (!may_act()) return abandon("the lease to lead is over");
  if (!step_into(gathering_, core::Tick{})) return;
  next_tick_ = std::min(now + config_.policy.sweep, std::max(state_->next_wake(), now));
  if (now >= next_count_) count_live(now);
}

void Engine::count_live(Instant now) {
  next_count_ = now + kCountEvery;
  Live live;
  for (std::uint32_t i = 0; i < state_->workers.size(); ++i) {
    live.workers += is_present(state_->workers[core::WorkerIx{i}].state) ? 1 : 0;
  }
  for (const auto& [key, entry] : state_->leases) {
    const core::PartitionLease& lease = entry.second;
    live.leases += !lease.holder.empty() && lease.expires_at > now ? 1 : 0;
  }
  live_workers_ = live.workers;
  live_leases_ = live.leases;
  brake_ = !std::holds_alternative<core::BrakeOff>(state_->brake);
}

// Finished runs beyond the limits are looked up, forgotten in the next commit, then swept away in
// slices; each slice is a short transaction between two commits.
void Engine::retain_when_due() {
  if (!serves_ || boot_clock_now() < next_retention_ || writing_) return;
  next_retention_ = boot_clock_now() + config_.retention_interval;
  const auto look = [this, term = state_->term, now = term_now()](store::Writer& writer) {
    Expirable found{term, {}};
    auto runs = writer.expirable(config_.retention, now, kExpireAtOnce);
    if (runs) found.runs = std::move(*runs);
    const auto more = writer.sweep(config_.retention, now, kSweepRows);
    if (!found.runs.empty() || more.value_or(false)) inbox_.notice(std::move(found));
  };
  committer_.post(look);
}

void Engine::handle(Expirable& expirable) {
  if (!serves_ || expirable.term != state_->term) return;
  for (const ExpiredRun& expired : expirable.runs) {
    if (state_->runs.find(expired.run).valid()) continue;  // an operator revived it
    if (!expired.idempotency_key.empty()) {
      if (!step_into(gathering_, core::ForgetKey{expired.idempotency_key})) return;
    }
    gathering_.expire(expired.run);
  }
  // There is more to do: go on soon, but let commits pass.
  next_retention_ = boot_clock_now() + millis(50);
}

void Engine::handle(StopNow&) {
  stopping_ = true;
  if (!serves_) feed(core::lead::StopRequested{});
}

}  // namespace vortex::controller
