#pragma once
// Whether this controller leads: a pure state machine over a lease row in the store.
//
//   Standby --try--> Acquiring --won--> Loading --reloaded--> Leading
//      ^                 | not won         |                     |
//      +-----------------+-----------------+----- step down -----+        any --stop--> Stopped
//
// Guarantees: serves only in a term it won and reloaded for; stops by its own clock, counted from
// when it sent the last successful request, before its lease can end in the database; after any
// doubt (lost fence, unknown commit) drops everything and comes back only with a higher term.
// `now` is the boot clock. Correctness never rests on time: every write checks the term.

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "base/rng.h"
#include "base/strong.h"
#include "base/time.h"
#include "model/ids.h"

namespace vortex::core::lead {

// What goes into the leadership of one controller and what comes out of it, as plain data.
//
// The store keeps one row: holder, term, expiry, judged by the database's clock. Every acquisition
// gives a higher term, also one by the holder of the old. Every request to the store has a number;
// its answer carries that number and comes at most once.

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

namespace vortex::core {

struct LeadershipConfig {
  ControllerId me;
  Duration lease = seconds(10);
  std::uint64_t seed = 1;  // of the jitter
  // What pauses and looks are fractions of, when not of the lease: a lease that nobody else could
  // take may be long, but after doubt its holder should be back soon. Zero: the lease.
  Duration pace = {};
};

class Leadership {
 public:
  // Fractions of the lease, in parts of a thousand.
  static constexpr std::int64_t kServePermille = 700;      // steps down by itself after this
  static constexpr std::int64_t kRenewPermille = 333;      // renews after this
  static constexpr std::int64_t kRenewAgainPermille = 50;  // after a renewal that failed
  static constexpr std::int64_t kLookPermille = 100;       // a standby looks at the row this often
  static constexpr std::int64_t kLookMinPermille = 2;      // but not more often than this
  static constexpr std::int64_t kPausePermille = 20;       // first pause after doubt; doubles
  static constexpr std::int64_t kPauseMaxPermille = 250;

  struct Standby {
    Instant next_try;
  };
  struct Acquiring {
    lead::StoreCall call;
    Instant sent;
  };
  struct Renewal {
    lead::StoreCall call;
    Instant sent;
  };
  struct Hold {
    Term term;
    lead::TermClock clock;
    Instant held_since;  // when the last successful request was sent
    Instant next_renew;
    std::optional<Renewal> renewal;
  };
  struct Loading {
    Hold hold;
  };
  struct Leading {
    Hold hold;
  };
  struct Stopped {
    std::optional<lead::StoreCall> acquiring;  // may still be won: then it is given back
  };
  using State = std::variant<Standby, Acquiring, Loading, Leading, Stopped>;

  Leadership(LeadershipConfig config, Instant now);

  lead::Outbox on(const lead::Input& input, Instant now);
  // The latest time for the next input; sooner does no harm. kNever: none needed.
  Instant next_wake() const;

  const State& state() const { return state_; }
  bool leads() const { return std::holds_alternative<Leading>(state_); }
  // Until when this term may serve without hearing from the store; unset: there is no term.
  std::optional<Instant> serves_until() const;

 private:
  void handle(const lead::AcquireAnswer& answer);
  void handle(const lead::RenewAnswer& answer);
  void handle(const lead::ReloadDone& done);
  void handle(const lead::ReloadFailed& failed);
  void handle(const lead::FenceLost& lost);
  void handle(const lead::CommitUnknown& unknown);
  void handle(const lead::MayBeFree& hint);
  void handle(const lead::StopRequested& stop);
  void handle(const lead::Tick& tick);
  void on_won(const Acquiring& acquiring, const lead::Won& won);
  void on_renewed(Hold& hold, const Renewal& renewal);
  void settle();
  void renew_when_due(Hold& hold);
  void stand_by(Duration wait);
  void step_down(lead::StepDown::Why why);
  bool holds(Term term) const;
  const Hold* hold() const;
  Hold* hold();

  Duration part(std::int64_t permille) const { return config_.lease * permille / 1000; }
  Duration paced(std::int64_t permille) const {
    return (config_.pace > Duration{} ? config_.pace : config_.lease) * permille / 1000;
  }
  Duration jittered(Duration full) { return rng_.between(full / 2, full); }
  Duration pause();
  lead::StoreCall next_call() { return lead::StoreCall{++last_call_}; }

  LeadershipConfig config_;
  Rng rng_;
  State state_;
  Term last_term_;            // the newest we have won
  std::uint32_t pauses_ = 0;  // since we last led undisturbed
  std::uint64_t last_call_ = 0;
  Instant now_;
  lead::Outbox out_;
};

}  // namespace vortex::core
