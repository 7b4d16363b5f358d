-- Who leads, and the clock that never goes back.

-- name: read_leadership
SELECT term, clock_us FROM leadership;

-- name: take_leadership
UPDATE leadership SET term = ?1, holder = ?2, clock_us = ?3;

-- name: leave_leadership
UPDATE leadership SET holder = '' WHERE term = ?1;

-- The fence: no row, no commit. The clock is never set back.
-- name: fence
UPDATE leadership SET clock_us = max(clock_us, ?2) WHERE term = ?1;

-- name: probe
UPDATE leadership SET probes = probes + 1;

-- name: read_counters
SELECT next_run, next_recovery, next_event,
       waiting, queued, scheduled, running, completed, failed, cancelled, skipped,
       lease_floor
FROM counters;

-- name: write_counters
UPDATE counters SET next_run = ?1, next_recovery = ?2, next_event = ?3,
  waiting = ?4, queued = ?5, scheduled = ?6, running = ?7,
  completed = ?8, failed = ?9, cancelled = ?10, skipped = ?11, lease_floor = ?12;
