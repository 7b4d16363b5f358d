-- A task is written three times, and no index names what changes: PostgreSQL then puts the new version
-- into the same page and leaves all indexes alone (docs/adr/017). Tasks are found by the runs that
-- have some in that state; their counts are written in the same transaction.
DROP INDEX idx_tasks_state;
DROP INDEX idx_tasks_worker_state;
ALTER TABLE task_instances SET (fillfactor = 50);
CREATE INDEX idx_runs_failed ON runs(run_id) WHERE failed > 0;
CREATE INDEX idx_runs_cancelled ON runs(run_id) WHERE cancelled > 0;
CREATE INDEX idx_runs_skipped ON runs(run_id) WHERE skipped > 0;
