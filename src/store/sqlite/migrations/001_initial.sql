-- The first layout. On disk: never edited, later changes are new migrations.
--
-- Times that people read are text in UTC, 'YYYY-MM-DD HH:MM:SS.ffffff', NULL for "never"; columns
-- ending in _us are microseconds since 1970. task_key is run_id << 24 | index in the run.
-- What people read (id, state, times) is stored as text: generated columns save space but SQLite
-- computes all of them at every write, which costs more than the bytes.

CREATE TABLE leadership (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  term INTEGER NOT NULL,
  holder TEXT NOT NULL,
  clock_us INTEGER NOT NULL,
  probes INTEGER NOT NULL
);
INSERT INTO leadership VALUES (1, 0, '', 0, 0);

CREATE TABLE counters (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  next_run INTEGER NOT NULL,
  next_recovery INTEGER NOT NULL,
  next_event INTEGER NOT NULL,
  waiting INTEGER NOT NULL,
  queued INTEGER NOT NULL,
  scheduled INTEGER NOT NULL,
  running INTEGER NOT NULL,
  completed INTEGER NOT NULL,
  failed INTEGER NOT NULL,
  cancelled INTEGER NOT NULL,
  skipped INTEGER NOT NULL
);
INSERT INTO counters VALUES (1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0);

-- One row per definition, by the digest of its specification; `spec` is JSON packed with zstd.
CREATE TABLE dag_specs (
  digest INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  nodes INTEGER NOT NULL,
  tasks INTEGER NOT NULL,
  levels INTEGER NOT NULL,
  applied INTEGER NOT NULL,
  spec BLOB NOT NULL
);

-- How many kept runs use a definition; apart from it because the definition may be large.
CREATE TABLE dag_uses (
  digest INTEGER PRIMARY KEY,
  runs INTEGER NOT NULL
);

CREATE TABLE dags (
  name TEXT PRIMARY KEY,
  digest INTEGER NOT NULL,
  updated_at TEXT
) WITHOUT ROWID;

CREATE TABLE runs (
  run_id INTEGER PRIMARY KEY,
  state TEXT NOT NULL,
  dag TEXT NOT NULL,
  digest INTEGER NOT NULL,
  ending INTEGER NOT NULL,
  paused INTEGER NOT NULL,
  levels_passed INTEGER NOT NULL,
  created_at TEXT,
  finished_at TEXT,
  timeout_at TEXT,
  stopped TEXT,
  waiting INTEGER NOT NULL,
  queued INTEGER NOT NULL,
  scheduled INTEGER NOT NULL,
  running INTEGER NOT NULL,
  completed INTEGER NOT NULL,
  failed INTEGER NOT NULL,
  cancelled INTEGER NOT NULL,
  skipped INTEGER NOT NULL,
  idempotency_key TEXT,
  request_digest INTEGER NOT NULL,
  labels TEXT,
  params TEXT NOT NULL
);
CREATE INDEX idx_runs_state ON runs(state);
CREATE INDEX idx_runs_dag ON runs(dag);
CREATE INDEX idx_runs_finished ON runs(finished_at)
  WHERE state = 'Completed' OR state = 'Failed' OR state = 'Cancelled';
CREATE UNIQUE INDEX idx_runs_key ON runs(idempotency_key) WHERE idempotency_key IS NOT NULL;

CREATE TABLE run_labels (
  name TEXT NOT NULL,
  value TEXT NOT NULL,
  run_id INTEGER NOT NULL,
  PRIMARY KEY (name, value, run_id)
) WITHOUT ROWID;
CREATE INDEX idx_run_labels_run ON run_labels(run_id);

CREATE TABLE task_instances (
  task_key INTEGER PRIMARY KEY,
  state TEXT NOT NULL,
  worker_id TEXT,
  epoch INTEGER NOT NULL,
  attempt_count INTEGER NOT NULL,
  updated_at TEXT,
  incarnation INTEGER NOT NULL,
  ready_us INTEGER,
  started_us INTEGER,
  percent INTEGER NOT NULL,
  exit_code INTEGER NOT NULL,
  stop INTEGER NOT NULL,
  failure_count INTEGER NOT NULL,
  crash_count INTEGER NOT NULL,
  stall_count INTEGER NOT NULL,
  release_count INTEGER NOT NULL,
  unstarted_count INTEGER NOT NULL,
  recovery INTEGER NOT NULL,
  level INTEGER,
  node INTEGER NOT NULL,
  id TEXT NOT NULL,
  name TEXT NOT NULL,
  created_at TEXT,
  previous_worker TEXT,
  step TEXT,
  error_message TEXT
);
-- Only what a worker holds now.
CREATE INDEX idx_tasks_worker_state ON task_instances(worker_id, state)
  WHERE state = 'Scheduled' OR state = 'Running';
-- Not the states that nearly every task passes through or ends in: Scheduled and Running are found
-- above, Completed by walking the table.
CREATE INDEX idx_tasks_state ON task_instances(state)
  WHERE state = 'Waiting' OR state = 'Queued' OR state = 'Failed' OR state = 'Cancelled'
     OR state = 'Skipped';

CREATE TABLE task_data (
  task_key INTEGER PRIMARY KEY,
  epoch INTEGER NOT NULL,
  checkpoint BLOB,
  outputs BLOB
);

