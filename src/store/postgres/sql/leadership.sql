-- Who leads, and the clock that never goes back. Times are those of the database.

-- The advisory lock that the session of the leader holds; see docs/adr/016.
-- part: leader_lock
hashtext('vortex leader'), hashtext(current_schema())

-- part: holds_leader_lock
k.locktype = 'advisory' AND k.granted AND k.mode = 'ExclusiveLock' AND k.objsubid = 2
AND k.database = (SELECT oid FROM pg_database WHERE datname = current_database())
AND k.classid::bigint = hashtext('vortex leader')::bigint & 4294967295
AND k.objid::bigint = hashtext(current_schema())::bigint & 4294967295

-- part: now_us
(extract(epoch FROM clock_timestamp()) * 1000000)::bigint

-- name: wait_for_row
SELECT set_config('lock_timeout', $1::bigint::text, true);

-- A leader whose lease has ended within a transaction still has the row.
-- name: end_expired_session
SELECT pg_terminate_backend(k.pid) FROM leadership l JOIN pg_locks k ON k.pid = l.backend_pid
WHERE l.lease_end_us <= @now_us@ AND @holds_leader_lock@;

-- name: lock_leadership
SELECT term, holder, lease_end_us, backend_pid, clock_us, @now_us@ FROM leadership FOR UPDATE;

-- A timeline is a history of the database: every promotion of a standby begins a new one.
-- name: timeline
SELECT ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::bigint;

-- name: leader_session_lives
SELECT 1 FROM pg_locks k WHERE k.pid = $1::bigint AND @holds_leader_lock@;

-- name: try_leader_lock
SELECT pg_try_advisory_lock(@leader_lock@);

-- name: leave_leader_lock
SELECT pg_advisory_unlock(@leader_lock@);

-- Sessions of earlier leaders that still hold the lock. Only a help: their writes are fenced.
-- name: end_old_sessions
SELECT pg_terminate_backend(k.pid) FROM pg_locks k
WHERE k.pid <> pg_backend_pid() AND @holds_leader_lock@;

-- name: wait_for_leader_lock
SELECT wait_for_leader_lock(@leader_lock@, {});

-- name: take_leadership
UPDATE leadership SET term = $1, nonce = $2, holder = $3, url = $4, since_us = $7,
  lease_end_us = @now_us@ + $5::bigint,
  backend_pid = CASE WHEN $6::bigint = 1 THEN pg_backend_pid() ELSE 0 END, clock_us = $7;

-- name: leader
SELECT holder, url, term, since_us FROM leadership WHERE holder <> '' AND lease_end_us > @now_us@;

-- name: database_clock
SELECT @now_us@;

-- name: announce
@upsert:controllers@;

-- name: forget_controllers
DELETE FROM controllers WHERE seen_at < $1;

-- name: all_controllers
SELECT @columns:controllers c@ FROM controllers c ORDER BY c.id;

-- name: note_leader_lock
UPDATE leadership SET backend_pid = pg_backend_pid() WHERE term = $1 AND nonce = $2;

-- name: renew_leadership
UPDATE leadership SET lease_end_us = @now_us@ + $3::bigint WHERE term = $1 AND nonce = $2;

-- name: leave_leadership
UPDATE leadership SET holder = '', lease_end_us = 0, backend_pid = 0 WHERE term = $1 AND nonce = $2;

-- The fence: no row, no commit. The clock is never set back.
-- name: fence
UPDATE leadership SET clock_us = greatest(clock_us, $3::bigint) WHERE term = $1 AND nonce = $2;

-- name: probe
UPDATE probes SET probes = probes + 1;

-- name: read_counters
SELECT @columns:counters c@ FROM counters c;

-- name: write_counters
@update:counters@;
