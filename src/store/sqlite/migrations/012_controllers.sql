-- Where the leader is reached and since when it leads, and the controllers that were there lately.
ALTER TABLE leadership ADD COLUMN url TEXT NOT NULL DEFAULT '';
ALTER TABLE leadership ADD COLUMN since_us INTEGER NOT NULL DEFAULT 0;

CREATE TABLE controllers (
  id TEXT PRIMARY KEY,
  url TEXT NOT NULL,
  seen_at TEXT
) WITHOUT ROWID;
