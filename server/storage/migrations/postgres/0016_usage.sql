-- What an organisation may use, as JSON, and what its clients used on each day.
ALTER TABLE organisations ADD COLUMN quotas TEXT NOT NULL DEFAULT '{}';
CREATE TABLE organisation_usage (
    organisation_id TEXT NOT NULL REFERENCES organisations (id),
    -- Days since 1970-01-01, in UTC.
    day BIGINT NOT NULL,
    requests BIGINT NOT NULL,
    received_bytes BIGINT NOT NULL,
    sent_bytes BIGINT NOT NULL,
    updates BIGINT NOT NULL,
    PRIMARY KEY (organisation_id, day)
);
-- Counts an organisation's clients without reading their rows.
CREATE INDEX clients_enrolled ON clients (organisation_id) WHERE revoked_at IS NULL;
