-- Tasks, attempts, recoveries and dead letters for the readers. {state} is replaced by the text of
-- a state, and {count} by the column of runs that counts them.

-- part: task_view
@columns:task_instances t@, t.name

-- part: task_kept
NOT EXISTS (SELECT 1 FROM doomed x WHERE x.run_id = t.task_key >> 24)

-- Values: first key, end of keys, limit.
-- name: tasks_by_key
SELECT @task_view@ FROM task_instances t
WHERE t.task_key >= $1 AND t.task_key < $2 AND @task_kept@
ORDER BY t.task_key LIMIT $3;

-- The first columns of the row: no more of it is touched. Values: first key, end of keys.
-- name: task_marks
SELECT t.task_key, t.state, t.epoch, t.worker_id FROM task_instances t
WHERE t.task_key >= $1 AND t.task_key < $2 ORDER BY t.task_key;

-- Tasks have no index on what changes (docs/adr/017): the runs that have some in this state, as their
-- counts say, and the tasks of each by their keys.
-- name: tasks_ended
SELECT @task_view@ FROM runs r CROSS JOIN LATERAL (
  SELECT * FROM task_instances i
  WHERE i.task_key >= greatest($1, r.run_id << 24) AND i.task_key < least($2, (r.run_id + 1) << 24)
    AND i.state = '{state}'
  ORDER BY i.task_key LIMIT $3) t
WHERE r.{count} > 0 AND r.run_id >= $1 >> 24 AND r.run_id <= ($2 - 1) >> 24 AND @task_kept@
ORDER BY r.run_id, t.task_key LIMIT $3;

-- The same for states that only tasks of live runs have.
-- name: tasks_waiting
SELECT @task_view@ FROM runs r CROSS JOIN LATERAL (
  SELECT * FROM task_instances i
  WHERE i.task_key >= greatest($1, r.run_id << 24) AND i.task_key < least($2, (r.run_id + 1) << 24)
    AND i.state = '{state}'
  ORDER BY i.task_key LIMIT $3) t
WHERE r.state = 'Running' AND r.{count} > 0
  AND r.run_id >= $1 >> 24 AND r.run_id <= ($2 - 1) >> 24
ORDER BY r.run_id, t.task_key LIMIT $3;

-- name: tasks_held
SELECT @task_view@ FROM runs r CROSS JOIN LATERAL (
  SELECT * FROM task_instances i
  WHERE i.task_key >= greatest($1, r.run_id << 24) AND i.task_key < least($2, (r.run_id + 1) << 24)
    AND i.state = '{state}'
  ORDER BY i.task_key LIMIT $3) t
WHERE r.state = 'Running' AND r.{count} > 0
  AND r.run_id >= $1 >> 24 AND r.run_id <= ($2 - 1) >> 24
ORDER BY r.run_id, t.task_key LIMIT $3;

-- name: tasks_of_worker
SELECT @task_view@ FROM runs r CROSS JOIN LATERAL (
  SELECT * FROM task_instances i
  WHERE i.task_key >= greatest($1, r.run_id << 24) AND i.task_key < least($2, (r.run_id + 1) << 24)
    AND i.worker_id = $4 AND (i.state = 'Scheduled' OR i.state = 'Running')
    AND ($5::text IS NULL OR i.state = $5)
  ORDER BY i.task_key LIMIT $3) t
WHERE r.state = 'Running' AND r.scheduled + r.running > 0
  AND r.run_id >= $1 >> 24 AND r.run_id <= ($2 - 1) >> 24
ORDER BY r.run_id, t.task_key LIMIT $3;

-- name: one_task
SELECT @task_view@ FROM task_instances t WHERE t.task_key = $1 AND @task_kept@;

-- name: one_task_data
SELECT @columns:task_data d@, t.level
FROM task_data d LEFT JOIN task_instances t ON t.task_key = d.task_key
WHERE d.task_key = $1
  AND NOT EXISTS (SELECT 1 FROM doomed x WHERE x.run_id = d.task_key >> 24);

