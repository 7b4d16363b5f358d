-- When a held task was handed out, so that a new leader still knows it. NULL: not held, or written by
-- an older version.
ALTER TABLE task_instances ADD COLUMN granted_us INTEGER;
