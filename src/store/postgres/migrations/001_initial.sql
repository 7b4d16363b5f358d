-- The first layout. In databases: never edited, later changes are new migrations.
--
-- Tables and columns have the names and meanings of the SQLite layout, so that queries of operators
-- run on both. Times that people read are text in UTC, 'YYYY-MM-DD HH:MM:SS.ffffff', NULL for
-- "never"; columns ending in _us are microseconds since 1970. task_key is run_id << 24 | index in
-- the run. Text that is compared or ordered is compared by its bytes.

-- Who leads. Judged by the clock of the database. backend_pid is the session of the leader if that
-- session holds the advisory lock of leaders, else 0. nonce is a random number per term.
CREATE TABLE leadership (
  one BIGINT PRIMARY KEY CHECK (one = 1),
  term BIGINT NOT NULL,
  nonce BIGINT NOT NULL,
  holder TEXT NOT NULL,
  url TEXT NOT NULL,
  since_us BIGINT NOT NULL,
  lease_end_us BIGINT NOT NULL,
  backend_pid BIGINT NOT NULL,
  clock_us BIGINT NOT NULL
);
INSERT INTO leadership VALUES (1, 0, 0, '', '', 0, 0, 0, 0);

-- The controllers that were there lately.
CREATE TABLE controllers (
  id TEXT COLLATE "C" PRIMARY KEY,
  url TEXT COLLATE "C" NOT NULL,
  seen_at TEXT COLLATE "C"
);

CREATE TABLE probes (
  one BIGINT PRIMARY KEY CHECK (one = 1),
  probes BIGINT NOT NULL
);
INSERT INTO probes VALUES (1, 0);

CREATE TABLE counters (
  one BIGINT PRIMARY KEY CHECK (one = 1),
  next_run BIGINT NOT NULL,
  next_recovery BIGINT NOT NULL,
  next_event BIGINT NOT NULL,
  waiting BIGINT NOT NULL,
  queued BIGINT NOT NULL,
  scheduled BIGINT NOT NULL,
  running BIGINT NOT NULL,
  completed BIGINT NOT NULL,
  failed BIGINT NOT NULL,
  cancelled BIGINT NOT NULL,
  skipped BIGINT NOT NULL,
  lease_floor BIGINT NOT NULL DEFAULT 0
);
INSERT INTO counters VALUES (1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0);

-- One row per definition, by the digest of its specification; `spec` is JSON packed with zstd.
CREATE TABLE dag_specs (
  digest BIGINT PRIMARY KEY,
  name TEXT COLLATE "C" NOT NULL,
  nodes BIGINT NOT NULL,
  tasks BIGINT NOT NULL,
  levels BIGINT NOT NULL,
  applied BIGINT NOT NULL,
  spec BYTEA NOT NULL
);
ALTER TABLE dag_specs ALTER COLUMN spec SET STORAGE EXTERNAL;

-- How many kept runs use a definition; apart from it because the definition may be large.
CREATE TABLE dag_uses (
  digest BIGINT PRIMARY KEY,
  runs BIGINT NOT NULL
);

CREATE TABLE dags (
  name TEXT COLLATE "C" PRIMARY KEY,
  digest BIGINT NOT NULL,
  updated_at TEXT COLLATE "C"
);

CREATE TABLE runs (
  run_id BIGINT PRIMARY KEY,
  state TEXT COLLATE "C" NOT NULL,
  dag TEXT COLLATE "C" NOT NULL,
  digest BIGINT NOT NULL,
  ending BIGINT NOT NULL,
  paused BIGINT NOT NULL,
  levels_passed BIGINT NOT NULL,
  created_at TEXT COLLATE "C",
  finished_at TEXT COLLATE "C",
  timeout_at TEXT COLLATE "C",
  stopped TEXT COLLATE "C",
  waiting BIGINT NOT NULL,
  queued BIGINT NOT NULL,
  scheduled BIGINT NOT NULL,
  running BIGINT NOT NULL,
  completed BIGINT NOT NULL,
  failed BIGINT NOT NULL,
  cancelled BIGINT NOT NULL,
  skipped BIGINT NOT NULL,
  idempotency_key TEXT COLLATE "C",
  request_digest BIGINT NOT NULL,
  labels TEXT COLLATE "C",
  params TEXT COLLATE "C" NOT NULL,
  submitted_by TEXT COLLATE "C"
) WITH (fillfactor = 70);
CREATE INDEX idx_runs_state ON runs(state, run_id);
CREATE INDEX idx_runs_dag ON runs(dag, run_id);
CREATE INDEX idx_runs_finished ON runs(finished_at NULLS FIRST, run_id)
  WHERE state = 'Completed' OR state = 'Failed' OR state = 'Cancelled';
