-- Lists and single things for the readers. Every list is driven by one index, in its order; the
-- conditions that are left are checked row by row, NULL meaning any.

-- part: run_view
@columns:runs r@, r.digest, r.dag, coalesce(s.levels, 0), coalesce(s.tasks, 0)

-- Values: cursor, state, dag, labels as a JSON object, limit.
-- part: run_checks
r.run_id < ?1 AND (?2 IS NULL OR +r.state = ?2) AND (?3 IS NULL OR +r.dag = ?3)
AND (?4 IS NULL OR NOT EXISTS (
  SELECT 1 FROM json_each(?4) want WHERE NOT EXISTS (
    SELECT 1 FROM run_labels l
    WHERE l.name = want.key AND l.value = want.value AND l.run_id = r.run_id)))

-- name: runs_by_id
SELECT @run_view@ FROM runs r LEFT JOIN dag_specs s ON s.digest = r.digest
WHERE @run_checks@ ORDER BY r.run_id DESC LIMIT ?5;

-- name: runs_by_state
SELECT @run_view@ FROM runs r LEFT JOIN dag_specs s ON s.digest = r.digest
WHERE r.state = ?2 AND @run_checks@ ORDER BY r.run_id DESC LIMIT ?5;

-- name: runs_by_dag
SELECT @run_view@ FROM runs r LEFT JOIN dag_specs s ON s.digest = r.digest
WHERE r.dag = ?3 AND @run_checks@ ORDER BY r.run_id DESC LIMIT ?5;

-- name: runs_by_label
SELECT @run_view@
FROM run_labels l0 CROSS JOIN runs r ON r.run_id = l0.run_id
LEFT JOIN dag_specs s ON s.digest = r.digest
WHERE l0.name = ?6 AND l0.value = ?7 AND l0.run_id < ?1 AND @run_checks@
ORDER BY l0.run_id DESC LIMIT ?5;

-- name: runs_by_parent
SELECT @run_view@ FROM runs r LEFT JOIN dag_specs s ON s.digest = r.digest
WHERE r.parent_run = ?6 AND @run_checks@ ORDER BY r.run_id DESC LIMIT ?5;

-- name: one_run_view
SELECT @run_view@ FROM runs r LEFT JOIN dag_specs s ON s.digest = r.digest WHERE r.run_id = ?1;

-- name: run_marks
SELECT r.state, r.ending, r.paused, r.levels_passed, r.waiting, r.queued, r.scheduled, r.running,
  r.completed, r.failed, r.cancelled, r.skipped
FROM runs r WHERE r.run_id = ?1;

-- name: running_runs
SELECT r.run_id FROM runs r WHERE r.state = 'Running' ORDER BY r.run_id LIMIT ?1;

-- name: digest_of_run
SELECT digest FROM runs WHERE run_id = ?1;

-- name: spec_of_kept_digest
SELECT spec FROM dag_specs WHERE digest = ?1;
