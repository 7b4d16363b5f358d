-- What somebody outside told a run: signals, and answers to approvals. Each is taken by one task.
CREATE TABLE run_signals (
  run_id BIGINT NOT NULL,
  number BIGINT NOT NULL,
  kind BIGINT NOT NULL,
  name TEXT COLLATE "C" NOT NULL,
  data TEXT COLLATE "C" NOT NULL,
  comment TEXT COLLATE "C" NOT NULL,
  idempotency_key TEXT COLLATE "C" NOT NULL,
  sent_by TEXT COLLATE "C",
  at_us BIGINT NOT NULL,
  taken_by BIGINT,
  taken_epoch BIGINT NOT NULL,
  PRIMARY KEY (run_id, number)
);

-- Why the `finally` tasks of a run were stopped.
ALTER TABLE runs ADD COLUMN finally_ending BIGINT NOT NULL DEFAULT 0;
