-- The run whose results a run was allowed to keep; 0: none.
ALTER TABLE runs ADD COLUMN rerun_of INTEGER NOT NULL DEFAULT 0;

-- When a run that was submitted ahead of its time starts; NULL: it has started.
ALTER TABLE runs ADD COLUMN starts_us INTEGER;

-- The task whose result a task has taken over.
ALTER TABLE task_instances ADD COLUMN reused_from TEXT;
