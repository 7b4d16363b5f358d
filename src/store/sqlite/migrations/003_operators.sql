-- What operators ask for: ages in seconds, times as milliseconds, every state by an index; and the
-- highest epoch of the leases that were deleted, which no new lease may fall below.

DROP INDEX idx_tasks_state;
CREATE INDEX idx_tasks_state ON task_instances(state);

ALTER TABLE counters ADD COLUMN lease_floor INTEGER NOT NULL DEFAULT 0;

CREATE VIEW worker_status AS
SELECT id, name, state, last_heartbeat,
  CAST(round((julianday('now') - julianday(last_heartbeat)) * 86400) AS INTEGER)
    AS seconds_since_heartbeat,
  created_at, machine, zone, worker_group, cordoned, suspect, times_lost
FROM workers;

CREATE VIEW agents AS
SELECT id AS agent_id, address, zone AS availability_zone, worker_group AS agent_group,
  CAST(round((julianday(last_heartbeat) - 2440587.5) * 86400000) AS INTEGER) AS last_heartbeat,
  CAST(round((julianday(created_at) - 2440587.5) * 86400000) AS INTEGER) AS started_at,
  metadata, state
FROM workers WHERE state NOT IN ('OFFLINE', 'INACTIVE');

CREATE VIEW partition_lease_status AS
SELECT topic, partition_id, agent_id, lease_epoch,
  CAST(round((julianday(lease_expires_at) - 2440587.5) * 86400000) AS INTEGER) AS lease_expires_at
FROM partition_leases;
