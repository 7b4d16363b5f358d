#pragma once
// What goes into the leadership of one controller and what comes out of it, as plain data.
//
// The store keeps one row: holder, term, expiry, judged by the database's clock. Every acquisition
// gives a higher term, also one by the holder of the old. Every request to the store has a number;
// its answer carries that number and comes at most once.

#include <cstdint>
#include <variant>
#include <vector>

#include "base/strong.h"
#include "base/time.h"
#include "model/ids.h"

namespace vortex::core::lead {

using StoreCall = StrongNumber<struct StoreCallTag>;

// The clock of one term: the database's time when the term began, carried on by our boot clock.
// It starts when the answer is in hand, so it never runs ahead of the database; therefore the next
// term starts later than everything this one could write.
struct TermClock {
  Instant database_at_start;
  Instant boot_at_start;
  Instant now(Instant boot) const { return database_at_start + (boot - boot_at_start); }
  friend bool operator==(const TermClock&, const TermClock&) = default;
};

// ---- Inputs ----

struct Won {
  Term term;
  Instant database_now;
};
struct HeldByOther {
  ControllerId holder;
  Duration remaining;  // of its lease, by the database's clock
};
struct Unavailable {};  // definitely nothing happened
struct Unknown {};      // no answer: it may have happened
struct AcquireAnswer {
  StoreCall call;
  std::variant<Won, HeldByOther, Unavailable, Unknown> result;
};

struct Renewed {};
struct Lost {};  // the row has another term
struct RenewAnswer {
  StoreCall call;
  std::variant<Renewed, Lost, Unavailable, Unknown> result;
};

struct ReloadDone {
  Term term;
};
struct ReloadFailed {
  Term term;
};
struct FenceLost {  // a write found another term in the row
  Term term;
};
struct CommitUnknown {  // whether a write became durable is not known
  Term term;
};
// The holder released the lease or its database session ended. Only a hint to try now.
struct MayBeFree {};
struct StopRequested {};
struct Tick {};  // at next_wake() or sooner

using Input = std::variant<AcquireAnswer, RenewAnswer, ReloadDone, ReloadFailed, FenceLost,
                           CommitUnknown, MayBeFree, StopRequested, Tick>;

// ---- Outputs ----

struct TryAcquire {
  StoreCall call;
  ControllerId me;
  Duration lease;
};
struct Renew {
  StoreCall call;
  Term term;
  Duration lease;
};
struct Release {  // nobody waits for its answer
  Term term;
};

struct StartLoading {
  Term term;
  TermClock clock;
};
struct StartServing {
  Term term;
};
// Throw memory away and answer nothing more in this term.
struct StepDown {
  enum class Why : std::uint8_t {
    kOwnClock,  // the lease may expire before it is renewed
    kLost,
    kFenceLost,
    kCommitUnknown,
    kReloadFailed,
    kStopped,
  };
  Term term;
  Why why = Why::kOwnClock;
};

using Output = std::variant<TryAcquire, Renew, Release, StartLoading, StartServing, StepDown>;
using Outbox = std::vector<Output>;

}  // namespace vortex::core::lead
