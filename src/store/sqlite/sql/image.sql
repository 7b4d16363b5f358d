-- Everything a controller starts its term with.

-- name: live_runs
SELECT @columns:runs r@, r.digest FROM runs r WHERE r.state = 'Running' ORDER BY r.run_id;

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
SELECT @columns:runs r@, r.digest FROM runs r WHERE r.run_id = ?1;

-- name: tasks_of_run
SELECT @columns:task_instances t@ FROM task_instances t WHERE t.task_key >= ?1 AND t.task_key < ?2
ORDER BY t.task_key;

-- Of tasks that may still run: a failed one can be revived.
-- name: checkpoints_of_run
SELECT @columns:task_data d@, t.level
FROM task_data d JOIN task_instances t ON t.task_key = d.task_key
WHERE d.task_key >= ?1 AND d.task_key < ?2 AND d.checkpoint IS NOT NULL
  AND t.state <> 'Completed'
ORDER BY d.task_key;

-- name: signals_of_run
SELECT @columns:run_signals s@ FROM run_signals s WHERE s.run_id = ?1
  AND NOT EXISTS (SELECT 1 FROM doomed x WHERE x.run_id = s.run_id)
ORDER BY s.number;

-- What conditions read.
-- name: outputs_of_tasks
SELECT @columns:task_data d@, t.level
FROM task_data d JOIN task_instances t ON t.task_key = d.task_key
WHERE d.task_key >= ?1 AND d.task_key < ?2 AND d.outputs IS NOT NULL AND t.state = 'Completed'
ORDER BY d.task_key;

-- name: all_runs
SELECT @columns:runs r@, r.digest FROM runs r;

-- name: all_tasks
SELECT @columns:task_instances t@ FROM task_instances t;

-- name: all_specs
SELECT digest, spec FROM dag_specs;

-- name: all_journals
SELECT @columns:supervisor_journals j@ FROM supervisor_journals j ORDER BY j.supervisor;

-- name: all_limits
SELECT @columns:limits l@ FROM limits l ORDER BY l.name;

-- name: all_schedules
SELECT @columns:schedules c@, c.digest FROM schedules c ORDER BY c.dag;

-- name: spec_of_digest
SELECT spec FROM dag_specs WHERE digest = ?1;

-- name: all_digests
SELECT digest FROM dag_specs;

-- name: all_keys
SELECT idempotency_key, run_id, request_digest FROM runs WHERE idempotency_key IS NOT NULL
ORDER BY run_id;

-- name: open_dead_letters
SELECT @columns:dead_letters d@, t.level
FROM dead_letters d LEFT JOIN task_instances t ON t.task_key = d.task_key
WHERE d.state = 0 AND NOT EXISTS (SELECT 1 FROM doomed x WHERE x.run_id = d.task_key >> 24)
ORDER BY d.task_key, d.epoch;
