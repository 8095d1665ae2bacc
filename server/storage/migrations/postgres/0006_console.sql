-- What the console asks for: sessions of people, tasks by their names, and what happened in the last hours.

-- Someone who signed in with an API key and is known by a cookie.
CREATE TABLE sessions (
    id TEXT NOT NULL PRIMARY KEY,
    api_key_id TEXT NOT NULL REFERENCES api_keys (id),
    secret_hash BYTEA NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);
CREATE INDEX sessions_by_expiry ON sessions (expires_at);

-- By what tasks are looked for: the name in lower case, and the population.
ALTER TABLE tasks ADD COLUMN name_lower TEXT NOT NULL DEFAULT '';
ALTER TABLE tasks ADD COLUMN population TEXT NOT NULL DEFAULT '';
UPDATE tasks SET name_lower = lower(description::json ->> 'name'), population = description::json ->> 'population';

CREATE INDEX model_versions_by_time ON model_versions (organisation_id, created_at);
CREATE INDEX client_updates_by_time ON client_updates (organisation_id, accepted_at);
CREATE INDEX rounds_by_time ON rounds (organisation_id, created_at);
CREATE INDEX models_by_time ON models (organisation_id, created_at);
CREATE INDEX reports_by_time ON reports (organisation_id, reported_at);
