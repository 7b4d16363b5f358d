-- Who did what: one row for each request that changed something or was refused. `seq` is the time in
-- microseconds, or one more than the row before; `count` is more than 1 where requests were merged.
CREATE TABLE audit_log (
  seq INTEGER PRIMARY KEY,
  at_us INTEGER NOT NULL,
  who TEXT NOT NULL,
  address TEXT NOT NULL,
  operation TEXT NOT NULL,
  target TEXT NOT NULL,
  status INTEGER NOT NULL,
  code TEXT NOT NULL,
  count INTEGER NOT NULL
);