CREATE UNIQUE INDEX idx_runs_key ON runs(idempotency_key) WHERE idempotency_key IS NOT NULL;

CREATE TABLE run_labels (
  name TEXT COLLATE "C" NOT NULL,
  value TEXT COLLATE "C" NOT NULL,
  run_id BIGINT NOT NULL,
  PRIMARY KEY (name, value, run_id)
);
CREATE INDEX idx_run_labels_run ON run_labels(run_id);

CREATE TABLE task_instances (
  task_key BIGINT PRIMARY KEY,
  state TEXT COLLATE "C" NOT NULL,
  worker_id TEXT COLLATE "C",
  epoch BIGINT NOT NULL,
  attempt_count BIGINT NOT NULL,
  updated_at TEXT COLLATE "C",
  incarnation BIGINT NOT NULL,
  ready_us BIGINT,
  started_us BIGINT,
  percent BIGINT NOT NULL,
  exit_code BIGINT NOT NULL,
  stop BIGINT NOT NULL,
  failure_count BIGINT NOT NULL,
  crash_count BIGINT NOT NULL,
  stall_count BIGINT NOT NULL,
  release_count BIGINT NOT NULL,
  unstarted_count BIGINT NOT NULL,
  recovery BIGINT NOT NULL,
  level BIGINT,
  node BIGINT NOT NULL,
  id TEXT COLLATE "C" NOT NULL,
  name TEXT COLLATE "C" NOT NULL,
  created_at TEXT COLLATE "C",
  previous_worker TEXT COLLATE "C",
  step TEXT COLLATE "C",
  error_message TEXT COLLATE "C",
  granted_us BIGINT
) WITH (fillfactor = 70);
-- Only what a worker holds now.
CREATE INDEX idx_tasks_worker_state ON task_instances(worker_id, state)
  WHERE state = 'Scheduled' OR state = 'Running';
CREATE INDEX idx_tasks_state ON task_instances(state, task_key);

CREATE TABLE task_data (
  task_key BIGINT PRIMARY KEY,
  epoch BIGINT NOT NULL,
  checkpoint BYTEA,
  outputs BYTEA,
  upload BIGINT NOT NULL DEFAULT 0,
  upload_bytes BIGINT NOT NULL DEFAULT 0
);

-- Worker ids as short numbers, with what is counted per worker for ever.
CREATE TABLE worker_numbers (
  number BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
  worker_id TEXT COLLATE "C" NOT NULL UNIQUE,
  completed BIGINT NOT NULL,
  ended BIGINT NOT NULL
);

CREATE TABLE attempts (
  task_key BIGINT NOT NULL,
  epoch BIGINT NOT NULL,
  number BIGINT NOT NULL,
  worker_number BIGINT NOT NULL,
  incarnation BIGINT NOT NULL,
  granted_us BIGINT,
  started_us BIGINT,
  ended_us BIGINT,
  verdict BIGINT NOT NULL,
  code BIGINT NOT NULL,
  message TEXT COLLATE "C",
  PRIMARY KEY (task_key, epoch)
);

CREATE TABLE workers (
  id TEXT COLLATE "C" PRIMARY KEY,
  name TEXT COLLATE "C" NOT NULL,
  state TEXT COLLATE "C" NOT NULL,
  last_heartbeat TEXT COLLATE "C",
  created_at TEXT COLLATE "C",
  incarnation BIGINT NOT NULL,
  suspect BIGINT NOT NULL,
  cordoned BIGINT NOT NULL,
  times_lost BIGINT NOT NULL,
  machine TEXT COLLATE "C" NOT NULL,
  zone TEXT COLLATE "C" NOT NULL,
  worker_group TEXT COLLATE "C" NOT NULL,
  address TEXT COLLATE "C" NOT NULL,
  version TEXT COLLATE "C" NOT NULL,
  metadata TEXT COLLATE "C" NOT NULL,
  slots BIGINT NOT NULL,
  abilities TEXT COLLATE "C" NOT NULL,
  lost_lately TEXT COLLATE "C" NOT NULL DEFAULT '',
  end_told BIGINT NOT NULL DEFAULT 0,
  drain_within_us BIGINT,
  blame TEXT COLLATE "C" NOT NULL DEFAULT 'none',
  times_blamed BIGINT NOT NULL DEFAULT 0,
  probation_us BIGINT,
  session_hash TEXT COLLATE "C" NOT NULL DEFAULT '',
  registered_by TEXT COLLATE "C"
) WITH (fillfactor = 50);
CREATE INDEX idx_workers_state_heartbeat ON workers(state, last_heartbeat);

CREATE TABLE machines (
  id TEXT COLLATE "C" PRIMARY KEY,
  online BIGINT NOT NULL,
  since TEXT COLLATE "C"
);

