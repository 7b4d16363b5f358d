#pragma once
// The statements of one reader, each prepared at its first use and kept. Names are those of the
// .sql files they come from: read_runs.sql, read_tasks.sql, read_fleet.sql, logs.sql.

#include "store/sqlite/connection.h"
#include "store/sqlite/statement.h"

namespace vortex::store::sqlite {

struct ReaderStatements {
  explicit ReaderStatements(Connection& db);

  Statement begin;
  Statement commit;
  Statement runs_by_id;
  Statement runs_by_state;
  Statement runs_by_dag;
  Statement runs_by_label;
  Statement one_run;
  Statement run_marks;
  Statement running_runs;
  Statement digest_of_run;
  Statement spec;
  Statement tasks_by_key;
  Statement task_marks;
  Statement tasks_of_worker;
  Statement one_task;
  Statement one_task_data;
  Statement stored_checkpoint_bytes;
  Statement one_checkpoint_piece;
  Statement attempts_of_task;
  Statement is_doomed;
  Statement log_head;
  Statement log_chunks;
  Statement worker_page;
  Statement one_worker;
  Statement all_machines;
  Statement all_queues;
  Statement recoveries_by_id;
  Statement recoveries_of_worker;
  Statement recoveries_of_task;
  Statement one_recovery;
  Statement recovery_item_page;
  Statement dead_letters_by_time;
  Statement dead_letters_by_state;
  Statement dead_letters_of_run;
  Statement lease_page;
  Statement lease_page_of_topic;
  Statement one_lease;
  Statement dag_page;
  Statement one_dag;
  Statement events_from;
  Statement all_tokens;
  Statement all_webhooks;
  Statement counters;
  Statement requeued_since;
  Statement count_open_dead_letters;
};

}  // namespace vortex::store::sqlite
