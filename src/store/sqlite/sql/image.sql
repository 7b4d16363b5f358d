-- Everything a controller starts its term with. Also the columns of rows that others read.

-- part: run_columns
r.run_id, r.state, r.ending, r.paused, r.levels_passed, r.finished_at, r.timeout_at, r.stopped,
r.waiting, r.queued, r.scheduled, r.running, r.completed, r.failed, r.cancelled, r.skipped,
r.created_at, r.digest, r.idempotency_key, r.request_digest, r.labels, r.params

-- part: task_columns
t.task_key, t.state, t.level, t.worker_id, t.epoch, t.attempt_count, t.updated_at, t.incarnation,
t.ready_us, t.started_us, t.percent, t.exit_code, t.stop, t.failure_count, t.crash_count,
t.stall_count, t.release_count, t.unstarted_count, t.recovery, t.previous_worker, t.step,
t.error_message, t.granted_us, t.node, t.created_at

-- name: live_runs
SELECT @run_columns@ FROM runs r WHERE r.state = 'Running' ORDER BY r.run_id;

-- name: live_run_digests
SELECT run_id, digest FROM runs WHERE state = 'Running';

-- Open tasks whose run is not among the live ones.
-- name: open_tasks_elsewhere
SELECT o.run_id, o.tasks FROM (
  SELECT task_key >> 24 AS run_id, count(*) AS tasks FROM task_instances
  WHERE state IN ('Waiting', 'Queued', 'Scheduled', 'Running') GROUP BY task_key >> 24) o
WHERE NOT EXISTS (SELECT 1 FROM runs r WHERE r.run_id = o.run_id AND r.state = 'Running')
  AND NOT EXISTS (SELECT 1 FROM doomed x WHERE x.run_id = o.run_id)
ORDER BY o.run_id;

-- By ranges of the index on state, so that it costs nothing when there are none.
-- name: odd_runs
SELECT run_id, state FROM runs WHERE state < 'Cancelled'
UNION ALL SELECT run_id, state FROM runs WHERE state > 'Cancelled' AND state < 'Completed'
UNION ALL SELECT run_id, state FROM runs WHERE state > 'Completed' AND state < 'Failed'
UNION ALL SELECT run_id, state FROM runs WHERE state > 'Failed' AND state < 'Running'
UNION ALL SELECT run_id, state FROM runs WHERE state > 'Running'
LIMIT 100;

-- name: one_run_row
SELECT @run_columns@ FROM runs r WHERE r.run_id = ?1;

-- name: tasks_of_run
SELECT @task_columns@ FROM task_instances t WHERE t.task_key >= ?1 AND t.task_key < ?2
ORDER BY t.task_key;

-- Of tasks that may still run: a failed one can be revived.
-- name: checkpoints_of_run
SELECT d.task_key, t.level, d.epoch, d.checkpoint, d.upload, d.upload_bytes
FROM task_data d JOIN task_instances t ON t.task_key = d.task_key
WHERE d.task_key >= ?1 AND d.task_key < ?2 AND d.checkpoint IS NOT NULL
  AND t.state <> 'Completed'
ORDER BY d.task_key;

-- name: all_runs
SELECT @run_columns@ FROM runs r;

-- name: all_tasks
SELECT @task_columns@ FROM task_instances t;

-- name: all_specs
SELECT digest, spec FROM dag_specs;

-- name: all_journals
SELECT supervisor, journal, last, at_us FROM supervisor_journals ORDER BY supervisor;

-- name: spec_of_digest
SELECT spec FROM dag_specs WHERE digest = ?1;

-- name: all_digests
SELECT digest FROM dag_specs;

-- name: all_keys
SELECT idempotency_key, run_id, request_digest FROM runs WHERE idempotency_key IS NOT NULL
ORDER BY run_id;

-- name: open_dead_letters
SELECT d.task_key, d.epoch, d.reason, d.state, d.at_us, d.message, t.level
FROM dead_letters d LEFT JOIN task_instances t ON t.task_key = d.task_key
WHERE d.state = 0 AND NOT EXISTS (SELECT 1 FROM doomed x WHERE x.run_id = d.task_key >> 24)
ORDER BY d.task_key, d.epoch;