CREATE TABLE recovery_log (
  recovery_id BIGINT PRIMARY KEY,
  worker_id TEXT COLLATE "C" NOT NULL,
  num_tasks BIGINT NOT NULL,
  timestamp TEXT COLLATE "C",
  incarnation BIGINT NOT NULL,
  evidence TEXT COLLATE "C" NOT NULL
);
CREATE INDEX idx_recovery_worker ON recovery_log(worker_id, recovery_id);
CREATE INDEX idx_recovery_time ON recovery_log(timestamp);

CREATE TABLE recovery_items (
  recovery_id BIGINT NOT NULL,
  task_key BIGINT NOT NULL,
  old_epoch BIGINT NOT NULL,
  new_epoch BIGINT NOT NULL,
  old_worker TEXT COLLATE "C" NOT NULL,
  new_worker TEXT COLLATE "C" NOT NULL,
  attempts BIGINT NOT NULL,
  PRIMARY KEY (recovery_id, task_key)
);
CREATE INDEX idx_recovery_items_task ON recovery_items(task_key, recovery_id);

CREATE TABLE dead_letters (
  task_key BIGINT NOT NULL,
  epoch BIGINT NOT NULL,
  reason TEXT COLLATE "C" NOT NULL,
  state BIGINT NOT NULL,
  at_us BIGINT,
  message TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (task_key, epoch)
);
CREATE INDEX idx_dead_letters_time ON dead_letters(at_us, task_key, epoch);
CREATE INDEX idx_dead_letters_state ON dead_letters(state, at_us, task_key, epoch);

CREATE TABLE partition_leases (
  topic TEXT COLLATE "C" NOT NULL,
  partition_id BIGINT NOT NULL,
  agent_id TEXT COLLATE "C" NOT NULL,
  lease_epoch BIGINT NOT NULL,
  lease_expires_at TEXT COLLATE "C",
  PRIMARY KEY (topic, partition_id)
);

CREATE TABLE queues (
  name TEXT COLLATE "C" PRIMARY KEY,
  paused BIGINT NOT NULL
);

-- How far the journal of each supervisor has been taken over.
CREATE TABLE supervisor_journals (
  supervisor TEXT COLLATE "C" PRIMARY KEY,
  journal TEXT COLLATE "C" NOT NULL,
  last BIGINT NOT NULL,
  at_us BIGINT NOT NULL
);

-- The events of one commit: lines of JSON packed with zstd.
CREATE TABLE events (
  first_seq BIGINT PRIMARY KEY,
  last_seq BIGINT NOT NULL,
  at_us BIGINT NOT NULL,
  block BYTEA NOT NULL
);
ALTER TABLE events ALTER COLUMN block SET STORAGE EXTERNAL;

-- How much an attempt wrote, and which bytes in the middle were cut out.
CREATE TABLE log_heads (
  task_key BIGINT NOT NULL,
  epoch BIGINT NOT NULL,
  size BIGINT NOT NULL,
  cut_begin BIGINT NOT NULL,
  cut_end BIGINT NOT NULL,
  PRIMARY KEY (task_key, epoch)
);

-- `data` is packed with zstd when it is shorter than `size`.
CREATE TABLE log_chunks (
  chunk BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
  task_key BIGINT NOT NULL,
  epoch BIGINT NOT NULL,
  "offset" BIGINT NOT NULL,
  size BIGINT NOT NULL,
  data BYTEA NOT NULL
);
ALTER TABLE log_chunks ALTER COLUMN data SET STORAGE EXTERNAL;
CREATE UNIQUE INDEX idx_log_chunks ON log_chunks(task_key, epoch, "offset");

CREATE TABLE checkpoint_pieces (
  piece BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
  task_key BIGINT NOT NULL,
  upload BIGINT NOT NULL,
  "offset" BIGINT NOT NULL,
  size BIGINT NOT NULL,
  data BYTEA NOT NULL
);
ALTER TABLE checkpoint_pieces ALTER COLUMN data SET STORAGE EXTERNAL;
CREATE UNIQUE INDEX idx_checkpoint_pieces ON checkpoint_pieces(task_key, upload, "offset");

CREATE TABLE tokens (
  name TEXT COLLATE "C" PRIMARY KEY,
  role BIGINT NOT NULL,
  hash TEXT COLLATE "C" NOT NULL,
  created_at TEXT COLLATE "C",
  revoked BIGINT NOT NULL,
  workers TEXT COLLATE "C" NOT NULL DEFAULT ''
);

-- Keys that all controllers of the cluster share. attempts: signs the tokens of attempts.
CREATE TABLE cluster_keys (
  name TEXT COLLATE "C" PRIMARY KEY,
  value TEXT COLLATE "C" NOT NULL
);

