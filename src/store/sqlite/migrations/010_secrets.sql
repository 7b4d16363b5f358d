-- The vault: which secrets there are and what may use them, and their values, sealed.
CREATE TABLE secrets (
  name TEXT PRIMARY KEY,
  latest INTEGER NOT NULL,
  dag TEXT NOT NULL,
  queue TEXT NOT NULL,
  labels TEXT,
  created_at TEXT,
  updated_at TEXT,
  updated_by TEXT NOT NULL,
  deleted INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE secret_versions (
  name TEXT NOT NULL,
  version INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  created_at TEXT,
  created_by TEXT NOT NULL,
  key_id TEXT NOT NULL,
  wrapped_key TEXT NOT NULL,
  sealed TEXT NOT NULL,
  PRIMARY KEY (name, version)
) WITHOUT ROWID;
