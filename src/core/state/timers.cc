#include "core/state/timers.h"

#include <algorithm>

namespace vortex::core {

namespace {
constexpr std::uint32_t kArity = 4;
}

std::uint32_t& Timers::position(TimerKey key) {
  auto& slots = positions_[static_cast<std::size_t>(key.kind)];
  if (key.index >= slots.size()) slots.resize(key.index + 1, 0);
  return slots[key.index];
}

std::optional<Judged> Timers::at(TimerKey key) const {
  const auto& slots = positions_[static_cast<std::size_t>(key.kind)];
  if (key.index >= slots.size() || slots[key.index] == 0) return std::nullopt;
  return heap_[slots[key.index] - 1].at;
}

void Timers::place(std::uint32_t slot, const Entry& entry) {
  heap_[slot] = entry;
  position(entry.key) = slot + 1;
}

void Timers::sift_up(std::uint32_t slot, const Entry& entry) {
  while (slot > 0) {
    const std::uint32_t parent = (slot - 1) / kArity;
    if (heap_[parent] <= entry) break;
    place(slot, heap_[parent]);
    slot = parent;
  }
  place(slot, entry);
}

void Timers::sift_down(std::uint32_t slot, const Entry& entry) {
  const auto size = static_cast<std::uint32_t>(heap_.size());
  for (;;) {
    const std::uint32_t first = slot * kArity + 1;
    if (first >= size) break;
    std::uint32_t least = first;
    for (std::uint32_t child = first + 1; child < std::min(first + kArity, size); ++child) {
      if (heap_[child] < heap_[least]) least = child;
    }
    if (entry <= heap_[least]) break;
    place(slot, heap_[least]);
    slot = least;
  }
  place(slot, entry);
}

void Timers::set(TimerKey key, Judged at) {
  if (at >= kJudgedNever) return clear(key);
  const Entry entry{at, key};
  const std::uint32_t known = position(key);
  if (known == 0) {
    heap_.push_back(entry);
    return sift_up(static_cast<std::uint32_t>(heap_.size() - 1), entry);
  }
  const Judged before = heap_[known - 1].at;
  if (at < before) sift_up(known - 1, entry);
  if (at > before) sift_down(known - 1, entry);
}

void Timers::clear(TimerKey key) {
  const std::uint32_t known = position(key);
  if (known != 0) remove_at(known - 1);
}

void Timers::remove_at(std::uint32_t slot) {
  position(heap_[slot].key) = 0;
  const Entry last = heap_.back();
  heap_.pop_back();
  if (slot == heap_.size()) return;
  // The last entry may belong above or below the hole.
  if (slot > 0 && last < heap_[(slot - 1) / kArity]) return sift_up(slot, last);
  sift_down(slot, last);
}

std::optional<Judged> Timers::next() const {
  if (heap_.empty()) return std::nullopt;
  return heap_.front().at;
}

std::optional<TimerKey> Timers::pop_due(Judged now) {
  if (heap_.empty() || heap_.front().at > now) return std::nullopt;
  const TimerKey key = heap_.front().key;
  remove_at(0);
  return key;
}

}  // namespace vortex::core
