-- Who a worker is: the hash of the secret that each life is given when it registers, and the token it
-- registered with. Lives that an earlier version registered have no secret and need none until they
-- register again.
ALTER TABLE workers ADD COLUMN session_hash TEXT NOT NULL DEFAULT '';
ALTER TABLE workers ADD COLUMN registered_by TEXT;
-- Which workers a token may act for, separated by commas; one may end with *. Empty: all.
ALTER TABLE tokens ADD COLUMN workers TEXT NOT NULL DEFAULT '';
-- Keys that all controllers of the cluster share. attempts: signs the tokens of attempts.
CREATE TABLE cluster_keys (
  name TEXT PRIMARY KEY NOT NULL,
  value TEXT NOT NULL
) STRICT;
