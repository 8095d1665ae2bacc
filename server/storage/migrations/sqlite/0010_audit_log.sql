-- The last entry of each organisation's audit log. Its row is locked while an entry is appended.
CREATE TABLE audit_heads (
    organisation_id TEXT NOT NULL PRIMARY KEY REFERENCES organisations (id),
    number INTEGER NOT NULL,
    digest TEXT
) STRICT;

-- The audit logs: one of each organisation, append-only, each entry with the digest of the one before.
CREATE TABLE audit_entries (
    organisation_id TEXT NOT NULL REFERENCES organisations (id),
    number INTEGER NOT NULL,
    -- JSON. The digest covers exactly these bytes.
    record TEXT NOT NULL,
    digest TEXT NOT NULL,
    PRIMARY KEY (organisation_id, number)
) STRICT;
