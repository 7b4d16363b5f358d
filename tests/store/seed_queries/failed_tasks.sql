SELECT
  id,
  name,
  state,
  worker_id,
  error_message,
  exit_code,
  attempt_count,
  updated_at
FROM task_instances
WHERE state = 'Failed'
ORDER BY updated_at DESC
LIMIT 20;
