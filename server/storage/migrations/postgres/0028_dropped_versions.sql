-- When the weights of a version were dropped, because newer ones took their place; NULL while they are kept. The row stays.
ALTER TABLE model_versions ADD COLUMN dropped_at BIGINT;
CREATE INDEX model_versions_kept ON model_versions (task_id, number) WHERE dropped_at IS NULL;