-- name: stored_checkpoint_bytes
SELECT coalesce(max("offset" + size), 0) FROM checkpoint_pieces WHERE task_key = $1 AND upload = $2;

-- name: one_checkpoint_piece
SELECT size, data FROM checkpoint_pieces WHERE task_key = $1 AND upload = $2 AND "offset" = $3;

-- name: attempts_of_task
SELECT @columns:attempts a@, t.level
FROM attempts a JOIN worker_numbers n ON n.number = a.worker_number
LEFT JOIN task_instances t ON t.task_key = a.task_key
WHERE a.task_key = $1
  AND NOT EXISTS (SELECT 1 FROM doomed x WHERE x.run_id = a.task_key >> 24)
ORDER BY a.epoch LIMIT $2;

-- name: is_doomed
SELECT 1 FROM doomed WHERE run_id = $1;

-- name: recoveries_by_id
SELECT @columns:recovery_log l@ FROM recovery_log l
WHERE l.recovery_id < $1 ORDER BY l.recovery_id DESC LIMIT $2;

-- name: recoveries_of_worker
SELECT @columns:recovery_log l@ FROM recovery_log l
WHERE l.worker_id = $3 AND l.recovery_id < $1 ORDER BY l.recovery_id DESC LIMIT $2;

-- name: recoveries_of_task
SELECT @columns:recovery_log l@
FROM recovery_items i JOIN recovery_log l ON l.recovery_id = i.recovery_id
WHERE i.task_key = $3 AND i.recovery_id < $1 AND ($4::text IS NULL OR l.worker_id = $4)
  AND NOT EXISTS (SELECT 1 FROM doomed x WHERE x.run_id = $3::bigint >> 24)
ORDER BY i.recovery_id DESC LIMIT $2;

-- name: one_recovery
SELECT @columns:recovery_log l@ FROM recovery_log l WHERE l.recovery_id = $1;

-- name: recovery_item_page
SELECT @columns:recovery_items i@, t.level
FROM recovery_items i LEFT JOIN task_instances t ON t.task_key = i.task_key
WHERE i.recovery_id = $1 AND i.task_key > $2
  AND NOT EXISTS (SELECT 1 FROM doomed x WHERE x.run_id = i.task_key >> 24)
ORDER BY i.task_key LIMIT $3;

-- part: dead_letter_view
@columns:dead_letters d@, t.level, t.name, r.dag

-- part: dead_letter_tables
dead_letters d LEFT JOIN task_instances t ON t.task_key = d.task_key
LEFT JOIN runs r ON r.run_id = d.task_key >> 24

-- Values: cursor (time, task, epoch), limit; newest first. Then the state, or the keys of a run.
-- name: dead_letters_by_time
SELECT @dead_letter_view@ FROM @dead_letter_tables@
WHERE (d.at_us, d.task_key, d.epoch) < ($1, $2, $3)
  AND NOT EXISTS (SELECT 1 FROM doomed x WHERE x.run_id = d.task_key >> 24)
ORDER BY d.at_us DESC, d.task_key DESC, d.epoch DESC LIMIT $4;

-- name: dead_letters_by_state
SELECT @dead_letter_view@ FROM @dead_letter_tables@
WHERE d.state = $5 AND (d.at_us, d.task_key, d.epoch) < ($1, $2, $3)
  AND NOT EXISTS (SELECT 1 FROM doomed x WHERE x.run_id = d.task_key >> 24)
ORDER BY d.at_us DESC, d.task_key DESC, d.epoch DESC LIMIT $4;

-- name: dead_letters_of_run
SELECT @dead_letter_view@ FROM @dead_letter_tables@
WHERE d.task_key >= $6 AND d.task_key < $7 AND ($5::bigint IS NULL OR d.state = $5)
  AND (d.at_us, d.task_key, d.epoch) < ($1, $2, $3)
  AND NOT EXISTS (SELECT 1 FROM doomed x WHERE x.run_id = d.task_key >> 24)
ORDER BY d.at_us DESC, d.task_key DESC, d.epoch DESC LIMIT $4;
