-- How a session is set up. {...} is a number of ours, never text from outside.

-- No limit on statements of the writer: whether a COMMIT that was cut off happened is not known. A
-- leader that froze within a transaction is ended by the server, and so is one whose host is gone.
-- name: set_up_session
SET statement_timeout = {statement_ms}; SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = {idle_ms};
SET client_min_messages = warning; SET jit = off; SET bytea_output = hex;
SET default_transaction_isolation = 'read committed';
SELECT set_config(name, '0', false) FROM pg_settings WHERE name = 'idle_session_timeout';
SELECT set_config(name, '{ms}', false) FROM pg_settings WHERE name = 'tcp_user_timeout';

-- name: set_up_reader
SET default_transaction_read_only = on;

-- name: begin
BEGIN;

-- name: begin_read
BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;

-- name: commit
COMMIT;

-- name: rollback
ROLLBACK;

-- name: table_name
SELECT relname::text FROM pg_class WHERE oid = $1::bigint::oid;

-- name: find_schema
SELECT current_schema(), to_regclass('vortex_layout') IS NOT NULL,
  to_regclass('task_instances') IS NOT NULL;

-- One at a time: controllers that start together migrate once.
-- name: lock_layout
SELECT pg_advisory_lock(hashtext('vortex layout'), hashtext(current_schema()));

-- name: unlock_layout
SELECT pg_advisory_unlock(hashtext('vortex layout'), hashtext(current_schema()));

-- name: make_layout
CREATE TABLE IF NOT EXISTS vortex_layout (
  version BIGINT PRIMARY KEY,
  made_at TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp()
);

-- name: read_layout
SELECT coalesce(max(version), 0) FROM vortex_layout;

-- name: add_layout
INSERT INTO vortex_layout (version) VALUES ({});

-- name: add_attempt_key
INSERT INTO cluster_keys (name, value) VALUES ('attempts', '{}') ON CONFLICT DO NOTHING;

-- name: has_attempt_key
SELECT count(*) FROM cluster_keys WHERE name = 'attempts';
