-- How long an operator lets the tasks of a draining worker run on, so that a new leader still tells it.
-- NULL: as long as the worker itself allows.
ALTER TABLE workers ADD COLUMN drain_within_us INTEGER;
