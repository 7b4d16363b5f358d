SELECT
  id,
  name,
  state,
  worker_id,
  attempt_count,
  created_at,
  updated_at
FROM task_instances
WHERE state = 'Queued' AND worker_id IS NULL
ORDER BY created_at;
