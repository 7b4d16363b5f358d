-- Name of the token that submitted a run; NULL: no token was needed, or an earlier version wrote it.
ALTER TABLE runs ADD COLUMN submitted_by TEXT;
