-- Workers that are cordoned because tasks died abnormally on them: how far that is, how often in a row,
-- and when the probation begins (microseconds since 1970; NULL: none is due). An earlier version wrote
-- no cause: what is cordoned stays so until an operator lifts it.
ALTER TABLE workers ADD COLUMN blame TEXT NOT NULL DEFAULT 'none';
ALTER TABLE workers ADD COLUMN times_blamed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE workers ADD COLUMN probation_us INTEGER;
