SELECT agent_id, address, availability_zone, last_heartbeat
FROM agents
WHERE last_heartbeat > (julianday('now') - 2440587.5) * 86400000 - 60000;
