#include "core/state/limits.h"

#include <utility>

namespace vortex::core {

LimitIx LimitTable::use(const std::string& name) {
  if (const LimitIx known = find(name); known.valid()) return known;
  LimitIx ix{static_cast<std::uint32_t>(slots_.size())};
  if (free_.empty()) {
    slots_.push_back(nullptr);
  } else {
    ix = free_.back();
    free_.pop_back();
  }
  slots_[ix.value] = std::make_unique<Limit>();
  slots_[ix.value]->name = name;
  by_name_.emplace(name, ix);
  return ix;
}

LimitIx LimitTable::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? LimitIx::none() : found->second;
}

void LimitTable::forget_unused(LimitIx ix) {
  const Limit& limit = *slots_[ix.value];
  if (limit.is_set || !limit.classes.empty()) return;
  by_name_.erase(limit.name);
  slots_[ix.value].reset();
  free_.push_back(ix);
}

namespace {

// Behind the newest slice the clock of a new leader may stand a little; it counts as that slice.
std::int64_t slices_since(const LimitRow& row, Instant now) {
  if (row.newest == kNever || now <= row.newest) return 0;
  return (now - row.newest).us / slice_of(row).us;
}

}  // namespace

Duration slice_of(const LimitRow& row) {
  if (row.rate == 0 || !row.window) return {};
  return {(row.window->us + kSlices - 1) / kSlices};
}

std::uint64_t granted_lately(const LimitRow& row, Instant now) {
  if (slice_of(row).us == 0) return 0;
  const std::int64_t passed = slices_since(row, now);
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < row.granted.size(); ++i) {
    if (static_cast<std::int64_t>(i) + passed > kSlices) break;
    sum += row.granted[i];
  }
  return sum;
}

void add_grant(LimitRow& row, Instant now) {
  const Duration slice = slice_of(row);
  if (slice.us == 0) return;
  if (row.newest == kNever) {
    row.newest = {now.us - now.us % slice.us};
    row.granted.clear();
  }
  const std::int64_t passed = std::min<std::int64_t>(slices_since(row, now), kSlices + 1);
  if (passed > 0) {
    row.newest = {row.newest.us + (now - row.newest).us / slice.us * slice.us};
    row.granted.insert(row.granted.begin(), static_cast<std::size_t>(passed), 0);
  }
  if (row.granted.empty()) row.granted.push_back(0);
  ++row.granted.front();
  if (row.granted.size() > kSlices + 1) row.granted.resize(kSlices + 1);
  while (row.granted.back() == 0) row.granted.pop_back();
}

Instant next_leaves(const LimitRow& row, Instant now) {
  const std::int64_t passed = slices_since(row, now);
  for (std::size_t i = row.granted.size(); i > 0; --i) {
    const auto age = static_cast<std::int64_t>(i) - 1;
    if (row.granted[i - 1] == 0 || age + passed > kSlices) continue;
    return row.newest + slice_of(row) * (kSlices + 1 - age);
  }
  return kNever;
}

}  // namespace vortex::core
