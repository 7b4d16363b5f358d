#pragma once
// What the worker holds: every attempt from its assignment until the controller knows its end.
//
//   Unstarted --start_next--> Starting --started--> Running --end--> Ended --forget--> (gone)
//       |                        |                     |               ^
//       |                        +--------kill---------+--> Killing ---+ end
//       +-- kill: Ended at once                    (killed without a word: gone at once)
//
// It is also the memory against starting an epoch twice (the rule is at `take`). Of one task at
// most one attempt has processes: a newer one stays Unstarted until the older one's are gone.

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include "agent/messages.h"
#include "base/time.h"
#include "model/sync.h"

namespace vortex::agent {

struct Unstarted {
  Assignment assignment;
  std::uint64_t arrival = 0;
  Instant since;
};
struct Starting {
  Duration execution_timeout;
  Instant began;
};
struct Running {
  Instant deadline;  // kNever: no execution timeout
  Instant began;
};
struct Killing {
  KillWhy why = KillWhy::kStopped;
};
struct Ended {};  // its processes are gone, its last report is not yet acknowledged
using HeldState = std::variant<Unstarted, Starting, Running, Killing, Ended>;

class HeldTable {
 public:
  enum class Taken : std::uint8_t { kNew, kRepeated, kOutdated };
  // Takes an assignment unless this or a later epoch of the task is known here.
  //
  // An attempt is known while it is held, and it may be forgotten as soon as a reply acknowledged
  // its end, because the caller brings only assignments of replies that are newer than every reply
  // acted on so far. Replies are numbered in the order in which they were made. One that is newer
  // than the acknowledgement was made after the controller knew the end, so it cannot offer the
  // attempt again; one that is older, arriving late, is not newer than what was acted on.
  Taken take(Assignment assignment, Instant now);

  // Older epochs of this task that are still here.
  std::vector<Attempt> older_than(Attempt attempt) const;

  // The next assignment that may start now, in the order in which they came; it is Starting from
  // here on.
  std::optional<Assignment> start_next(Instant now);

  // True: it is news that it runs.
  bool started(Attempt attempt, Instant now);
  void progressed(Attempt attempt, Progress progress);
  void wrote(Attempt attempt, std::uint64_t bytes);
  // Still worth a report: it has or will have processes and was not killed without a word.
  bool is_live(Attempt attempt) const;

  enum class Kill : std::uint8_t {
    kNothing,   // unknown, or nothing changes: it has ended or is being killed already
    kSignal,    // has processes: they must be killed
    kNeverRan,  // was not started: ended here and now
    kSilenced,  // being killed already or ended: only that nothing is said about it is new
  };
  Kill kill(Attempt attempt, KillWhy why);

  struct End {
    std::optional<KillWhy> why;  // unset: nobody had asked for it
    Instant began;               // when its start was ordered; only where `why` is unset
  };
  // All its processes are gone. Unset: nothing is to be said about it.
  std::optional<End> end(Attempt attempt);
  // Its end is acknowledged.
  void forget(Attempt attempt);

  std::vector<Attempt> attempts() const;
  std::vector<Attempt> unstarted() const;  // in the order in which they came
  Instant oldest_unstarted() const;        // since when; kNever: none is
  std::vector<HeldTask> list() const;      // those killed without a word are not held any more

  std::vector<Attempt> overdue(Instant now) const;
  Instant next_deadline() const;

  bool empty() const { return entries_.empty(); }
  bool any_unstarted() const { return !unstarted_.empty(); }
  // Unstarted, starting or running: what a self-fence would have to end.
  bool any_live() const { return count<Unstarted>() + count<Starting>() + count<Running>() > 0; }
  std::size_t with_processes() const {
    return count<Starting>() + count<Running>() + count<Killing>();
  }
  std::size_t killed_silently() const { return silent_; }
  const HeldState* state_of(Attempt attempt) const;

 private:
  struct Entry {
    HeldState state;
    std::optional<Progress> progress;
    std::optional<std::uint64_t> output_bytes = {};
  };
  using Entries = std::map<Attempt, Entry>;

  template <class State>
  std::size_t count() const {
    return counts_[HeldState(State{}).index()];
  }
  void count_in(Attempt attempt, const HeldState& state);
  void count_out(Attempt attempt, const HeldState& state);
  void change(Entries::iterator it, HeldState state);
  void erase(Entries::iterator it);
  bool is_blocked(Attempt attempt) const;

  Entries entries_;
  std::map<std::uint64_t, Attempt> unstarted_;  // by arrival
  std::uint64_t arrivals_ = 0;
  std::set<std::pair<Instant, Attempt>> deadlines_;
  std::size_t counts_[std::variant_size_v<HeldState>] = {};
  std::size_t silent_ = 0;
};

// How much work to hold beyond the slots, judged by how fast tasks end here.
//
// Without it a slot stands empty from the end of one task until the controller has made that end
// durable and sent the next. For tasks of minutes that is nothing; for tasks of a millisecond it is
// most of the time. Work held ahead is work that no other worker can have, so there is none until
// tasks have proved to be short, and what has waited too long goes back. Pure.

// Work for about this long is held ahead: a few round trips with a commit in each.
constexpr Duration kAheadFor = millis(25);
// What was held ahead and has not started after this long is given back.
constexpr Duration kAheadPatience = millis(150);
// While there is work ahead, nobody waits for single ends: those of this long are told in one call,
// and become durable in one commit.
constexpr Duration kReportsTogether = millis(16);

class Pace {
 public:
  Pace(std::uint32_t slots, Duration assumed) : slots_(slots), mean_(assumed) {}

  // A task ended by itself after this long.
  void ended(Duration ran);
  // What was held ahead had to be given back: trust has to be earned again.
  void too_slow() { mean_ = kUnproved; }
  // How many tasks beyond the slots.
  std::uint32_t ahead() const;

 private:
  static constexpr Duration kUnproved = seconds(1);

  std::uint32_t slots_;
  Duration mean_;  // of the newest ones, the latest weighing most
};

}  // namespace vortex::agent
