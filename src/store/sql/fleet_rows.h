#pragma once
// Writes everything of a commit that is neither run, task nor output: workers, machines,
// recoveries, dead letters, leases, queues, tokens, webhooks, secrets, the audit log, counters and
// the block of events. Writer's thread only.

#include "model/commit.h"
#include "store/packed.h"
#include "store/sql/known.h"
#include "store/sql/statement.h"

namespace vortex::store::sql {

class FleetRows {
 public:
  FleetRows(Session& db, Known& known, Packer& packer);

  void write(Transaction& tx, const Commit& commit);

 private:
  void forget(Transaction& tx, const RowBatch& rows);
  void write_worker(Transaction& tx, const WorkerRow& row);
  void write_recoveries(Transaction& tx, const RowBatch& rows);
  void write_dead_letter(Transaction& tx, const DeadLetterRow& row);
  void write_small(Transaction& tx, const Commit& commit);
  void write_webhooks(Transaction& tx, const Commit& commit);
  void write_secrets(Transaction& tx, const Commit& commit);
  void write_events(Transaction& tx, const Commit& commit);

  Known& known_;
  Packer& packer_;
  Statement& update_worker_;
  Statement& upsert_worker_;
  Statement& machine_;
  Statement& recovery_;
  Statement& recovery_item_;
  Statement& dead_letter_;
  Statement& lease_;
  Statement& queue_;
  Statement& limit_;
  Statement& delete_limit_;
  Statement& journal_;
  Statement& delete_journal_;
  Statement& token_;
  Statement& webhook_;
  Statement& delete_webhook_;
  Statement& step_webhook_;
  Statement& seal_webhook_;
  Statement& secret_;
  Statement& secret_version_;
  Statement& delete_secret_version_;
  Statement& rewrap_secret_version_;
  Statement& delete_worker_;
  Statement& delete_machine_;
  Statement& delete_lease_;
  Statement& counters_;
  Statement& audit_;
  Statement& events_;
};

}  // namespace vortex::store::sql
