-- Stored DAGs that start runs by themselves, and the slots that runs were started for.
-- Times are microseconds since 1970; `waiting` is a list of slots.
CREATE TABLE schedules (
  dag TEXT COLLATE "C" PRIMARY KEY,
  paused TEXT COLLATE "C" NOT NULL,
  failed_run BIGINT NOT NULL,
  decided_us BIGINT NOT NULL,
  waiting TEXT COLLATE "C" NOT NULL,
  last_run BIGINT NOT NULL,
  last_slot_us BIGINT,
  applied_us BIGINT NOT NULL,
  applied_by TEXT COLLATE "C",
  digest BIGINT NOT NULL
);

-- NULL: started by hand, or by an earlier version.
ALTER TABLE runs ADD COLUMN schedule TEXT COLLATE "C";
ALTER TABLE runs ADD COLUMN slot_us BIGINT;
ALTER TABLE runs ADD COLUMN slot_end_us BIGINT;
