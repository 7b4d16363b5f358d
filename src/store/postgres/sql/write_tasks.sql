-- Tasks, what they keep, and their attempts.

-- The usual case: the row is there and its level did not change. What never changes is left alone.
-- name: update_task
@update:task_instances@;

-- name: upsert_task
@upsert:task_instances@;

-- name: update_tasks
@update_set:task_instances@;

-- name: upsert_tasks
@upsert_set:task_instances@;

-- name: write_task_data_set
@upsert_set:task_data@;

-- name: insert_attempts
@insert_set:attempts@ RETURNING task_key, epoch;

-- Which of these are there with their level.
-- name: present_tasks
SELECT t.task_key FROM unnest($1::bigint[], $2::bigint[]) AS n(task_key, level)
JOIN task_instances t ON t.task_key = n.task_key AND t.level IS NOT DISTINCT FROM n.level;

-- name: write_task_data
@upsert:task_data@;

-- All pieces but those of one upload.
-- name: drop_checkpoint_pieces
DELETE FROM checkpoint_pieces WHERE task_key = $1 AND upload <> $2;

-- All pieces but those of this upload and of the one that counts.
-- name: drop_unfinished_pieces
DELETE FROM checkpoint_pieces WHERE task_key = $1 AND upload <> $2
  AND upload <> coalesce((SELECT upload FROM task_data WHERE task_key = $1), 0);

-- name: insert_checkpoint_piece
INSERT INTO checkpoint_pieces (task_key, upload, "offset", size, data)
VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING;

-- name: insert_attempt
@insert:attempts@;

-- name: find_attempt
SELECT worker_number, verdict FROM attempts WHERE task_key = $1 AND epoch = $2;

-- name: delete_attempt
DELETE FROM attempts WHERE task_key = $1 AND epoch = $2;

-- name: find_worker_number
SELECT number FROM worker_numbers WHERE worker_id = $1;

-- name: insert_worker_number
INSERT INTO worker_numbers (worker_id, completed, ended) VALUES ($1, 0, 0) RETURNING number;

-- name: count_worker_ends
UPDATE worker_numbers SET completed = completed + $2, ended = ended + $3 WHERE number = $1;
