-- The yardstick: plain SQL, as anybody would write it first, with the seed's three indexes.

-- name: bare_schema
CREATE TABLE workers (
  id TEXT PRIMARY KEY, name TEXT NOT NULL, state TEXT NOT NULL, last_heartbeat TEXT,
  created_at TEXT);
CREATE INDEX idx_workers_state_heartbeat ON workers(state, last_heartbeat);
CREATE TABLE task_instances (
  task_key INTEGER PRIMARY KEY, state TEXT NOT NULL, worker_id TEXT, epoch INTEGER NOT NULL,
  attempt_count INTEGER NOT NULL, updated_at TEXT, incarnation INTEGER NOT NULL,
  ready_us INTEGER, started_us INTEGER, percent INTEGER NOT NULL, exit_code INTEGER NOT NULL,
  stop INTEGER NOT NULL, failure_count INTEGER NOT NULL, crash_count INTEGER NOT NULL,
  stall_count INTEGER NOT NULL, release_count INTEGER NOT NULL, unstarted_count INTEGER NOT NULL,
  recovery INTEGER NOT NULL, level INTEGER, node INTEGER NOT NULL, id TEXT NOT NULL,
  name TEXT NOT NULL, created_at TEXT, previous_worker TEXT, step TEXT, error_message TEXT);
CREATE INDEX idx_tasks_worker_state ON task_instances(worker_id, state);
CREATE INDEX idx_tasks_state ON task_instances(state);

-- name: bare_insert
INSERT INTO task_instances (task_key, state, epoch, attempt_count, updated_at, incarnation,
  ready_us, percent, exit_code, stop, failure_count, crash_count, stall_count, release_count,
  unstarted_count, recovery, level, node, id, name, created_at)
VALUES (?1, 'Queued', 0, 0, ?2, 0, ?3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, ?4, ?5, ?2);

-- name: bare_claim
UPDATE task_instances SET state = 'Scheduled', worker_id = ?2, epoch = 1, attempt_count = 1,
  incarnation = 1, ready_us = 0, updated_at = ?3
WHERE task_key = ?1;

-- name: bare_complete
UPDATE task_instances SET state = 'Completed', exit_code = 0, updated_at = ?2 WHERE task_key = ?1;
