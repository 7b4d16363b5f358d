-- What `vortex db check --repair` does, in this order, in one transaction. Each statement gives the
-- number of rows that it changed. Only what follows from other rows is changed; the rest is named.

-- An item of a map exists only after its map began; any other task waits until its needs are judged
-- again. A finished attempt says how the task ended.
-- name: repair_task_states
UPDATE task_instances SET
  state = CASE
    WHEN EXISTS (SELECT 1 FROM attempts a WHERE a.task_key = task_instances.task_key
                 AND a.verdict = 0) THEN 'Completed'
    WHEN EXISTS (SELECT 1 FROM runs r WHERE r.run_id = task_key >> 24
                 AND r.state IN ('Completed', 'Failed', 'Cancelled')) THEN 'Failed'
    WHEN attempt_count > 0 OR EXISTS (SELECT 1 FROM task_instances o
      WHERE o.task_key >> 24 = task_instances.task_key >> 24 AND o.node = task_instances.node
        AND o.task_key <> task_instances.task_key) THEN 'Queued'
    ELSE 'Waiting' END,
  worker_id = NULL, epoch = epoch + 1
WHERE state NOT IN ('Waiting', 'Queued', 'Scheduled', 'Running', 'Completed', 'Failed',
  'Cancelled', 'Skipped');

-- The id was written with the level, so it still has it.
-- name: repair_task_levels
UPDATE task_instances SET level = CAST(substr(id, instr(id, '-L') + 2) AS INTEGER)
WHERE id GLOB 'r*-L[0-9]*-*' AND (level IS NULL OR typeof(level) <> 'integer'
  OR level <> CAST(substr(id, instr(id, '-L') + 2) AS INTEGER));

-- name: repair_held
UPDATE task_instances SET state = 'Queued', worker_id = NULL, epoch = epoch + 1,
  release_count = release_count + 1, ready_us = NULL, started_us = NULL
WHERE state IN ('Scheduled', 'Running')
  AND NOT EXISTS (SELECT 1 FROM workers w WHERE w.id = task_instances.worker_id
    AND w.incarnation = task_instances.incarnation AND w.state NOT IN ('OFFLINE', 'INACTIVE'));

-- name: repair_ended_runs
UPDATE runs SET state = 'Running', finished_at = NULL
WHERE state <> 'Running' AND run_id IN (SELECT DISTINCT task_key >> 24 FROM task_instances
  WHERE state IN ('Waiting', 'Queued', 'Scheduled', 'Running'));

-- name: repair_run_states
UPDATE runs SET
  state = CASE WHEN ending = 1 THEN 'Cancelled'
    WHEN EXISTS (SELECT 1 FROM task_instances t WHERE t.task_key >= run_id << 24
      AND t.task_key < (run_id + 1) << 24 AND t.state = 'Failed') THEN 'Failed'
    ELSE 'Completed' END,
  finished_at = coalesce(finished_at, strftime('%Y-%m-%d %H:%M:%f', 'now') || '000')
WHERE state NOT IN ('Running', 'Completed', 'Failed', 'Cancelled');

-- name: repair_levels_passed
UPDATE runs SET levels_passed = o.level
FROM (SELECT task_key >> 24 AS run_id, min(level) AS level FROM task_instances
      WHERE state IN ('Waiting', 'Queued', 'Scheduled', 'Running') GROUP BY task_key >> 24) o
WHERE runs.run_id = o.run_id AND runs.levels_passed > o.level;

-- name: repair_run_counts
UPDATE runs SET waiting = h.waiting, queued = h.queued, scheduled = h.scheduled,
  running = h.running, completed = h.completed, failed = h.failed, cancelled = h.cancelled,
  skipped = h.skipped
FROM (SELECT r.run_id,
    coalesce(sum(t.state = 'Waiting'), 0) AS waiting,
    coalesce(sum(t.state = 'Queued'), 0) AS queued,
    coalesce(sum(t.state = 'Scheduled'), 0) AS scheduled,
    coalesce(sum(t.state = 'Running'), 0) AS running,
    coalesce(sum(t.state = 'Completed'), 0) AS completed,
    coalesce(sum(t.state = 'Failed'), 0) AS failed,
    coalesce(sum(t.state = 'Cancelled'), 0) AS cancelled,
    coalesce(sum(t.state = 'Skipped'), 0) AS skipped
  FROM runs r LEFT JOIN task_instances t
    ON t.task_key >= r.run_id << 24 AND t.task_key < (r.run_id + 1) << 24
  GROUP BY r.run_id) h
