-- A ledger tells of more than released versions: an entry has a kind, and what its kind does not have is null.
CREATE TABLE privacy_ledger_of_events (
    organisation_id TEXT NOT NULL,
    population TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    -- `release`, `collection`, …
    kind TEXT NOT NULL,
    task_id TEXT,
    round_id TEXT,
    version INTEGER,
    happened_at INTEGER NOT NULL,
    -- Noise multiplier and participation: JSON. Null where nothing is charged.
    charge TEXT,
    -- What an entry says that charges nothing: JSON.
    detail TEXT,
    previous TEXT NOT NULL,
    digest TEXT NOT NULL,
    PRIMARY KEY (organisation_id, population, sequence),
    FOREIGN KEY (task_id, organisation_id) REFERENCES tasks (id, organisation_id)
) STRICT;
INSERT INTO privacy_ledger_of_events (organisation_id, population, sequence, kind, task_id, round_id, version,
    happened_at, charge, previous, digest)
SELECT organisation_id, population, sequence, 'release', task_id, round_id, version, released_at, charge, previous, digest
FROM privacy_ledger;
DROP TABLE privacy_ledger;
ALTER TABLE privacy_ledger_of_events RENAME TO privacy_ledger;

CREATE UNIQUE INDEX privacy_ledger_releases ON privacy_ledger (task_id, version) WHERE kind = 'release';
CREATE UNIQUE INDEX privacy_ledger_rounds ON privacy_ledger (round_id) WHERE kind = 'release';
CREATE UNIQUE INDEX privacy_ledger_collections ON privacy_ledger (task_id) WHERE kind = 'collection';
