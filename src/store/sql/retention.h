#pragma once
// Forgetting finished runs: which may go, taking them out of sight at once, and removing what is
// left of them in small transactions. A run that is live again is never touched. Writer's thread.

#include <cstdint>
#include <vector>

#include "model/commit.h"
#include "store/keys.h"
#include "store/sql/known.h"
#include "store/sql/run_rows.h"
#include "store/sql/statement.h"
#include "store/store.h"

namespace vortex::store::sql {

class RetentionRows {
 public:
  RetentionRows(Session& db, Known& known, RunRows& runs);

  void forget(Transaction& tx, const std::vector<RunId>& expired);

  Result<std::vector<ExpiredRun>> expirable(const Retention& keep, Instant now,
                                            std::uint32_t limit);
  // Inside a transaction: removes up to `rows` rows. True: there is more.
  bool sweep(Transaction& tx, const Retention& keep, Instant now, std::uint32_t rows);

 private:
  void forget_run(Transaction& tx, RunId run);
  std::uint32_t sweep_run(Transaction& tx, std::uint64_t run, std::uint32_t budget);
  std::uint32_t sweep_events(Transaction& tx, Instant before, std::uint32_t budget);
  std::uint32_t sweep_recoveries(Transaction& tx, Instant before, std::uint32_t budget);
  std::uint64_t next_doomed(Transaction& tx);

  Known& known_;
  RunRows& runs_;
  Statement& oldest_;
  Statement& forget_;
  Statement& forget_labels_;
  Statement& doom_;
  Statement& spare_;
  Statement& next_doomed_;
  std::vector<Statement*> slices_;  // one table each, tasks last
  Statement& oldest_events_;
  Statement& delete_events_;
  Statement& oldest_recovery_;
  Statement& delete_items_;
  Statement& delete_recovery_;
  Statement& sweep_audit_;
};

}  // namespace vortex::store::sql