-- Worker ids as short numbers, with what is counted per worker for ever.
CREATE TABLE worker_numbers (
  number INTEGER PRIMARY KEY,
  worker_id TEXT NOT NULL UNIQUE,
  completed INTEGER NOT NULL,
  ended INTEGER NOT NULL
);

CREATE TABLE attempts (
  task_key INTEGER NOT NULL,
  epoch INTEGER NOT NULL,
  number INTEGER NOT NULL,
  worker_number INTEGER NOT NULL,
  incarnation INTEGER NOT NULL,
  granted_us INTEGER,
  started_us INTEGER,
  ended_us INTEGER,
  verdict INTEGER NOT NULL,
  code INTEGER NOT NULL,
  message TEXT,
  PRIMARY KEY (task_key, epoch)
) WITHOUT ROWID;

CREATE TABLE workers (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  state TEXT NOT NULL,
  last_heartbeat TEXT,
  created_at TEXT,
  incarnation INTEGER NOT NULL,
  suspect INTEGER NOT NULL,
  cordoned INTEGER NOT NULL,
  times_lost INTEGER NOT NULL,
  machine TEXT NOT NULL,
  zone TEXT NOT NULL,
  worker_group TEXT NOT NULL,
  address TEXT NOT NULL,
  version TEXT NOT NULL,
  metadata TEXT NOT NULL,
  slots INTEGER NOT NULL,
  abilities TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX idx_workers_state_heartbeat ON workers(state, last_heartbeat);

CREATE TABLE machines (
  id TEXT PRIMARY KEY,
  online INTEGER NOT NULL,
  since TEXT
) WITHOUT ROWID;

CREATE TABLE recovery_log (
  recovery_id INTEGER PRIMARY KEY,
  worker_id TEXT NOT NULL,
  num_tasks INTEGER NOT NULL,
  timestamp TEXT,
  incarnation INTEGER NOT NULL,
  evidence TEXT NOT NULL
);
CREATE INDEX idx_recovery_worker ON recovery_log(worker_id);
CREATE INDEX idx_recovery_time ON recovery_log(timestamp);

CREATE TABLE recovery_items (
  recovery_id INTEGER NOT NULL,
  task_key INTEGER NOT NULL,
  old_epoch INTEGER NOT NULL,
  new_epoch INTEGER NOT NULL,
  old_worker TEXT NOT NULL,
  new_worker TEXT NOT NULL,
  attempts INTEGER NOT NULL,
  PRIMARY KEY (recovery_id, task_key)
) WITHOUT ROWID;
CREATE INDEX idx_recovery_items_task ON recovery_items(task_key);

CREATE TABLE dead_letters (
  task_key INTEGER NOT NULL,
  epoch INTEGER NOT NULL,
  reason TEXT NOT NULL,
  state INTEGER NOT NULL,
  at_us INTEGER,
  message TEXT NOT NULL,
  PRIMARY KEY (task_key, epoch)
) WITHOUT ROWID;
CREATE INDEX idx_dead_letters_time ON dead_letters(at_us, task_key, epoch);
CREATE INDEX idx_dead_letters_state ON dead_letters(state, at_us, task_key, epoch);

CREATE TABLE partition_leases (
  topic TEXT NOT NULL,
  partition_id INTEGER NOT NULL,
  agent_id TEXT NOT NULL,
  lease_epoch INTEGER NOT NULL,
  lease_expires_at TEXT,
  PRIMARY KEY (topic, partition_id)
) WITHOUT ROWID;

CREATE TABLE queues (
  name TEXT PRIMARY KEY,
  paused INTEGER NOT NULL
) WITHOUT ROWID;

-- The events of one commit: lines of JSON packed with zstd.
CREATE TABLE events (
  first_seq INTEGER PRIMARY KEY,
  last_seq INTEGER NOT NULL,
  at_us INTEGER NOT NULL,
  block BLOB NOT NULL
);

-- How much an attempt wrote, and which bytes in the middle were cut out.
CREATE TABLE log_heads (
  task_key INTEGER NOT NULL,
  epoch INTEGER NOT NULL,
  size INTEGER NOT NULL,
  cut_begin INTEGER NOT NULL,
  cut_end INTEGER NOT NULL,
  PRIMARY KEY (task_key, epoch)
) WITHOUT ROWID;

-- `data` is packed with zstd when it is shorter than `size`.
CREATE TABLE log_chunks (
  chunk INTEGER PRIMARY KEY,
  task_key INTEGER NOT NULL,
  epoch INTEGER NOT NULL,
  offset INTEGER NOT NULL,
  size INTEGER NOT NULL,
  data BLOB NOT NULL
);
CREATE UNIQUE INDEX idx_log_chunks ON log_chunks(task_key, epoch, offset);

CREATE TABLE tokens (
  name TEXT PRIMARY KEY,
  role INTEGER NOT NULL,
  hash TEXT NOT NULL,
  created_at TEXT,
  revoked INTEGER NOT NULL
) WITHOUT ROWID;

-- Forgotten runs whose rows are being removed in slices. Reads skip them.
CREATE TABLE doomed (
  run_id INTEGER PRIMARY KEY
);
