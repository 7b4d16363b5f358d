-- The task that a run is a sub-DAG of.
ALTER TABLE runs ADD COLUMN parent_run INTEGER;
ALTER TABLE runs ADD COLUMN parent_task TEXT;
ALTER TABLE runs ADD COLUMN parent_index INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN parent_epoch INTEGER NOT NULL DEFAULT 0;
CREATE INDEX runs_parent ON runs (parent_run, run_id) WHERE parent_run IS NOT NULL;