WHERE runs.run_id = h.run_id AND (runs.waiting, runs.queued, runs.scheduled, runs.running,
  runs.completed, runs.failed, runs.cancelled, runs.skipped) IS NOT (h.waiting, h.queued,
  h.scheduled, h.running, h.completed, h.failed, h.cancelled, h.skipped);

-- Nothing tells any more what they belonged to: they go the way of forgotten runs.
-- name: repair_lost_tasks
INSERT OR IGNORE INTO doomed (run_id)
SELECT DISTINCT t.task_key >> 24 FROM task_instances t
WHERE NOT EXISTS (SELECT 1 FROM runs r WHERE r.run_id = t.task_key >> 24)
  AND NOT EXISTS (SELECT 1 FROM doomed x WHERE x.run_id = t.task_key >> 24);

-- name: repair_doomed
DELETE FROM doomed WHERE run_id IN (SELECT run_id FROM runs);

-- name: repair_missing_counters
INSERT OR IGNORE INTO counters (one, next_run, next_recovery, next_event, waiting, queued,
  scheduled, running, completed, failed, cancelled, skipped, lease_floor)
VALUES (1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0);

-- name: repair_counters
UPDATE counters SET waiting = h.waiting, queued = h.queued, scheduled = h.scheduled,
  running = h.running, completed = max(counters.completed, h.completed),
  failed = max(counters.failed, h.failed), cancelled = max(counters.cancelled, h.cancelled),
  skipped = max(counters.skipped, h.skipped)
FROM (SELECT coalesce(sum(waiting), 0) AS waiting, coalesce(sum(queued), 0) AS queued,
    coalesce(sum(scheduled), 0) AS scheduled, coalesce(sum(running), 0) AS running,
    coalesce(sum(completed), 0) AS completed, coalesce(sum(failed), 0) AS failed,
    coalesce(sum(cancelled), 0) AS cancelled, coalesce(sum(skipped), 0) AS skipped FROM runs) h
WHERE (counters.waiting, counters.queued, counters.scheduled, counters.running)
    IS NOT (h.waiting, h.queued, h.scheduled, h.running)
  OR counters.completed < h.completed OR counters.failed < h.failed
  OR counters.cancelled < h.cancelled OR counters.skipped < h.skipped;

-- name: repair_next_numbers
UPDATE counters SET next_run = max(next_run, h.run), next_recovery = max(next_recovery, h.recovery),
  next_event = max(next_event, h.event)
FROM (SELECT
    max(coalesce((SELECT max(run_id) FROM runs), 0),
        coalesce((SELECT max(task_key) >> 24 FROM task_instances), 0)) + 1 AS run,
    coalesce((SELECT max(recovery_id) FROM recovery_log), 0) + 1 AS recovery,
    coalesce((SELECT max(last_seq) FROM events), 0) + 1 AS event) h
WHERE next_run < h.run OR next_recovery < h.recovery OR next_event < h.event;

-- name: repair_uses
INSERT INTO dag_uses (digest, runs)
SELECT s.digest, count(r.run_id) FROM dag_specs s LEFT JOIN runs r ON r.digest = s.digest
  LEFT JOIN dag_uses u ON u.digest = s.digest
WHERE true GROUP BY s.digest HAVING count(r.run_id) <> coalesce(u.runs, 0)
ON CONFLICT (digest) DO UPDATE SET runs = excluded.runs;

-- A worker comes back by registering; its tasks were taken back above or are taken back at load.
-- name: repair_worker
DELETE FROM workers WHERE id = ?1;

-- Free, and with an epoch that no holder can have reached when its own cannot be read.
-- name: repair_lease
UPDATE partition_leases SET agent_id = '', lease_expires_at = NULL, lease_epoch =
  CASE typeof(lease_epoch) WHEN 'integer' THEN lease_epoch ELSE 1000000 + coalesce(
    (SELECT max(o.lease_epoch) FROM partition_leases o WHERE typeof(o.lease_epoch) = 'integer'), 0)
  END
WHERE topic || '/' || partition_id = ?1;

-- name: repair_machine
DELETE FROM machines WHERE id = ?1;
