SELECT id, name, state, last_heartbeat, seconds_since_heartbeat, created_at
FROM worker_status
ORDER BY last_heartbeat DESC;
