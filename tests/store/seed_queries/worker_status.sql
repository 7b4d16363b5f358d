SELECT
  id,
  name,
  state,
  last_heartbeat,
  datetime('now') - datetime(last_heartbeat) AS seconds_since_heartbeat,
  created_at
FROM workers
ORDER BY last_heartbeat DESC;
