-- The task that a run is a sub-DAG of.
ALTER TABLE runs ADD COLUMN parent_run BIGINT;
ALTER TABLE runs ADD COLUMN parent_task TEXT;
ALTER TABLE runs ADD COLUMN parent_index BIGINT NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN parent_epoch BIGINT NOT NULL DEFAULT 0;
CREATE INDEX runs_parent ON runs (parent_run, run_id) WHERE parent_run IS NOT NULL;
