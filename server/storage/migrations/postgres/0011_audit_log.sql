-- The last entry of each organisation's audit log. Its row is locked while an entry is appended.
CREATE TABLE audit_heads (
    organisation_id TEXT COLLATE "C" NOT NULL PRIMARY KEY REFERENCES organisations (id),
    number BIGINT NOT NULL,
    digest TEXT COLLATE "C"
);

-- The audit logs: one of each organisation, append-only, each entry with the digest of the one before.
CREATE TABLE audit_entries (
    organisation_id TEXT COLLATE "C" NOT NULL REFERENCES organisations (id),
    number BIGINT NOT NULL,
    -- JSON. The digest covers exactly these bytes.
    record TEXT COLLATE "C" NOT NULL,
    digest TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (organisation_id, number)
);
