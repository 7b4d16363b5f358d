-- What somebody outside told a run: signals, and answers to approvals. Each is taken by one task.
CREATE TABLE run_signals (
  run_id INTEGER NOT NULL,
  number INTEGER NOT NULL,
  kind INTEGER NOT NULL,
  name TEXT NOT NULL,
  data TEXT NOT NULL,
  comment TEXT NOT NULL,
  idempotency_key TEXT NOT NULL,
  sent_by TEXT,
  at_us INTEGER NOT NULL,
  taken_by INTEGER,
  taken_epoch INTEGER NOT NULL,
  PRIMARY KEY (run_id, number)
) WITHOUT ROWID;

-- Why the `finally` tasks of a run were stopped.
ALTER TABLE runs ADD COLUMN finally_ending INTEGER NOT NULL DEFAULT 0;
