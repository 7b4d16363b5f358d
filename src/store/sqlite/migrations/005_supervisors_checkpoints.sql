-- Losses of a worker that are remembered to tell whether it is flapping (microseconds since 1970,
-- oldest first, separated by commas), and the newest life whose end is in the monitor log.
ALTER TABLE workers ADD COLUMN lost_lately TEXT NOT NULL DEFAULT '';
ALTER TABLE workers ADD COLUMN end_told INTEGER NOT NULL DEFAULT 0;

-- How far the journal of each supervisor has been taken over.
CREATE TABLE supervisor_journals (
  supervisor TEXT PRIMARY KEY,
  journal TEXT NOT NULL,
  last INTEGER NOT NULL,
  at_us INTEGER NOT NULL
) WITHOUT ROWID;

-- A checkpoint that is kept in pieces; 0: none.
ALTER TABLE task_data ADD COLUMN upload INTEGER NOT NULL DEFAULT 0;
ALTER TABLE task_data ADD COLUMN upload_bytes INTEGER NOT NULL DEFAULT 0;

-- `data` is packed with zstd when it is shorter than `size`.
CREATE TABLE checkpoint_pieces (
  piece INTEGER PRIMARY KEY,
  task_key INTEGER NOT NULL,
  upload INTEGER NOT NULL,
  offset INTEGER NOT NULL,
  size INTEGER NOT NULL,
  data BLOB NOT NULL
);
CREATE UNIQUE INDEX idx_checkpoint_pieces ON checkpoint_pieces(task_key, upload, offset);
