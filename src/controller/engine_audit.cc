// The thorough check: begun once in every reconcile interval or when asked for, done in slices.

#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/clock.h"
#include "controller/engine.h"

namespace vortex::controller {
namespace {

constexpr Duration kBetweenSlices = millis(5);  // room for what is more urgent

}  // namespace

void Engine::begin_audit() {
  if (audit_.is_active()) return;
  std::set<RunId> set_aside;
  for (const DamagedRow& row : damaged()) set_aside.insert(row.run);
  audit_.begin(std::move(set_aside));
  next_slice_ = boot_clock_now();
}

bool Engine::audit_is_due() const {
  return serves_ && audit_.is_active() && !comparing_ && boot_clock_now() >= next_slice_;
}

void Engine::audit_when_due() {
  if (!serves_) return;
  if (!audit_.is_active() && boot_clock_now() >= next_audit_) begin_audit();
  // Otherwise with the next commit: only at its edge is memory what the database holds.
  if (audit_is_due() && !writing_ && gathering_.is_empty()) take_slice();
}

void Engine::take_slice() {
  const Instant begin = boot_clock_now();
  Audit::Compare compare = audit_.slice(*state_);
  audit_.add({}, boot_clock_now() - begin);
  next_slice_ = boot_clock_now() + kBetweenSlices;
  if (!compare) {
    if (audit_.is_complete()) end_audit();
    return;
  }
  comparing_ = true;
  committer_.post([this, term = state_->term, compare = std::move(compare)](store::Writer&) {
    SliceCompared result{term, {}, {}};
    if (!audit_reader_) {
      if (auto reader = config_.open_reader()) audit_reader_ = std::move(*reader);
    }
    // After a failed commit the database lacks what the slice was taken with.
    if (audit_reader_ && last_commit_done_) {
      const Instant started = boot_clock_now();
      result.findings = compare(*audit_reader_);
      result.took = boot_clock_now() - started;
    }
    inbox_.notice(std::move(result));
  });
}

void Engine::handle(SliceCompared& compared) {
  if (!serves_ || !comparing_ || compared.term != state_->term) return;
  comparing_ = false;
  audit_.add(std::move(compared.findings), compared.took);
  next_slice_ = boot_clock_now() + kBetweenSlices;
  if (audit_.is_complete()) end_audit();
}

void Engine::end_audit() {
  api::ReconcileReport report = audit_.take_report();
  next_audit_ = boot_clock_now() + config_.policy.reconcile_interval;
  // What another load did not cure is only told: the database is the truth, and it was read.
  const bool again = report.findings == last_found_;
  report.reloaded = !report.findings.empty() && !again;
  last_found_ = report.findings;
  outlet_.audited(report);
  for (const std::string& what : report.findings) {
    outlet_.say(LogLevel::kError, "the thorough check found: " + what);
  }
  for (auto& done : std::exchange(audit_waiters_, {})) done(report);
  if (report.findings.empty()) return;
  if (again) {
    step_into(gathering_, core::NoteFindings{std::move(report.findings), false});
    return;
  }
  carried_ = std::move(report.findings);
  abandon("what it remembers differs from the database");
}

void Engine::drop_audit() {
  audit_.drop();
  comparing_ = false;
  for (auto& done : std::exchange(audit_waiters_, {})) {
    done(std::unexpected(api::UnservedError{
        api::Unserved::kNotLeader, "the state was loaded again during the check", millis(500)}));
  }
}

// In the first commit of the new term, with the repairs of the load.
void Engine::note_carried() {
  if (carried_.empty()) return;
  step_into(gathering_, core::NoteFindings{std::exchange(carried_, {}), true});
}

std::string Engine::trouble() const {
  const std::scoped_lock lock(told_guard_);
  return trouble_;
}

void Engine::set_trouble(std::string what) {
  const std::scoped_lock lock(told_guard_);
  trouble_ = std::move(what);
}

std::vector<DamagedRow> Engine::damaged() const {
  const std::scoped_lock lock(told_guard_);
  return damaged_;
}

void Engine::set_damaged(std::vector<DamagedRow> rows) {
  for (const DamagedRow& row : rows) {
    const std::string what =
        row.run.value == 0 ? "left out" : fmt::format("{} is set aside", to_text(row.run));
    outlet_.say(LogLevel::kError, fmt::format("damaged, {}: {}", what, to_text(row)));
  }
  const std::scoped_lock lock(told_guard_);
  damaged_ = std::move(rows);
}

}  // namespace vortex::controller
