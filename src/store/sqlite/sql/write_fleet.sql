-- Workers, machines, recoveries, dead letters, leases, queues, tokens, webhooks, events.

-- name: update_worker
UPDATE workers SET state = ?2, last_heartbeat = ?3, created_at = ?4, incarnation = ?5,
  suspect = ?6, cordoned = ?7, times_lost = ?8, lost_lately = ?9, end_told = ?10,
  drain_within_us = ?11
WHERE id = ?1;

-- name: upsert_worker
INSERT INTO workers (id, state, last_heartbeat, created_at, incarnation, suspect, cordoned,
  times_lost, lost_lately, end_told, drain_within_us, name, machine, zone, worker_group, address,
  version, metadata, slots, abilities)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20)
ON CONFLICT (id) DO UPDATE SET state = ?2, last_heartbeat = ?3, created_at = ?4,
  incarnation = ?5, suspect = ?6, cordoned = ?7, times_lost = ?8, lost_lately = ?9, end_told = ?10,
  drain_within_us = ?11, name = ?12, machine = ?13, zone = ?14, worker_group = ?15, address = ?16,
  version = ?17, metadata = ?18, slots = ?19, abilities = ?20;

-- name: write_machine
INSERT INTO machines (id, online, since) VALUES (?1, ?2, ?3)
ON CONFLICT (id) DO UPDATE SET online = ?2, since = ?3;

-- name: write_recovery
INSERT INTO recovery_log (recovery_id, worker_id, num_tasks, timestamp, incarnation, evidence)
VALUES (?1, ?2, ?3, ?4, ?5, ?6)
ON CONFLICT (recovery_id) DO UPDATE SET worker_id = ?2, num_tasks = ?3, timestamp = ?4,
  incarnation = ?5, evidence = ?6;

-- name: write_recovery_item
INSERT INTO recovery_items (recovery_id, task_key, old_epoch, new_epoch, old_worker, new_worker,
  attempts)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
ON CONFLICT (recovery_id, task_key) DO UPDATE SET old_epoch = ?3, new_epoch = ?4,
  old_worker = ?5, new_worker = ?6, attempts = ?7;

-- name: write_dead_letter
INSERT INTO dead_letters (task_key, epoch, reason, state, at_us, message)
VALUES (?1, ?2, ?3, ?4, ?5, ?6)
ON CONFLICT (task_key, epoch) DO UPDATE SET reason = ?3, state = ?4, at_us = ?5, message = ?6;

-- name: write_lease
INSERT INTO partition_leases (topic, partition_id, agent_id, lease_epoch, lease_expires_at)
VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT (topic, partition_id) DO UPDATE SET agent_id = ?3, lease_epoch = ?4,
  lease_expires_at = ?5;

-- name: delete_worker
DELETE FROM workers WHERE id = ?1;

-- name: delete_machine
DELETE FROM machines WHERE id = ?1;

-- name: delete_lease
DELETE FROM partition_leases WHERE topic = ?1 AND partition_id = ?2;

-- name: write_queue
INSERT INTO queues (name, paused) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET paused = ?2;

-- name: write_journal
INSERT INTO supervisor_journals (supervisor, journal, last, at_us) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (supervisor) DO UPDATE SET journal = ?2, last = ?3, at_us = ?4;

-- name: delete_journal
DELETE FROM supervisor_journals WHERE supervisor = ?1;

-- name: write_token
INSERT INTO tokens (name, role, hash, created_at, revoked) VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT (name) DO UPDATE SET role = ?2, hash = ?3, created_at = ?4, revoked = ?5;

-- name: write_webhook
INSERT OR REPLACE INTO webhooks (name, created_at, after_seq, delivered, given_up, missed,
  delivered_at, trouble, url, kinds, dag, secret)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12);

-- name: delete_webhook
DELETE FROM webhooks WHERE name = ?1;

-- name: step_webhook
UPDATE webhooks SET after_seq = ?3, delivered = ?4, given_up = ?5, missed = ?6, delivered_at = ?7,
  trouble = ?8
WHERE name = ?1 AND created_at = ?2;

-- name: insert_events
INSERT OR REPLACE INTO events (first_seq, last_seq, at_us, block) VALUES (?1, ?2, ?3, ?4);
