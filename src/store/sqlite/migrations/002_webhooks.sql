-- Addresses that events are told to, and how far that has come.
CREATE TABLE webhooks (
  name TEXT PRIMARY KEY,
  url TEXT NOT NULL,
  kinds TEXT NOT NULL,
  dag TEXT NOT NULL,
  secret TEXT NOT NULL,
  created_at TEXT,
  after_seq INTEGER NOT NULL,
  delivered INTEGER NOT NULL,
  given_up INTEGER NOT NULL,
  missed INTEGER NOT NULL,
  delivered_at TEXT,
  trouble TEXT NOT NULL
) WITHOUT ROWID;
