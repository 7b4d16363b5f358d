-- Forgetting: which runs may go, taking them out of sight, and removing their rows in slices.

-- name: count_finished_runs
SELECT count(*) FROM runs WHERE state = 'Completed' OR state = 'Failed' OR state = 'Cancelled';

-- name: highest_run
SELECT max(coalesce((SELECT max(run_id) FROM runs), 0), coalesce((SELECT max(run_id) FROM doomed), 0));

-- name: oldest_finished_runs
SELECT run_id, finished_at, idempotency_key FROM runs
WHERE state = 'Completed' OR state = 'Failed' OR state = 'Cancelled'
ORDER BY finished_at, run_id LIMIT ?1;

-- name: forget_run
DELETE FROM runs WHERE run_id = ?1 AND state <> 'Running' RETURNING digest;

-- name: forget_run_labels
DELETE FROM run_labels WHERE run_id = ?1;

-- name: doom_run
INSERT OR IGNORE INTO doomed (run_id) VALUES (?1);

-- name: spare_run
DELETE FROM doomed WHERE run_id = ?1;

-- name: any_doomed
SELECT count(*) FROM doomed;

-- name: next_doomed
SELECT run_id FROM doomed ORDER BY run_id LIMIT 1;

-- name: sweep_log_chunks
DELETE FROM log_chunks WHERE chunk IN
  (SELECT chunk FROM log_chunks WHERE task_key >= ?1 AND task_key < ?2 LIMIT ?3);

-- name: sweep_log_heads
DELETE FROM log_heads WHERE (task_key, epoch) IN
  (SELECT task_key, epoch FROM log_heads WHERE task_key >= ?1 AND task_key < ?2 LIMIT ?3);

-- name: sweep_checkpoint_pieces
DELETE FROM checkpoint_pieces WHERE piece IN
  (SELECT piece FROM checkpoint_pieces WHERE task_key >= ?1 AND task_key < ?2 LIMIT ?3);

-- name: sweep_attempts
DELETE FROM attempts WHERE (task_key, epoch) IN
  (SELECT task_key, epoch FROM attempts WHERE task_key >= ?1 AND task_key < ?2 LIMIT ?3);

-- name: sweep_task_data
DELETE FROM task_data WHERE task_key IN
  (SELECT task_key FROM task_data WHERE task_key >= ?1 AND task_key < ?2 LIMIT ?3);

-- name: sweep_dead_letters
DELETE FROM dead_letters WHERE (task_key, epoch) IN
  (SELECT task_key, epoch FROM dead_letters WHERE task_key >= ?1 AND task_key < ?2 LIMIT ?3);

-- name: sweep_recovery_items
DELETE FROM recovery_items WHERE (recovery_id, task_key) IN
  (SELECT recovery_id, task_key FROM recovery_items WHERE task_key >= ?1 AND task_key < ?2
   LIMIT ?3);

-- name: sweep_signals
DELETE FROM run_signals WHERE (run_id, number) IN
  (SELECT run_id, number FROM run_signals WHERE run_id >= ?1 >> 24 AND run_id < ?2 >> 24
   LIMIT ?3);

-- name: sweep_tasks
DELETE FROM task_instances WHERE task_key IN
  (SELECT task_key FROM task_instances WHERE task_key >= ?1 AND task_key < ?2 LIMIT ?3);

-- name: oldest_recovery
SELECT recovery_id, timestamp FROM recovery_log ORDER BY recovery_id LIMIT 1;

-- Items of earlier recoveries too: one may be written again after its recovery is gone.
-- name: delete_recovery_items
DELETE FROM recovery_items WHERE (recovery_id, task_key) IN
  (SELECT recovery_id, task_key FROM recovery_items WHERE recovery_id <= ?1 LIMIT ?2);

-- name: delete_recovery
DELETE FROM recovery_log WHERE recovery_id = ?1;

-- name: sweep_audit
DELETE FROM audit_log WHERE seq IN
  (SELECT seq FROM (SELECT seq, at_us FROM audit_log ORDER BY seq LIMIT ?2) WHERE at_us < ?1);

-- name: oldest_events
SELECT first_seq, at_us FROM events ORDER BY first_seq LIMIT 1;

-- name: delete_events
DELETE FROM events WHERE first_seq = ?1;
