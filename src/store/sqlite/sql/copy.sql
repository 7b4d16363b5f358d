-- What a copy to or from another database asks, beside its tables.

-- name: columns_of_table
SELECT name, upper(type) FROM pragma_table_info(?1) ORDER BY cid;

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
INSERT INTO cluster_keys (name, value) VALUES ('copying', ?1)
ON CONFLICT (name) DO UPDATE SET value = ?1;

-- name: drop_copy_mark
DELETE FROM cluster_keys WHERE name = 'copying';

-- name: copy_leadership
SELECT term, clock_us FROM leadership;

-- name: raise_leadership
UPDATE leadership SET term = max(term, ?1), clock_us = max(clock_us, ?2);
