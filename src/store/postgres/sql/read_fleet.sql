-- Small tables, read whole or by key.

-- How many tasks each worker holds: those of live runs are looked at once, for all workers.
-- part: with_held
WITH held AS MATERIALIZED (
  SELECT t.worker_id, count(*) AS tasks FROM runs r CROSS JOIN LATERAL (
    SELECT i.worker_id FROM task_instances i
    WHERE i.task_key >= r.run_id << 24 AND i.task_key < (r.run_id + 1) << 24
      AND (i.state = 'Scheduled' OR i.state = 'Running') OFFSET 0) t
  WHERE r.state = 'Running' AND r.scheduled + r.running > 0
  GROUP BY t.worker_id)

-- part: worker_extras
coalesce((SELECT h.tasks FROM held h WHERE h.worker_id = w.id), 0),
coalesce(n.completed, 0), coalesce(n.ended, 0)

-- name: all_workers
SELECT @columns:workers w@ FROM workers w ORDER BY w.id;

-- Values: cursor, state, zone, group, machine, live only, limit. NULL: any.
-- name: worker_page
@with_held@
SELECT @columns:workers w@, @worker_extras@
FROM workers w LEFT JOIN worker_numbers n ON n.worker_id = w.id
WHERE w.id > $1 AND ($2::text IS NULL OR w.state = $2) AND ($3::text IS NULL OR w.zone = $3)
  AND ($4::text IS NULL OR w.worker_group = $4) AND ($5::text IS NULL OR w.machine = $5)
  AND ($6::bigint = 0 OR (w.state <> 'INACTIVE' AND w.state <> 'OFFLINE'))
  AND ($7::bigint = 0 OR w.state IN ('IDLE', 'RUNNING'))
ORDER BY w.id LIMIT $8;

-- name: one_worker
@with_held@
SELECT @columns:workers w@, @worker_extras@
FROM workers w LEFT JOIN worker_numbers n ON n.worker_id = w.id
WHERE w.id = $1;

-- name: all_machines
SELECT @columns:machines m@ FROM machines m ORDER BY m.id;

-- name: all_queues
SELECT @columns:queues q@ FROM queues q ORDER BY q.name;

-- name: all_leases
SELECT @columns:partition_leases l@ FROM partition_leases l
ORDER BY l.topic, l.partition_id;

-- Values: cursor (topic, partition), limit.
-- name: lease_page
SELECT @columns:partition_leases l@ FROM partition_leases l
WHERE (l.topic, l.partition_id) > ($1, $2) ORDER BY l.topic, l.partition_id LIMIT $3;

-- name: lease_page_of_topic
SELECT @columns:partition_leases l@ FROM partition_leases l
WHERE l.topic = $1 AND l.partition_id > $2 ORDER BY l.partition_id LIMIT $3;

-- name: one_lease
SELECT @columns:partition_leases l@ FROM partition_leases l
WHERE l.topic = $1 AND l.partition_id = $2;

-- name: dag_page
SELECT @columns:dags d@, d.digest, s.nodes, s.tasks
FROM dags d JOIN dag_specs s ON s.digest = d.digest
WHERE d.name > $1 ORDER BY d.name LIMIT $2;

-- name: one_dag
SELECT @columns:dags d@, d.digest, s.nodes, s.tasks
FROM dags d JOIN dag_specs s ON s.digest = d.digest WHERE d.name = $1;

-- name: schedule_page
SELECT @columns:schedules c@, c.digest FROM schedules c
WHERE c.dag > $1 ORDER BY c.dag LIMIT $2;

-- name: one_schedule
SELECT @columns:schedules c@, c.digest FROM schedules c WHERE c.dag = $1;

-- name: attempt_key
SELECT value FROM cluster_keys WHERE name = 'attempts';

-- name: all_tokens
SELECT @columns:tokens t@ FROM tokens t ORDER BY t.name;

-- name: all_secrets
SELECT @columns:secrets s@ FROM secrets s ORDER BY s.name;

-- name: one_secret
SELECT @columns:secrets s@ FROM secrets s WHERE s.name = $1;

-- name: secret_versions
SELECT @columns:secret_versions v@ FROM secret_versions v WHERE v.name = $1 ORDER BY v.version;

-- name: secret_version
SELECT @columns:secret_versions v@ FROM secret_versions v WHERE v.name = $1 AND v.version = $2;

-- name: all_webhooks
SELECT @columns:webhooks h@ FROM webhooks h ORDER BY h.name;

-- name: audit_before
SELECT @columns:audit_log a@ FROM audit_log a WHERE a.seq < $1 ORDER BY a.seq DESC LIMIT $2;

-- name: audit_after
SELECT @columns:audit_log a@ FROM audit_log a WHERE a.seq > $1 ORDER BY a.seq LIMIT $2;

-- The block that holds the first wanted event, and those after it: a few megabytes, because a
-- result is held in memory as a whole.
-- name: events_from
SELECT e.first_seq, e.last_seq, e.block FROM (
  SELECT first_seq, last_seq, block, sum(octet_length(block)) OVER (ORDER BY first_seq)
    - octet_length(block) AS before
  FROM (SELECT first_seq, last_seq, block FROM events
    WHERE first_seq >= coalesce((SELECT max(first_seq) FROM events WHERE first_seq <= $1), 0)
      AND last_seq >= $1
    ORDER BY first_seq LIMIT 1000) wanted) e
WHERE e.before < 4194304 ORDER BY e.first_seq;

-- name: requeued_since
SELECT coalesce(sum(num_tasks), 0)::bigint FROM recovery_log WHERE timestamp > $1;

-- name: count_open_dead_letters
SELECT count(*) FROM dead_letters d
WHERE d.state = 0 AND NOT EXISTS (SELECT 1 FROM doomed x WHERE x.run_id = d.task_key >> 24);
