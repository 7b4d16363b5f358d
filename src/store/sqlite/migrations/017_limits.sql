-- Named limits of tasks. `granted` is a list: how many were started in each slice of the window, the
-- newest slice, which began at `newest_us`, first.
CREATE TABLE limits (
  name TEXT PRIMARY KEY,
  slots INTEGER NOT NULL,
  rate INTEGER NOT NULL,
  window_us INTEGER,
  newest_us INTEGER,
  granted TEXT,
  set_us INTEGER NOT NULL,
  set_by TEXT
) WITHOUT ROWID;
