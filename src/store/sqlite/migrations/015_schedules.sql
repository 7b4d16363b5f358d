-- Stored DAGs that start runs by themselves, and the slots that runs were started for.
-- Times are microseconds since 1970; `waiting` is a list of slots.
CREATE TABLE schedules (
  dag TEXT PRIMARY KEY,
  paused TEXT NOT NULL,
  failed_run INTEGER NOT NULL,
  decided_us INTEGER NOT NULL,
  waiting TEXT NOT NULL,
  last_run INTEGER NOT NULL,
  last_slot_us INTEGER,
  applied_us INTEGER NOT NULL,
  applied_by TEXT,
  digest INTEGER NOT NULL
) WITHOUT ROWID;

-- NULL: started by hand, or by an earlier version.
ALTER TABLE runs ADD COLUMN schedule TEXT;
ALTER TABLE runs ADD COLUMN slot_us INTEGER;
ALTER TABLE runs ADD COLUMN slot_end_us INTEGER;
