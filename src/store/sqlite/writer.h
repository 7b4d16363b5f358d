#pragma once
// The writer of a SQLite store: leadership, commits, retention. The only thing that writes.
//
// One thread at a time, the committer's. After a commit of unknown outcome it refuses to write
// until leadership is acquired again: that write settles on disk what happened before.

#include <functional>

#include "store/log_span.h"
#include "store/packed.h"
#include "store/plan_shelf.h"
#include "store/sql/fleet_rows.h"
#include "store/sql/image_load.h"
#include "store/sql/known.h"
#include "store/sql/retention.h"
#include "store/sql/run_rows.h"
#include "store/sql/task_rows.h"
#include "store/sqlite/connection.h"
#include "store/sqlite/mark.h"
#include "store/sqlite/statement.h"
#include "store/store.h"

namespace vortex::store::sqlite {

class SqliteWriter final : public Writer {
 public:
  SqliteWriter(Connection& db, CommitMark& mark, PlanShelf& shelf, LogLimits logs,
               std::function<Instant()> wall_clock);

  Result<AcquireAnswer> acquire(const Candidate& who, Duration lease) override;
  Result<void> renew(Term term, Duration lease) override;
  void release(Term term) override;
  Result<void> announce(const Candidate& who) override;

  Result<StoreImage> image() override { return images_.image(); }
  Result<std::optional<RunImage>> run_image(RunId run) override { return images_.run_image(run); }

  Result<void> commit(const Commit& commit) override;

  Result<std::vector<ExpiredRun>> expirable(const Retention& keep, Instant now,
                                            std::uint32_t limit) override;
  Result<bool> sweep(const Retention& keep, Instant now, std::uint32_t rows) override;

  Result<void> check_writable() override;

 private:
  struct Leadership {
    Term term;
    Instant clock;
  };

  Result<Leadership> leadership();
  // Ends a transaction; on failure what was remembered is no longer trusted.
  Result<void> finish(store::sql::Transaction& tx);
  Result<void> refuse_while_in_doubt() const;

  Session db_;
  CommitMark& mark_;
  std::function<Instant()> wall_clock_;
  Packer packer_;
  store::sql::Known known_;
  store::sql::RunRows runs_;
  store::sql::TaskRows tasks_;
  store::sql::FleetRows fleet_;
  store::sql::LogRows logs_;
  store::sql::RetentionRows retention_;
  store::sql::ImageLoad images_;
  store::sql::Statement& read_leadership_;
  store::sql::Statement& take_leadership_;
  store::sql::Statement& leave_leadership_;
  store::sql::Statement& announce_;
  store::sql::Statement& forget_controllers_;
  store::sql::Statement& fence_;
  store::sql::Statement& probe_;
  bool in_doubt_ = false;
};

}  // namespace vortex::store::sqlite
