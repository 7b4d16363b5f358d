-- Runs whose DAG limits how many of them go on at once: the key of their group, whether they still
-- wait for their turn, and why they were ended because of others.
ALTER TABLE runs ADD COLUMN group_key TEXT;
ALTER TABLE runs ADD COLUMN waits_for_turn INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN reason TEXT;
