-- The privacy ledgers: one of each population, append-only, each entry with the digest of the one before.
CREATE TABLE privacy_ledger (
    organisation_id TEXT NOT NULL,
    population TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    task_id TEXT NOT NULL,
    round_id TEXT NOT NULL UNIQUE,
    version INTEGER NOT NULL,
    released_at INTEGER NOT NULL,
    -- Noise multiplier and participation: JSON.
    charge TEXT NOT NULL,
    previous TEXT NOT NULL,
    digest TEXT NOT NULL,
    PRIMARY KEY (organisation_id, population, sequence),
    UNIQUE (task_id, version),
    FOREIGN KEY (task_id, organisation_id) REFERENCES tasks (id, organisation_id)
) STRICT;

-- Blobs of versions that are about to be released: digests, JSON.
CREATE TABLE unreleased (
    round_id TEXT NOT NULL PRIMARY KEY,
    blobs TEXT NOT NULL
) STRICT;
