#include "sim/check/schedule_watch.h"

#include <algorithm>
#include <limits>

namespace vortex::sim {

namespace {

constexpr std::int64_t kMillion = 1'000'000;
constexpr std::int64_t kLateMost = 60 * kMillion;
constexpr std::int64_t kEndless = std::numeric_limits<std::int64_t>::max() / 4;

std::int64_t floor_of(std::int64_t a, std::int64_t b) {
  return a >= 0 ? a / b : -((-a + b - 1) / b);
}

}  // namespace

SlotRule::SlotRule(const ScheduleSpec& spec)
    : every_(spec.every.us),
      from_(spec.from ? spec.from->seconds * kMillion : 0),
      until_(spec.until ? spec.until->seconds * kMillion : kEndless),
      jitter_(spec.jitter.us),
      window_(spec.catchup.window.us),
      limit_(spec.catchup.limit),
      begins_(spec.from.has_value()) {}

std::optional<Instant> SlotRule::next(Instant after) const {
  std::int64_t slot = from_ + (floor_of(after.us - from_, every_) + 1) * every_;
  if (begins_) slot = std::max(slot, from_);
  if (slot > until_) return std::nullopt;
  return Instant{slot};
}

std::optional<Instant> SlotRule::newest(Instant upto) const {
  const std::int64_t end = std::min(upto.us, until_);
  const std::int64_t slot = from_ + floor_of(end - from_, every_) * every_;
  if (begins_ && slot < from_) return std::nullopt;
  return Instant{slot};
}

bool SlotRule::is_slot(Instant at) const { return newest(at) == at; }

std::uint64_t SlotRule::count(Instant after, Instant upto) const {
  const auto first = next(after);
  const auto last = newest(upto);
  if (!first || !last || *last < *first) return 0;
  return static_cast<std::uint64_t>((last->us - first->us) / every_ + 1);
}

bool SlotRule::same_slots(const SlotRule& other) const {
  return every_ == other.every_ && from_ == other.from_ && until_ == other.until_ &&
         begins_ == other.begins_;
}

SlotRule::Absence SlotRule::absence(Instant position, Instant now, Duration sweep) const {
  Absence out;
  // Later ones are on time: their jitter lasts that long, and a controller looks that often.
  const Instant late_upto{now.us - jitter_ - 2 * sweep.us - 1};
  const auto first = next(position);
  auto newest_late = newest(late_upto);
  if (!first || !newest_late || *newest_late < *first) return out;
  const auto after = next(*newest_late);
  const bool is_newest = !after || *after > now;
  if (is_newest && newest_late->us >= now.us - jitter_ - kLateMost) {
    out.allowed.insert(*newest_late);
    newest_late->us -= every_;
  }
  std::int64_t left = window_ > 0 ? limit_ : 0;
  while (left > 0 && *newest_late >= *first && newest_late->us >= now.us - window_) {
    out.allowed.insert(*newest_late);
    newest_late->us -= every_;
    --left;
  }
  if (*newest_late >= *first) out.missed_to = *newest_late;
  return out;
}

}  // namespace vortex::sim
