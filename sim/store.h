#pragma once
// The simulated database: real transactions, fenced by the leader's term, and all the ways in which
// a database can let its users down.
//
// A commit is applied whole at one instant or not at all, whatever its writer is told. The writer
// may be told nothing: then the outcome is unknown to it, and only the world knows. Reads see
// exactly what is committed. The leadership lease is judged by the database's own clock.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/rng.h"
#include "base/time.h"
#include "engine/batch.h"
#include "model/ids.h"
#include "sim/agenda.h"
#include "sim/network.h"
#include "sim/recorder.h"
#include "sim/setup.h"
#include "sim/tables.h"

namespace vortex::sim {

enum class CommitOutcome : std::uint8_t {
  kCommitted,
  kRefused,  // definitely nothing happened
  kFull,     // definitely nothing happened, and there is no space
  kFenced,   // definitely nothing happened, and somebody else leads
  kUnknown,
};

// The row that says who leads. A holder whose lease has ended may be replaced.
struct LeaderRow {
  ControllerId holder;  // empty: nobody
  Term term;
  Instant expires_at;  // database time
};

class SimStore {
 public:
  SimStore(Agenda& agenda, Network& network, Recorder& recorder, const Setup& setup, Rng rng);

  using CommitDone = std::function<void(CommitOutcome)>;
  void commit(HostId from, std::shared_ptr<const engine::Batch> batch, const CommitDone& done);

  // `serve` runs at the store at one instant: what it changes stays changed though its answer may
  // be lost. Instead of the answer comes `refused` (nothing happened) or `in_doubt`, at the time
  // limit at the latest, or long after it for what may take its time.
  enum class Patience : std::uint8_t { kLimited, kLong };
  using Answer = std::function<void()>;
  using Serve = std::function<Answer(SimStore&)>;
  struct Question {
    HostId from;
    Serve serve;
    Answer refused;
    Answer in_doubt;
    Patience patience = Patience::kLimited;
  };
  void ask(Question question);

  const Tables& tables() const { return tables_; }
  // Rows of forgotten runs go, some at a time. True: there are more.
  bool sweep(std::uint32_t rows) { return tables_.sweep(rows); }
  // The row of the lease to lead. A full disk takes no new row.
  struct Tenure {
    Term term;
    Instant database_now;  // never goes back, whatever the clock does
  };
  std::optional<Tenure> acquire(const ControllerId& who, Duration lease);  // unset: held by another
  bool renew(Term term, Duration lease);  // false: the row has another term
  void free_lease(Term term);             // its holder released it, or its session ended
  const LeaderRow& leader() const { return leader_; }
  std::function<void()> on_free;  // tells those who wait for the lease
  // What its clock shows; leases to lead are judged by it.
  Instant database_now() const { return clock_.wall(agenda_.now()); }
  bool is_full() const { return fulls_ > 0; }
  bool is_writable() const { return outages_ == 0 && stalls_ == 0 && fulls_ == 0; }

  // Faults; they overlap, so each is counted.
  enum class Outage : std::uint8_t { kRefuses, kSilent };
  void outage(bool on, Outage how);
  void stall(bool on);
  void full(bool on);
  void cut_sessions() { ++session_; }
  void jump_clock(Duration by) { clock_.jump_wall(by); }
  void heal();

 private:
  struct Exchange {
    Question question;
    bool settled = false;
  };
  using ExchangePtr = std::shared_ptr<Exchange>;

  void arrive(const ExchangePtr& exchange);
  void perform(const ExchangePtr& exchange, std::uint64_t session);
  void answer(const ExchangePtr& exchange, Answer with);
  CommitOutcome apply(const engine::Batch& batch);

  Agenda& agenda_;
  Network& network_;
  Recorder& recorder_;
  const Setup& setup_;
  StoreStrength strength_;
  Rng rng_;
  Tables tables_;
  LeaderRow leader_;
  HostClock clock_;
  Instant newest_;  // later than all that was ever committed or given to a term
  std::uint32_t outages_ = 0;
  Outage outage_how_ = Outage::kRefuses;
  std::uint32_t stalls_ = 0;
  std::uint32_t fulls_ = 0;
  std::uint64_t session_ = 0;
  std::vector<ExchangePtr> stalled_;
};

}  // namespace vortex::sim
