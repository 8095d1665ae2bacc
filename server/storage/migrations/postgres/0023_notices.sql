-- The revision of a task's state that people were told of, the latest standstill that they were told of, and whether they were told that its privacy budget is nearly spent. Nobody is told of what happened before.
ALTER TABLE tasks ADD COLUMN told_revision BIGINT NOT NULL DEFAULT 0;
ALTER TABLE tasks ADD COLUMN told_stall BIGINT;
ALTER TABLE tasks ADD COLUMN told_budget BIGINT NOT NULL DEFAULT 0;
UPDATE tasks SET told_revision = revision;
CREATE INDEX tasks_untold ON tasks (id) WHERE told_revision < revision;