-- URLs that events are sent to, and how far that has come.
CREATE TABLE webhooks (
  name TEXT COLLATE "C" PRIMARY KEY,
  url TEXT COLLATE "C" NOT NULL,
  kinds TEXT COLLATE "C" NOT NULL,
  dag TEXT COLLATE "C" NOT NULL,
  secret TEXT COLLATE "C" NOT NULL,
  created_at TEXT COLLATE "C",
  after_seq BIGINT NOT NULL,
  delivered BIGINT NOT NULL,
  given_up BIGINT NOT NULL,
  missed BIGINT NOT NULL,
  delivered_at TEXT COLLATE "C",
  trouble TEXT COLLATE "C" NOT NULL
);

-- The vault: which secrets there are and what may use them, and their values, sealed.
CREATE TABLE secrets (
  name TEXT COLLATE "C" PRIMARY KEY,
  latest BIGINT NOT NULL,
  dag TEXT COLLATE "C" NOT NULL,
  queue TEXT COLLATE "C" NOT NULL,
  labels TEXT COLLATE "C",
  created_at TEXT COLLATE "C",
  updated_at TEXT COLLATE "C",
  updated_by TEXT COLLATE "C" NOT NULL,
  deleted BIGINT NOT NULL
);

CREATE TABLE secret_versions (
  name TEXT COLLATE "C" NOT NULL,
  version BIGINT NOT NULL,
  bytes BIGINT NOT NULL,
  created_at TEXT COLLATE "C",
  created_by TEXT COLLATE "C" NOT NULL,
  key_id TEXT COLLATE "C" NOT NULL,
  wrapped_key TEXT COLLATE "C" NOT NULL,
  sealed TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (name, version)
);

-- Who did what: one row for each request that changed something or was refused.
CREATE TABLE audit_log (
  seq BIGINT PRIMARY KEY,
  at_us BIGINT NOT NULL,
  who TEXT COLLATE "C" NOT NULL,
  address TEXT COLLATE "C" NOT NULL,
  operation TEXT COLLATE "C" NOT NULL,
  target TEXT COLLATE "C" NOT NULL,
  status BIGINT NOT NULL,
  code TEXT COLLATE "C" NOT NULL,
  count BIGINT NOT NULL
);

-- Forgotten runs whose rows are being removed in slices. Reads skip them.
CREATE TABLE doomed (
  run_id BIGINT PRIMARY KEY
);

-- A time of ours as a timestamp in UTC; NULL for what has no text or is outside of its years.
CREATE FUNCTION datetime(at TEXT) RETURNS TIMESTAMP LANGUAGE sql STABLE AS $$
  SELECT CASE WHEN at = 'now' THEN date_trunc('second', clock_timestamp() AT TIME ZONE 'UTC')
    WHEN at ~ '^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d' THEN at::timestamp END
$$;

-- The day as a number, as SQLite has it, so that the operators' queries run here as they stand.
CREATE FUNCTION julianday(at TEXT) RETURNS DOUBLE PRECISION LANGUAGE sql STABLE AS $$
  SELECT 2440587.5 + extract(epoch FROM CASE WHEN at = 'now'
    THEN clock_timestamp() AT TIME ZONE 'UTC' ELSE datetime(at) END)::double precision / 86400
$$;

CREATE VIEW worker_status AS
SELECT id, name, state, last_heartbeat,
  CAST(round((julianday('now') - julianday(last_heartbeat)) * 86400) AS BIGINT)
    AS seconds_since_heartbeat,
  created_at, machine, zone, worker_group, cordoned, suspect, times_lost
FROM workers;

CREATE VIEW agents AS
SELECT id AS agent_id, address, zone AS availability_zone, worker_group AS agent_group,
  CAST(extract(epoch FROM datetime(last_heartbeat)) * 1000 AS BIGINT) AS last_heartbeat,
  CAST(extract(epoch FROM datetime(created_at)) * 1000 AS BIGINT) AS started_at,
  metadata, state
FROM workers WHERE state NOT IN ('OFFLINE', 'INACTIVE');

CREATE VIEW partition_lease_status AS
SELECT topic, partition_id, agent_id, lease_epoch,
  CAST(extract(epoch FROM datetime(lease_expires_at)) * 1000 AS BIGINT) AS lease_expires_at
FROM partition_leases;

-- Waits until no session holds the lock of leaders, or for so long. True: it is free. An exception
-- that is caught here leaves no line in the log of the server.
CREATE FUNCTION wait_for_leader_lock(class INTEGER, key INTEGER, wait_ms INTEGER) RETURNS BOOLEAN
LANGUAGE plpgsql AS $$
BEGIN
  PERFORM set_config('lock_timeout', wait_ms::text, true);
  PERFORM pg_advisory_xact_lock_shared(class, key);
  RETURN true;
EXCEPTION WHEN lock_not_available THEN
  RETURN false;
END $$;
