-- What a copy to or from another database asks, beside its tables.

-- name: columns_of_table
SELECT column_name::text, upper(data_type)::text FROM information_schema.columns
WHERE table_schema = current_schema() AND table_name = $1::text ORDER BY ordinal_position;

-- Changes whenever a controller has done something.
-- name: copy_state
SELECT next_run || ' ' || next_recovery || ' ' || next_event || ' '
  || coalesce((SELECT max(seq) FROM audit_log), 0) FROM counters;

-- name: copy_is_empty
SELECT CASE WHEN next_run = 1 AND next_event = 1 AND NOT EXISTS (SELECT 1 FROM tokens)
  AND NOT EXISTS (SELECT 1 FROM workers) AND NOT EXISTS (SELECT 1 FROM dags)
  THEN 'yes' ELSE 'no' END FROM counters;

-- name: copy_mark
SELECT value FROM cluster_keys WHERE name = 'copying';

-- name: set_copy_mark
INSERT INTO cluster_keys (name, value) VALUES ('copying', $1)
ON CONFLICT (name) DO UPDATE SET value = $1;

-- name: drop_copy_mark
DELETE FROM cluster_keys WHERE name = 'copying';

-- name: copy_leadership
SELECT term, clock_us FROM leadership;

-- name: raise_leadership
UPDATE leadership SET term = greatest(term, $1::bigint), clock_us = greatest(clock_us, $2::bigint),
  holder = '', lease_end_us = 0, backend_pid = 0;

-- Numbers that the database gives go on behind those that were copied.
-- name: settle_numbers
SELECT setval(pg_get_serial_sequence(s.t, s.c), s.top) FROM (VALUES
  ('worker_numbers', 'number', (SELECT coalesce(max(number), 0) + 1 FROM worker_numbers)),
  ('log_chunks', 'chunk', (SELECT coalesce(max(chunk), 0) + 1 FROM log_chunks)),
  ('checkpoint_pieces', 'piece', (SELECT coalesce(max(piece), 0) + 1 FROM checkpoint_pieces))
) AS s(t, c, top);
