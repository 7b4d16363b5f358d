-- Who leads, and the clock that never goes back.

-- name: read_leadership
SELECT term, clock_us FROM leadership;

-- name: read_term
SELECT term FROM leadership;

-- name: read_clock
SELECT clock_us FROM leadership;

-- name: take_leadership
UPDATE leadership SET term = ?1, holder = ?2, clock_us = ?3, url = ?4, since_us = ?3;

-- name: leave_leadership
UPDATE leadership SET holder = '' WHERE term = ?1;

-- name: leader
SELECT holder, url, term, since_us FROM leadership WHERE holder <> '';

-- name: announce
@upsert:controllers@;

-- name: forget_controllers
DELETE FROM controllers WHERE seen_at < ?1;

-- name: all_controllers
SELECT @columns:controllers c@ FROM controllers c ORDER BY c.id;

-- The fence: no row, no commit. The clock is never set back.
-- name: fence
UPDATE leadership SET clock_us = max(clock_us, ?2) WHERE term = ?1;

-- name: probe
UPDATE leadership SET probes = probes + 1;

-- name: read_counters
SELECT @columns:counters c@ FROM counters c;

-- name: write_counters
@update:counters@;
