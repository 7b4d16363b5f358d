-- Workers, machines, recoveries, dead letters, leases, queues, tokens, webhooks, secrets, audit log,
-- events.

-- name: update_worker
@update:workers@;

-- name: upsert_worker
@upsert:workers@;

-- name: write_machine
@upsert:machines@;

-- name: write_recovery
@upsert:recovery_log@;

-- name: write_recovery_item
@upsert:recovery_items@;

-- name: write_dead_letter
@upsert:dead_letters@;

-- name: write_lease
@upsert:partition_leases@;

-- name: delete_worker
DELETE FROM workers WHERE id = ?1;

-- name: delete_machine
DELETE FROM machines WHERE id = ?1;

-- name: delete_lease
DELETE FROM partition_leases WHERE topic = ?1 AND partition_id = ?2;

-- name: write_queue
@upsert:queues@;

-- name: write_limit
@upsert:limits@;

-- name: delete_limit
DELETE FROM limits WHERE name = ?1;

-- name: write_journal
@upsert:supervisor_journals@;

-- name: delete_journal
DELETE FROM supervisor_journals WHERE supervisor = ?1;

-- name: write_token
@upsert:tokens@;

-- name: write_webhook
@upsert:webhooks@;

-- name: delete_webhook
DELETE FROM webhooks WHERE name = ?1;

-- name: step_webhook
@update:webhooks@;

-- name: write_audit
@upsert:audit_log@;

-- name: seal_webhook
UPDATE webhooks SET secret = ?3 WHERE name = ?1 AND created_at = ?2;

-- name: write_secret
@upsert:secrets@;

-- name: write_secret_version
@upsert:secret_versions@;

-- name: delete_secret_version
DELETE FROM secret_versions WHERE name = ?1 AND version = ?2;

-- name: rewrap_secret_version
@update:secret_versions@;

-- name: insert_events
INSERT OR REPLACE INTO events (first_seq, last_seq, at_us, block) VALUES (?1, ?2, ?3, ?4);
