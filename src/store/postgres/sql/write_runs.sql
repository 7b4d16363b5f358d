-- Runs, the definitions they were made from, and named definitions.

-- name: insert_run
@insert:runs@;

-- name: update_run
@update:runs@;

-- name: insert_run_label
INSERT INTO run_labels (name, value, run_id) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING;

-- name: insert_spec
INSERT INTO dag_specs (digest, name, nodes, tasks, levels, applied, spec)
VALUES ($1, $2, $3, $4, $5, 0, $6)
ON CONFLICT (digest) DO NOTHING;

-- name: mark_spec_applied
UPDATE dag_specs SET applied = 1 WHERE digest = $1 AND applied = 0;

-- name: count_spec_uses
INSERT INTO dag_uses (digest, runs) VALUES ($1, $2)
ON CONFLICT (digest) DO UPDATE SET runs = dag_uses.runs + $2;

-- name: delete_spec_if_unused
DELETE FROM dag_specs
WHERE digest = $1 AND applied = 0
  AND NOT EXISTS (SELECT 1 FROM dag_uses u WHERE u.digest = $1 AND u.runs > 0);

-- name: delete_uses_if_none
DELETE FROM dag_uses WHERE digest = $1 AND runs <= 0;

-- name: write_dag
@upsert:dags@;

-- name: delete_dag
DELETE FROM dags WHERE name = $1;

-- name: write_signal
@upsert:run_signals@;

-- name: write_schedule
@upsert:schedules@;

-- name: delete_schedule
DELETE FROM schedules WHERE dag = $1;
