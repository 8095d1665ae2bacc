-- Sessions of people whom an identity provider confirmed. SQLite cannot drop NOT NULL, so the table is written again.
CREATE TABLE sessions_of_both (
    id TEXT NOT NULL PRIMARY KEY,
    -- Either the key that somebody signed in with, or the columns of a person.
    api_key_id TEXT REFERENCES api_keys (id),
    organisation_id TEXT REFERENCES organisations (id),
    provider TEXT,
    subject TEXT,
    name TEXT,
    role TEXT,
    secret_hash BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT;
INSERT INTO sessions_of_both (id, api_key_id, secret_hash, created_at, expires_at)
    SELECT id, api_key_id, secret_hash, created_at, expires_at FROM sessions;
DROP TABLE sessions;
ALTER TABLE sessions_of_both RENAME TO sessions;
CREATE INDEX sessions_by_expiry ON sessions (expires_at);
