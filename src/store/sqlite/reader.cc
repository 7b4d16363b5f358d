#include "store/sqlite/reader.h"

#include "store/sqlite/sql.gen.h"

namespace vortex::store::sqlite {

ReaderStatements::ReaderStatements(Connection& db)
    : begin(db, sql::kBeginRead),
      commit(db, sql::kCommit),
      runs_by_id(db, sql::kRunsById),
      runs_by_state(db, sql::kRunsByState),
      runs_by_dag(db, sql::kRunsByDag),
      runs_by_label(db, sql::kRunsByLabel),
      one_run(db, sql::kOneRunView),
      run_marks(db, sql::kRunMarks),
      running_runs(db, sql::kRunningRuns),
      digest_of_run(db, sql::kDigestOfRun),
      spec(db, sql::kSpecOfDigest),
      tasks_by_key(db, sql::kTasksByKey),
      task_marks(db, sql::kTaskMarks),
      tasks_of_worker(db, sql::kTasksOfWorker),
      one_task(db, sql::kOneTask),
      one_task_data(db, sql::kOneTaskData),
      stored_checkpoint_bytes(db, sql::kStoredCheckpointBytes),
      one_checkpoint_piece(db, sql::kOneCheckpointPiece),
      attempts_of_task(db, sql::kAttemptsOfTask),
      is_doomed(db, sql::kIsDoomed),
      log_head(db, sql::kFindLogHead),
      log_chunks(db, sql::kReadLogChunks),
      worker_page(db, sql::kWorkerPage),
      one_worker(db, sql::kOneWorker),
      all_machines(db, sql::kAllMachines),
      all_queues(db, sql::kAllQueues),
      recoveries_by_id(db, sql::kRecoveriesById),
      recoveries_of_worker(db, sql::kRecoveriesOfWorker),
      recoveries_of_task(db, sql::kRecoveriesOfTask),
      one_recovery(db, sql::kOneRecovery),
      recovery_item_page(db, sql::kRecoveryItemPage),
      dead_letters_by_time(db, sql::kDeadLettersByTime),
      dead_letters_by_state(db, sql::kDeadLettersByState),
      dead_letters_of_run(db, sql::kDeadLettersOfRun),
      lease_page(db, sql::kLeasePage),
      lease_page_of_topic(db, sql::kLeasePageOfTopic),
      one_lease(db, sql::kOneLease),
      dag_page(db, sql::kDagPage),
      one_dag(db, sql::kOneDag),
      events_from(db, sql::kEventsFrom),
      all_tokens(db, sql::kAllTokens),
      all_webhooks(db, sql::kAllWebhooks),
      counters(db, sql::kReadCounters),
      requeued_since(db, sql::kRequeuedSince),
      count_open_dead_letters(db, sql::kCountOpenDeadLetters) {}

}  // namespace vortex::store::sqlite
