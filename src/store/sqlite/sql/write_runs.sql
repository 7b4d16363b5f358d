-- Runs, the definitions they were made from, and named definitions.

-- name: insert_run
INSERT INTO runs (run_id, state, ending, paused, levels_passed, finished_at, timeout_at, stopped,
                  waiting, queued, scheduled, running, completed, failed, cancelled, skipped,
                  created_at, dag, digest, idempotency_key, request_digest, labels, params)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16,
        ?17, ?18, ?19, ?20, ?21, ?22, ?23)
ON CONFLICT (run_id) DO NOTHING;

-- name: update_run
UPDATE runs SET state = ?2, ending = ?3, paused = ?4, levels_passed = ?5, finished_at = ?6,
  timeout_at = ?7, stopped = ?8, waiting = ?9, queued = ?10, scheduled = ?11, running = ?12,
  completed = ?13, failed = ?14, cancelled = ?15, skipped = ?16
WHERE run_id = ?1;

-- name: insert_run_label
INSERT OR IGNORE INTO run_labels (name, value, run_id) VALUES (?1, ?2, ?3);

-- name: insert_spec
INSERT INTO dag_specs (digest, name, nodes, tasks, levels, applied, spec)
VALUES (?1, ?2, ?3, ?4, ?5, 0, ?6)
ON CONFLICT (digest) DO NOTHING;

-- name: mark_spec_applied
UPDATE dag_specs SET applied = 1 WHERE digest = ?1 AND applied = 0;

-- name: count_spec_uses
INSERT INTO dag_uses (digest, runs) VALUES (?1, ?2)
ON CONFLICT (digest) DO UPDATE SET runs = runs + ?2;

-- name: delete_spec_if_unused
DELETE FROM dag_specs
WHERE digest = ?1 AND applied = 0
  AND NOT EXISTS (SELECT 1 FROM dag_uses u WHERE u.digest = ?1 AND u.runs > 0);

-- name: delete_uses_if_none
DELETE FROM dag_uses WHERE digest = ?1 AND runs <= 0;

-- name: write_dag
INSERT INTO dags (name, digest, updated_at) VALUES (?1, ?2, ?3)
ON CONFLICT (name) DO UPDATE SET digest = ?2, updated_at = ?3;

-- name: delete_dag
DELETE FROM dags WHERE name = ?1;
