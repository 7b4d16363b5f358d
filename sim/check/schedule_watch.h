#pragma once
// A second, small statement of what schedules with `every` do: which slots there are, which of them
// are missed, made up for or late at a given moment.
//
// Whole numbers of microseconds only; shares no code with the model or the core.

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "base/time.h"
#include "model/schedule.h"

namespace vortex::sim {

class SlotRule {
 public:
  // Precondition: the schedule has an interval, and its ends are in UTC.
  explicit SlotRule(const ScheduleSpec& spec);

  std::optional<Instant> next(Instant after) const;
  std::optional<Instant> newest(Instant upto) const;  // the newest slot that is not later
  bool is_slot(Instant at) const;
  std::uint64_t count(Instant after, Instant upto) const;
  bool same_slots(const SlotRule& other) const;

  // What is to be done at `now` about slots that came while nobody was there to see them, when
  // those up to `position` are decided.
  struct Absence {
    std::set<Instant> allowed;         // that may be decided although they are late
    std::optional<Instant> missed_to;  // the newest that is missed; unset: none is
  };
  Absence absence(Instant position, Instant now, Duration sweep) const;

 private:
  std::int64_t every_ = 1;
  std::int64_t from_ = 0;
  std::int64_t until_ = 0;
  std::int64_t jitter_ = 0;
  std::int64_t window_ = 0;
  std::int64_t limit_ = 0;
  bool begins_ = false;
};

}  // namespace vortex::sim
