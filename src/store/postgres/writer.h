#pragma once
// The writer of a PostgreSQL store: leadership, commits, retention. One connection, that of the
// leader's session.
//
// One thread at a time, the committer's. Every write is fenced by the term and by a random number
// of that term, so that a term that a lost server gave never passes for another. After a commit of
// unknown outcome it refuses to write until leadership is acquired again.

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "store/log_span.h"
#include "store/packed.h"
#include "store/plan_shelf.h"
#include "store/postgres/session.h"
#include "store/postgres/task_sets.h"
#include "store/sql/fleet_rows.h"
#include "store/sql/image_load.h"
#include "store/sql/known.h"
#include "store/sql/retention.h"
#include "store/sql/run_rows.h"
#include "store/store.h"

namespace vortex::store::postgres {

class PostgresWriter final : public Writer {
 public:
  PostgresWriter(ConnectionSetup setup, PlanShelf& shelf, LogLimits logs,
                 std::function<Instant()> wall_clock);

  Result<AcquireAnswer> acquire(const Candidate& who, Duration lease) override;
  Result<void> renew(Term term, Duration lease) override;
  void release(Term term) override;
  Result<void> announce(const Candidate& who) override;

  Result<StoreImage> image() override;
  Result<std::optional<RunImage>> run_image(RunId run) override;

  Result<void> commit(const Commit& commit) override;

  Result<std::vector<ExpiredRun>> expirable(const Retention& keep, Instant now,
                                            std::uint32_t limit) override;
  Result<bool> sweep(const Retention& keep, Instant now, std::uint32_t rows) override;

  Result<void> check_writable() override;

 private:
  // The row that says who leads, locked by the transaction that read it.
  struct Row {
    Term term;
    ControllerId holder;
    Instant lease_end;
    std::int64_t backend = 0;
    Instant clock;
    Instant now;
  };

  Result<Row> lock_row();
  Result<bool> is_free(const Row& row, const ControllerId& who);
  Result<std::uint64_t> timeline();
  Result<Instant> clock();
  Result<Won> take(store::sql::Transaction& tx, const Row& row, const Candidate& who,
                   Duration lease);
  Result<AcquireAnswer> take_if_free(store::sql::Transaction& tx, const Row& row,
                                     const Candidate& who, Duration lease);
  void end_expired_session();
  bool try_lock();
  // Ends sessions of earlier leaders and takes the lock that they held.
  void take_over_lock();
  bool has_lock() const { return locked_in_ == db_.connection_number() && db_.is_connected(); }
  void fence(store::sql::Transaction& tx, Instant clock);
  // All of them at once: one wait instead of one for each.
  store::sql::LogHeads heads_of(store::sql::Transaction& tx, const std::vector<LogChunk>& chunks);
  Result<void> finish(store::sql::Transaction& tx);
  Result<void> refuse_while_in_doubt() const;
  Result<void> refuse_other(Term term) const;

  Duration row_patience_;  // how long a candidate waits for the row of the leader
  Session db_;
  std::function<Instant()> wall_clock_;
  Packer packer_;
  store::sql::Known known_;
  store::sql::RunRows runs_;
  TaskSets tasks_;
  store::sql::FleetRows fleet_;
  store::sql::LogRows logs_;
  store::sql::RetentionRows retention_;
  store::sql::ImageLoad images_;
  RowSet find_log_heads_;
  Statement& wait_for_row_;
  Statement& end_expired_session_;
  Statement& lock_leadership_;
  Statement& timeline_;
  Statement& leader_session_lives_;
  Statement& try_leader_lock_;
  Statement& leave_leader_lock_;
  Statement& end_old_sessions_;
  Statement& take_leadership_;
  Statement& database_clock_;
  Statement& announce_;
  Statement& forget_controllers_;
  Statement& note_leader_lock_;
  Statement& renew_leadership_;
  Statement& leave_leadership_;
  Statement& fence_;
  Statement& probe_;
  Term term_;                    // the newest that was won here
  std::int64_t nonce_ = 0;       // of that term
  std::uint64_t locked_in_ = 0;  // the connection that holds the lock of leaders; 0: none
  bool in_doubt_ = false;
};

}  // namespace vortex::store::postgres
