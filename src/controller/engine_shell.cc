#include "controller/engine_shell.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/clock.h"

namespace vortex::controller {

Committer::Committer(store::Writer& writer) : writer_(writer), thread_([this] { run(); }) {}

Committer::~Committer() { stop(); }

void Committer::post(Job job) {
  {
    const std::scoped_lock lock(guard_);
    jobs_.push_back(std::move(job));
  }
  wake_.notify_one();
}

void Committer::stop() {
  {
    const std::scoped_lock lock(guard_);
    stopping_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
}

bool Committer::is_idle() const {
  const std::scoped_lock lock(guard_);
  return jobs_.empty() && !busy_;
}

void Committer::run() {
  std::unique_lock lock(guard_);
  while (true) {
    wake_.wait(lock, [this] { return stopping_ || !jobs_.empty(); });
    if (jobs_.empty()) return;
    const Job job = std::move(jobs_.front());
    jobs_.pop_front();
    busy_ = true;
    lock.unlock();
    job(writer_);
    lock.lock();
    busy_ = false;
  }
}

namespace {

constexpr Duration kCountEvery = seconds(1);

}  // namespace

EngineShell::EngineShell(EngineShellConfig config, Committer& committer, Waiters& waiters,
                         Outlet& outlet)
    : config_(std::move(config)),
      committer_(committer),
      waiters_(waiters),
      outlet_(outlet),
      inbox_(config_.inbox_max),
      engine_(config_.engine, boot_clock_now()),
      clock_offset_us_((wall_clock_now() - boot_clock_now()).us) {}

EngineShell::~EngineShell() { stop(); }

void EngineShell::start(std::string url) {
  url_ = std::move(url);
  thread_ = std::thread([this] { run(); });
}

void EngineShell::stop() {
  if (!thread_.joinable()) return;
  tell(engine::StopRequested{});
  thread_.join();
}

EngineShell::Refused EngineShell::ask(Asked asked) {
  if (!serves_) return Refused::kNotServing;
  return inbox_.ask(std::move(asked)) ? Refused::kNo : Refused::kBusy;
}

Instant EngineShell::now() const { return boot_clock_now() + micros(clock_offset_us_); }

void EngineShell::set_low_space(bool low) {
  low_space_ = low;
  tell(engine::SpaceLow{low});
}

void EngineShell::run() {
  feed(engine::Turn{});
  while (!engine_.is_done()) {
    const bool goes_on = !taken_.empty() && engine_.wants_asked();
    const Duration patience = goes_on ? Duration{} : engine_.next_wake() - boot_clock_now();
    Inbox::Taken taken = inbox_.take(patience, taken_.empty() && engine_.wants_asked());
    for (Notice& notice : taken.notices) {
      if (auto* input = std::get_if<engine::Input>(&notice)) {
        feed(std::move(*input));
      } else {
        take(std::get<SliceCompared>(notice));
      }
    }
    std::ranges::move(taken.asked, std::back_inserter(taken_));
    // What one commit has no room for waits here for the next: a few large ones fill it.
    while (!taken_.empty() && engine_.wants_asked()) {
      Asked asked = std::move(taken_.front());
      taken_.pop_front();
      take(asked);
    }
    feed(engine::Turn{});
    if (boot_clock_now() >= next_count_) count_live(boot_clock_now());
  }
}

void EngineShell::feed(engine::Input input) {
  const Instant begin = boot_clock_now();
  const std::uint64_t passes = engine_.health_passes();
  engine::Orders orders = engine_.on(std::move(input), begin);
  // Any step looks after what is due, so the pass may be part of whatever came first.
  if (engine_.health_passes() != passes) outlet_.passed_over_workers(boot_clock_now() - begin);
  carry_out(std::move(orders));
}

void EngineShell::take(Asked& asked) {
  if (auto* peek = std::get_if<Peek>(&asked)) {
    return peek->peek(engine_.serves() ? engine_.state() : nullptr,
                      engine_.term_now(boot_clock_now()));
  }
  if (!engine_.serves()) return turn_away(asked);
  if (auto* check = std::get_if<ReconcileAsked>(&asked)) {
    audit_waiters_.push_back(std::move(check->done));
    return feed(engine::CheckRequested{});
  }
  const Instant begin = boot_clock_now();
  const std::uint64_t passes = engine_.health_passes();
  engine::Orders orders = engine_.on(std::move(std::get<engine::Asked>(asked)), begin);
  if (engine_.health_passes() != passes) outlet_.passed_over_workers(boot_clock_now() - begin);
  carry_out(std::move(orders));
}

void EngineShell::carry_out(engine::Orders orders) {
  for (engine::Order& order : orders) {
    std::visit([this](auto& what) { perform(what); }, order);
  }
}

void EngineShell::count_live(Instant now) {
  next_count_ = now + kCountEvery;
  const core::State* state = engine_.state();
  if (state == nullptr) return;
  Live live;
  for (std::uint32_t i = 0; i < state->workers.size(); ++i) {
    live.workers += is_present(state->workers[core::WorkerIx{i}].state) ? 1 : 0;
  }
  const Instant at = engine_.term_now(now);
  for (const auto& [key, entry] : state->leases) {
    const core::PartitionLease& lease = entry.second;
    live.leases += !lease.holder.empty() && lease.expires_at > at ? 1 : 0;
  }
  live_workers_ = live.workers;
  live_leases_ = live.leases;
  brake_ = !std::holds_alternative<core::BrakeOff>(state->brake);
}

std::string EngineShell::trouble() const {
  const std::scoped_lock lock(told_guard_);
  return trouble_;
}

void EngineShell::set_trouble(std::string what) {
  const std::scoped_lock lock(told_guard_);
  trouble_ = std::move(what);
}

std::vector<DamagedRow> EngineShell::damaged() const {
  const std::scoped_lock lock(told_guard_);
  return damaged_;
}

}  // namespace vortex::controller
