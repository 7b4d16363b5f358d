-- Tasks, what they keep, and their attempts. The values of both task statements have one order.

-- The usual case: the row is there and its level did not change. What never changes is left alone.
-- name: update_task
UPDATE task_instances SET state = ?2, worker_id = ?4, epoch = ?5, attempt_count = ?6,
  updated_at = ?7, incarnation = ?8, ready_us = ?9, started_us = ?10, percent = ?11,
  exit_code = ?12, stop = ?13, failure_count = ?14, crash_count = ?15, stall_count = ?16,
  release_count = ?17, unstarted_count = ?18, recovery = ?19, previous_worker = ?20, step = ?21,
  error_message = ?22, granted_us = ?23
WHERE task_key = ?1 AND level IS ?3;

-- name: upsert_task
INSERT INTO task_instances (task_key, state, level, worker_id, epoch, attempt_count, updated_at,
  incarnation, ready_us, started_us, percent, exit_code, stop, failure_count, crash_count,
  stall_count, release_count, unstarted_count, recovery, previous_worker, step, error_message,
  granted_us, id, node, name, created_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20,
  ?21, ?22, ?23, ?24, ?25, ?26, ?27)
ON CONFLICT (task_key) DO UPDATE SET state = ?2, level = ?3, worker_id = ?4, epoch = ?5,
  attempt_count = ?6, updated_at = ?7, incarnation = ?8, ready_us = ?9, started_us = ?10,
  percent = ?11, exit_code = ?12, stop = ?13, failure_count = ?14, crash_count = ?15,
  stall_count = ?16, release_count = ?17, unstarted_count = ?18, recovery = ?19,
  previous_worker = ?20, step = ?21, error_message = ?22, granted_us = ?23,
  id = ?24;

-- name: write_task_data
INSERT INTO task_data (task_key, epoch, checkpoint, outputs, upload, upload_bytes)
VALUES (?1, ?2, ?3, ?4, coalesce(?5, 0), coalesce(?6, 0))
ON CONFLICT (task_key) DO UPDATE SET epoch = ?2,
  checkpoint = coalesce(?3, checkpoint), outputs = coalesce(?4, outputs),
  upload = coalesce(?5, upload), upload_bytes = coalesce(?6, upload_bytes);

-- All pieces but those of one upload.
-- name: drop_checkpoint_pieces
DELETE FROM checkpoint_pieces WHERE task_key = ?1 AND upload <> ?2;

-- All pieces but those of this upload and of the one that counts.
-- name: drop_unfinished_pieces
DELETE FROM checkpoint_pieces WHERE task_key = ?1 AND upload <> ?2
  AND upload <> coalesce((SELECT upload FROM task_data WHERE task_key = ?1), 0);

-- name: insert_checkpoint_piece
INSERT OR IGNORE INTO checkpoint_pieces (task_key, upload, offset, size, data)
VALUES (?1, ?2, ?3, ?4, ?5);

-- name: insert_attempt
INSERT INTO attempts (task_key, epoch, number, worker_number, incarnation, granted_us, started_us,
  ended_us, verdict, code, message)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
ON CONFLICT (task_key, epoch) DO NOTHING;

-- name: find_attempt
SELECT worker_number, verdict FROM attempts WHERE task_key = ?1 AND epoch = ?2;

-- name: delete_attempt
DELETE FROM attempts WHERE task_key = ?1 AND epoch = ?2;

-- name: find_worker_number
SELECT number FROM worker_numbers WHERE worker_id = ?1;

-- name: insert_worker_number
INSERT INTO worker_numbers (worker_id, completed, ended) VALUES (?1, 0, 0) RETURNING number;

-- name: count_worker_ends
UPDATE worker_numbers SET completed = completed + ?2, ended = ended + ?3 WHERE number = ?1;
