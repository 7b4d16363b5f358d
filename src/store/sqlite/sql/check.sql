-- What must hold in a sound file. Each statement gives one line of text per fault, a few at most.

-- name: check_integrity
SELECT integrity_check FROM pragma_integrity_check(20) WHERE integrity_check <> 'ok';

-- name: check_run_counts
WITH have AS (
  SELECT task_key >> 24 AS run_id,
    sum(state = 'Waiting') AS waiting, sum(state = 'Queued') AS queued,
    sum(state = 'Scheduled') AS scheduled, sum(state = 'Running') AS running,
    sum(state = 'Completed') AS completed, sum(state = 'Failed') AS failed,
    sum(state = 'Cancelled') AS cancelled, sum(state = 'Skipped') AS skipped
  FROM task_instances GROUP BY task_key >> 24)
SELECT 'run r' || r.run_id || ' has wrong counts of tasks'
FROM runs r LEFT JOIN have h ON h.run_id = r.run_id
WHERE r.waiting <> coalesce(h.waiting, 0) OR r.queued <> coalesce(h.queued, 0)
   OR r.scheduled <> coalesce(h.scheduled, 0) OR r.running <> coalesce(h.running, 0)
   OR r.completed <> coalesce(h.completed, 0) OR r.failed <> coalesce(h.failed, 0)
   OR r.cancelled <> coalesce(h.cancelled, 0) OR r.skipped <> coalesce(h.skipped, 0)
LIMIT 20;

-- name: check_lost_tasks
SELECT 'task ' || t.id || ' has no run' FROM task_instances t
WHERE NOT EXISTS (SELECT 1 FROM runs r WHERE r.run_id = t.task_key >> 24)
  AND NOT EXISTS (SELECT 1 FROM doomed x WHERE x.run_id = t.task_key >> 24)
LIMIT 20;

-- name: check_definitions
SELECT 'run r' || r.run_id || ' has no definition' FROM runs r
WHERE NOT EXISTS (SELECT 1 FROM dag_specs s WHERE s.digest = r.digest)
UNION ALL
SELECT 'DAG ''' || d.name || ''' has no definition' FROM dags d
WHERE NOT EXISTS (SELECT 1 FROM dag_specs s WHERE s.digest = d.digest)
UNION ALL
SELECT 'schedule ''' || c.dag || ''' has no definition' FROM schedules c
WHERE NOT EXISTS (SELECT 1 FROM dag_specs s WHERE s.digest = c.digest)
LIMIT 20;

-- name: check_uses
SELECT 'definition ' || s.digest || ' is used by ' || count(r.run_id) || ' runs, not by '
  || coalesce(u.runs, 0)
FROM dag_specs s LEFT JOIN dag_uses u ON u.digest = s.digest LEFT JOIN runs r ON r.digest = s.digest
GROUP BY s.digest HAVING count(r.run_id) <> coalesce(u.runs, 0)
LIMIT 20;

-- name: check_live_counters
SELECT 'the counters of open tasks do not match the runs' FROM counters c
WHERE c.waiting <> (SELECT coalesce(sum(waiting), 0) FROM runs)
   OR c.queued <> (SELECT coalesce(sum(queued), 0) FROM runs)
   OR c.scheduled <> (SELECT coalesce(sum(scheduled), 0) FROM runs)
   OR c.running <> (SELECT coalesce(sum(running), 0) FROM runs)
UNION ALL
SELECT 'the counters of finished tasks are below those of the kept runs' FROM counters c
WHERE c.completed < (SELECT coalesce(sum(completed), 0) FROM runs)
   OR c.failed < (SELECT coalesce(sum(failed), 0) FROM runs)
   OR c.cancelled < (SELECT coalesce(sum(cancelled), 0) FROM runs)
   OR c.skipped < (SELECT coalesce(sum(skipped), 0) FROM runs);

-- name: check_next_numbers
SELECT 'the next run, r' || next_run || ', is already there' FROM counters
WHERE next_run <= (SELECT coalesce(max(run_id), 0) FROM runs)
UNION ALL
SELECT 'the next recovery, ' || next_recovery || ', is already there' FROM counters
WHERE next_recovery <= (SELECT coalesce(max(recovery_id), 0) FROM recovery_log)
UNION ALL
SELECT 'the next event, ' || next_event || ', is already there' FROM counters
WHERE next_event <= (SELECT coalesce(max(last_seq), 0) FROM events);

-- name: check_held
SELECT 'task ' || t.id || ' is ' || t.state || ' on no worker that is present' FROM task_instances t
WHERE (t.state = 'Scheduled' OR t.state = 'Running')
  AND NOT EXISTS (SELECT 1 FROM workers w WHERE w.id = t.worker_id
    AND w.incarnation = t.incarnation AND w.state NOT IN ('OFFLINE', 'INACTIVE'))
LIMIT 20;

-- name: check_ended_runs
SELECT 'run r' || r.run_id || ' is ' || r.state || ', but ' || o.tasks || ' of its tasks are open'
FROM (SELECT task_key >> 24 AS run_id, count(*) AS tasks FROM task_instances
      WHERE state IN ('Waiting', 'Queued', 'Scheduled', 'Running') GROUP BY task_key >> 24) o
JOIN runs r ON r.run_id = o.run_id WHERE r.state <> 'Running'
LIMIT 20;

-- name: check_levels_passed
SELECT 'run r' || r.run_id || ' has ' || r.levels_passed || ' levels passed, but a task of level '
  || o.level || ' is open'
FROM (SELECT task_key >> 24 AS run_id, min(level) AS level FROM task_instances
      WHERE state IN ('Waiting', 'Queued', 'Scheduled', 'Running') GROUP BY task_key >> 24) o
JOIN runs r ON r.run_id = o.run_id WHERE r.levels_passed > o.level
LIMIT 20;

-- name: check_task_levels
SELECT 'task ' || t.id || ' has ' || coalesce('level ' || t.level, 'no level') FROM task_instances t
WHERE t.level IS NULL OR t.id <> 'r' || (t.task_key >> 24) || '-L' || t.level || '-'
  || (t.task_key & 16777215)
LIMIT 20;

-- name: check_logs
SELECT 'output of task key ' || h.task_key || ' ends at ' || coalesce(max(c.offset + c.size), 0)
  || ', not at ' || h.size
FROM log_heads h LEFT JOIN log_chunks c ON c.task_key = h.task_key AND c.epoch = h.epoch
GROUP BY h.task_key, h.epoch HAVING coalesce(max(c.offset + c.size), 0) <> h.size
LIMIT 20;

-- name: check_doomed
SELECT 'run r' || x.run_id || ' is both deleted and kept' FROM doomed x
JOIN runs r ON r.run_id = x.run_id LIMIT 20;

-- name: count_runs_and_tasks
SELECT (SELECT count(*) FROM runs), (SELECT count(*) FROM task_instances);
