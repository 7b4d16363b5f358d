SELECT topic, partition_id, agent_id, lease_expires_at
FROM partition_lease_status
WHERE lease_expires_at < (julianday('now') - 2440587.5) * 86400000;
