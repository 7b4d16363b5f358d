#include "agent/held.h"

#include <algorithm>

#include "base/assert.h"
#include "model/sync.h"

namespace vortex::agent {
namespace {

template <class State>
bool is(const HeldState& state) {
  return std::holds_alternative<State>(state);
}

bool has_processes(const HeldState& state) {
  return is<Starting>(state) || is<Running>(state) || is<Killing>(state);
}

bool is_silenced(const HeldState& state) {
  const auto* killing = std::get_if<Killing>(&state);
  return killing != nullptr && is_silent(killing->why);
}

Attempt first_of(TaskId task) { return {.task = task, .epoch = Epoch{0}}; }

}  // namespace

HeldTable::Taken HeldTable::take(Assignment assignment, Instant now) {
  const Attempt attempt = assignment.attempt;
  auto next = entries_.upper_bound(attempt);
  if (next != entries_.end() && next->first.task == attempt.task) return Taken::kOutdated;
  if (entries_.contains(attempt)) return Taken::kRepeated;
  const auto it =
      entries_.emplace(attempt, Entry{Unstarted{std::move(assignment), ++arrivals_, now}, {}})
          .first;
  count_in(attempt, it->second.state);
  return Taken::kNew;
}

std::vector<Attempt> HeldTable::older_than(Attempt attempt) const {
  std::vector<Attempt> older;
  for (auto it = entries_.lower_bound(first_of(attempt.task));
       it != entries_.end() && it->first < attempt; ++it) {
    older.push_back(it->first);
  }
  return older;
}

bool HeldTable::is_blocked(Attempt attempt) const {
  for (auto it = entries_.lower_bound(first_of(attempt.task));
       it != entries_.end() && it->first < attempt; ++it) {
    if (has_processes(it->second.state)) return true;
  }
  return false;
}

std::optional<Assignment> HeldTable::start_next(Instant now) {
  for (const auto& [arrival, attempt] : unstarted_) {
    if (is_blocked(attempt)) continue;
    const auto it = entries_.find(attempt);
    Assignment assignment = std::move(std::get<Unstarted>(it->second.state).assignment);
    change(it, Starting{assignment.execution_timeout, now});
    return assignment;
  }
  return std::nullopt;
}

bool HeldTable::started(Attempt attempt, Instant now) {
  const auto it = entries_.find(attempt);
  if (it == entries_.end()) return false;
  if (const auto* starting = std::get_if<Starting>(&it->second.state)) {
    const Duration limit = starting->execution_timeout;
    change(it, Running{limit > Duration{} ? now + limit : kNever, starting->began});
    return true;
  }
  // It came up although we had just asked for its end; that it ran is still a fact.
  const auto* killing = std::get_if<Killing>(&it->second.state);
  return killing != nullptr && !is_silent(killing->why);
}

void HeldTable::progressed(Attempt attempt, Progress progress) {
  const auto it = entries_.find(attempt);
  if (it != entries_.end()) it->second.progress = std::move(progress);
}

void HeldTable::wrote(Attempt attempt, std::uint64_t bytes) {
  const auto it = entries_.find(attempt);
  if (it != entries_.end()) it->second.output_bytes = bytes;
}

bool HeldTable::is_live(Attempt attempt) const {
  const HeldState* state = state_of(attempt);
  return state != nullptr && !is<Ended>(*state) && !is_silenced(*state);
}

HeldTable::Kill HeldTable::kill(Attempt attempt, KillWhy why) {
  const auto it = entries_.find(attempt);
  if (it == entries_.end()) return Kill::kNothing;
  const HeldState& state = it->second.state;
  if (is<Starting>(state) || is<Running>(state)) {
    change(it, Killing{why});
    return Kill::kSignal;
  }
  if (is<Unstarted>(state)) {
    is_silent(why) ? erase(it) : change(it, Ended{});
    return Kill::kNeverRan;
  }
  // The first reason is the one that is reported, unless nothing is to be said any more.
  if (!is_silent(why) || is_silenced(state)) return Kill::kNothing;
  is<Ended>(state) ? erase(it) : change(it, Killing{why});
  return Kill::kSilenced;
}

std::optional<HeldTable::End> HeldTable::end(Attempt attempt) {
  const auto it = entries_.find(attempt);
  if (it == entries_.end() || !has_processes(it->second.state)) return std::nullopt;
  if (is_silenced(it->second.state)) {
    erase(it);
    return std::nullopt;
  }
  End end;
  const HeldState& state = it->second.state;
  if (const auto* killing = std::get_if<Killing>(&state)) end.why = killing->why;
  if (const auto* starting = std::get_if<Starting>(&state)) end.began = starting->began;
  if (const auto* running = std::get_if<Running>(&state)) end.began = running->began;
  change(it, Ended{});
  return end;
}

void HeldTable::forget(Attempt attempt) {
  const auto it = entries_.find(attempt);
  if (it != entries_.end() && is<Ended>(it->second.state)) erase(it);
}

std::vector<Attempt> HeldTable::attempts() const {
  std::vector<Attempt> all;
  all.reserve(entries_.size());
  for (const auto& [attempt, entry] : entries_) all.push_back(attempt);
  return all;
}

std::vector<HeldTask> HeldTable::list() const {
  std::vector<HeldTask> held;
  held.reserve(entries_.size());
  for (const auto& [attempt, entry] : entries_) {
    if (!is_silenced(entry.state)) held.push_back({attempt, entry.progress, entry.output_bytes});
  }
  return held;
}

std::vector<Attempt> HeldTable::unstarted() const {
  std::vector<Attempt> waiting;
  waiting.reserve(unstarted_.size());
  for (const auto& [arrival, attempt] : unstarted_) waiting.push_back(attempt);
  return waiting;
}

Instant HeldTable::oldest_unstarted() const {
  if (unstarted_.empty()) return kNever;
  return std::get<Unstarted>(entries_.at(unstarted_.begin()->second).state).since;
}

std::vector<Attempt> HeldTable::overdue(Instant now) const {
  std::vector<Attempt> late;
  for (const auto& [deadline, attempt] : deadlines_) {
    if (deadline > now) break;
    late.push_back(attempt);
  }
  return late;
}

Instant HeldTable::next_deadline() const {
  return deadlines_.empty() ? kNever : deadlines_.begin()->first;
}

const HeldState* HeldTable::state_of(Attempt attempt) const {
  const auto it = entries_.find(attempt);
  return it == entries_.end() ? nullptr : &it->second.state;
}

void HeldTable::change(Entries::iterator it, HeldState state) {
  count_out(it->first, it->second.state);
  it->second.state = std::move(state);
  count_in(it->first, it->second.state);
}

void HeldTable::erase(Entries::iterator it) {
  count_out(it->first, it->second.state);
  entries_.erase(it);
}

void HeldTable::count_in(Attempt attempt, const HeldState& state) {
  ++counts_[state.index()];
  if (const auto* unstarted = std::get_if<Unstarted>(&state)) {
    unstarted_.emplace(unstarted->arrival, attempt);
  }
  if (const auto* running = std::get_if<Running>(&state); running && running->deadline < kNever) {
    deadlines_.emplace(running->deadline, attempt);
  }
  if (is_silenced(state)) ++silent_;
}

void HeldTable::count_out(Attempt attempt, const HeldState& state) {
  VX_ASSERT(counts_[state.index()] > 0);
  --counts_[state.index()];
  if (const auto* unstarted = std::get_if<Unstarted>(&state)) unstarted_.erase(unstarted->arrival);
  if (const auto* running = std::get_if<Running>(&state)) {
    deadlines_.erase({running->deadline, attempt});
  }
  if (is_silenced(state)) --silent_;
}

void Pace::ended(Duration ran) {
  // A single long one must not be forgotten after the next short one, nor weigh for ever.
  const Duration counted = std::clamp(ran, micros(1), kUnproved);
  mean_ = (mean_ * 3 + counted) / 4;
}

std::uint32_t Pace::ahead() const {
  const std::int64_t per_slot = kAheadFor.us / std::max<std::int64_t>(mean_.us, 1);
  return slots_ * static_cast<std::uint32_t>(std::min<std::int64_t>(per_slot, kAheadPerSlotMax));
}

}  // namespace vortex::agent
