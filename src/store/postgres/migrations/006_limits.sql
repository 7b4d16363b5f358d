-- Runs whose DAG limits how many of them go on at once: the key of their group, whether they still
-- wait for their turn, and why they were ended because of others.
ALTER TABLE runs ADD COLUMN group_key TEXT COLLATE "C";
ALTER TABLE runs ADD COLUMN waits_for_turn BIGINT NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN reason TEXT COLLATE "C";

-- Named limits of tasks. `granted` is a list: how many were started in each slice of the window, the
-- newest slice, which began at `newest_us`, first.
CREATE TABLE limits (
  name TEXT COLLATE "C" PRIMARY KEY,
  slots BIGINT NOT NULL,
  rate BIGINT NOT NULL,
  window_us BIGINT,
  newest_us BIGINT,
  granted TEXT COLLATE "C",
  set_us BIGINT NOT NULL,
  set_by TEXT COLLATE "C"
);
