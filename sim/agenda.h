#pragma once
// What happens next in the simulated world: one queue in virtual time.
//
// Ordered by (time, seeded tie-break, sequence), so that things of the same microsecond fall in an
// order that differs between seeds and never within one. Nothing ever waits in real time.

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "base/time.h"
#include "sim/action.h"

namespace vortex::sim {

class Agenda {
 public:
  explicit Agenda(Rng tie_break) : rng_(tie_break) {}

  Instant now() const { return now_; }
  bool empty() const { return heap_.empty(); }
  Instant next_at() const { return heap_.empty() ? kNever : heap_.front().at; }
  std::uint64_t happened() const { return happened_; }

  // Not before now: what should have happened in the past happens next.
  void at(Instant when, Action action) {
    const std::uint32_t slot = keep(std::move(action));
    heap_.push_back({std::max(when, now_), rng_.next() >> 32, next_sequence_++, slot});
    std::push_heap(heap_.begin(), heap_.end(), later);
  }
  void after(Duration delay, Action action) { at(now_ + delay, std::move(action)); }

  // Precondition: not empty.
  void run_next() {
    std::pop_heap(heap_.begin(), heap_.end(), later);
    const Entry entry = heap_.back();
    heap_.pop_back();
    const Action action = std::move(actions_[entry.slot]);
    free_.push_back(entry.slot);
    now_ = entry.at;
    ++happened_;
    action();
  }

 private:
  struct Entry {
    Instant at;
    std::uint64_t tie = 0;
    std::uint64_t sequence = 0;
    std::uint32_t slot = 0;
  };
  static bool later(const Entry& a, const Entry& b) {
    if (a.at != b.at) return a.at > b.at;
    if (a.tie != b.tie) return a.tie > b.tie;
    return a.sequence > b.sequence;
  }

  std::uint32_t keep(Action action) {
    if (free_.empty()) {
      actions_.push_back(std::move(action));
      return static_cast<std::uint32_t>(actions_.size() - 1);
    }
    const std::uint32_t slot = free_.back();
    free_.pop_back();
    actions_[slot] = std::move(action);
    return slot;
  }

  Rng rng_;
  Instant now_;
  std::uint64_t next_sequence_ = 0;
  std::uint64_t happened_ = 0;
  std::vector<Entry> heap_;
  std::vector<Action> actions_;  // by slot: the heap moves only small entries
  std::vector<std::uint32_t> free_;
};

}  // namespace vortex::sim
