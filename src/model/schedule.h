#pragma once
// When a DAG runs by itself: the specification, and the moments ("slots") that follow from it.
//
// A slot is an instant that follows from the schedule and the rules of its time zone alone, so it
// is the same after any crash and on any controller. Clock changes: a time that is skipped runs
// once right after the gap, a time that comes twice runs once, and intervals (`every`, and cron
// with * or */N as minute or hour) go on evenly. Pure functions, bounded in time.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "base/zone.h"
#include "model/cron.h"
#include "model/words.h"

namespace vortex {

// What happens when a slot comes while an earlier run of the schedule has not ended.
enum class Overlap : std::uint8_t { kSkip, kQueueOne, kQueueAll, kCancelRunning, kAllow };
template <>
inline constexpr auto kWords<Overlap> = words<Overlap>({
    {Overlap::kSkip, "skip"},
    {Overlap::kQueueOne, "queue_one"},
    {Overlap::kQueueAll, "queue_all"},
    {Overlap::kCancelRunning, "cancel_running"},
    {Overlap::kAllow, "allow"},
});

// A moment as somebody wrote it: on the clock on the wall of the schedule's zone, or anywhere.
struct WrittenTime {
  std::int64_t seconds = 0;  // since 1970 on that clock
  bool local = true;         // false: UTC
  std::string text;          // as it was written
};

// "2026-03-01", "2026-03-01 02:30", "2026-03-01T02:30:00", with Z or +01:00 behind. A date alone is
// its first moment, or with kLast its last second.
enum class DayEnd : std::uint8_t { kFirst, kLast };
std::optional<WrittenTime> parse_written_time(std::string_view text, DayEnd of_date);

// Slots that came while no controller was there to see them.
struct CatchUp {
  Duration window{};        // how far back they are made up for; 0: not at all
  std::uint32_t limit = 1;  // the newest so many
  friend bool operator==(const CatchUp&, const CatchUp&) = default;
};

struct ScheduleSpec {
  std::string cron;  // as it was written; empty: `every`
  CronRule rule;     // what it means
  Duration every{};
  std::string timezone = "UTC";
  Overlap overlap = Overlap::kSkip;
  CatchUp catchup = {};
  Duration jitter{};  // each slot starts up to this much later
  std::optional<WrittenTime> from = {};
  std::optional<WrittenTime> until = {};  // included
  bool pause_on_failure = false;
};

// The first slot after an instant; none: there are no more. `zone` is that of the specification.
std::optional<Instant> next_slot(const ScheduleSpec& spec, const Zone& zone, Instant after);

// Slots after one instant and up to another, which is included.
struct SlotRange {
  Instant after;
  Instant until;
};
// The newest so many of them, oldest first.
std::vector<Instant> newest_slots(const ScheduleSpec& spec, const Zone& zone, SlotRange range,
                                  std::uint32_t most);
// How many there are; of a cron expression, counted up to `most`.
std::uint64_t count_slots(const ScheduleSpec& spec, const Zone& zone, SlotRange range,
                          std::uint64_t most);

// How much later than its slot a run starts: less than the jitter, and always the same.
Duration jitter_of(const ScheduleSpec& spec, std::string_view dag, Instant slot);

// The same slots, whatever is done about them.
bool same_slots(const ScheduleSpec& a, const ScheduleSpec& b);

// "2026-03-27T01:30:00Z"
std::string slot_text(Instant slot);
// The idempotency key of the run for a slot: on disk, append-only.
std::string slot_key(std::string_view dag, Instant slot);

// The instant of a time on the wall: of two the first, of none the end of the gap.
Instant instant_of(const WrittenTime& time, const Zone& zone);

// How far from UTC the clocks of the zone are at that instant, in seconds.
std::int32_t offset_at(const Zone& zone, Instant at);

// "at 02:30 every Monday, Europe/Berlin"
std::string in_words(const ScheduleSpec& spec);

}  // namespace vortex
