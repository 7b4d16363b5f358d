-- How a connection is set up. {} is a number of ours, never text from outside.

-- name: set_up_reader
PRAGMA query_only = ON; PRAGMA wal_autocheckpoint = 0; PRAGMA temp_store = MEMORY;

-- name: set_cache
PRAGMA cache_size = -{};

-- name: set_map
PRAGMA mmap_size = {};

-- name: set_page_size
PRAGMA page_size = {}; PRAGMA auto_vacuum = NONE;

-- name: use_wal
PRAGMA journal_mode = WAL;

-- name: set_up_writer
PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = {}; PRAGMA journal_size_limit = 268435456; PRAGMA secure_delete = OFF; PRAGMA temp_store = MEMORY; PRAGMA foreign_keys = OFF;

-- name: add_attempt_key
INSERT OR IGNORE INTO cluster_keys (name, value) VALUES ('attempts', '{}');

-- name: has_attempt_key
SELECT count(*) FROM cluster_keys WHERE name = 'attempts';

-- name: user_version
PRAGMA user_version;

-- name: set_user_version
PRAGMA user_version = {};

-- name: application_id
PRAGMA application_id;

-- name: set_application_id
PRAGMA application_id = {};

-- name: count_tables
SELECT count(*) FROM sqlite_schema;

-- name: begin
BEGIN IMMEDIATE;

-- name: begin_read
BEGIN;

-- name: commit
COMMIT;

-- name: rollback
ROLLBACK;
