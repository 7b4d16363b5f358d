-- Maps whose items became known while the run went on: pairs of a node and its number of tasks.
ALTER TABLE runs ADD COLUMN late_maps TEXT COLLATE "C";
