-- The privacy ledgers: one of each population, append-only, each entry with the digest of the one before.
CREATE TABLE privacy_ledger (
    organisation_id TEXT COLLATE "C" NOT NULL,
    population TEXT COLLATE "C" NOT NULL,
    sequence BIGINT NOT NULL,
    task_id TEXT COLLATE "C" NOT NULL,
    round_id TEXT COLLATE "C" NOT NULL UNIQUE,
    version BIGINT NOT NULL,
    released_at BIGINT NOT NULL,
    -- Noise multiplier and participation: JSON.
    charge TEXT COLLATE "C" NOT NULL,
    previous TEXT COLLATE "C" NOT NULL,
    digest TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (organisation_id, population, sequence),
    UNIQUE (task_id, version),
    FOREIGN KEY (task_id, organisation_id) REFERENCES tasks (id, organisation_id)
);

-- Blobs of versions that are about to be released: digests, JSON.
CREATE TABLE unreleased (
    round_id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    blobs TEXT COLLATE "C" NOT NULL
);
