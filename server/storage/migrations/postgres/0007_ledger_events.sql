-- A ledger tells of more than released versions: an entry has a kind, and what its kind does not have is null.
ALTER TABLE privacy_ledger
    -- `release`, `collection`, …
    ADD COLUMN kind TEXT COLLATE "C" NOT NULL DEFAULT 'release',
    -- What an entry says that charges nothing: JSON.
    ADD COLUMN detail TEXT COLLATE "C",
    ALTER COLUMN task_id DROP NOT NULL,
    ALTER COLUMN round_id DROP NOT NULL,
    ALTER COLUMN version DROP NOT NULL,
    -- Null where nothing is charged.
    ALTER COLUMN charge DROP NOT NULL,
    DROP CONSTRAINT privacy_ledger_round_id_key,
    DROP CONSTRAINT privacy_ledger_task_id_version_key;
ALTER TABLE privacy_ledger ALTER COLUMN kind DROP DEFAULT;
ALTER TABLE privacy_ledger RENAME COLUMN released_at TO happened_at;

CREATE UNIQUE INDEX privacy_ledger_releases ON privacy_ledger (task_id, version) WHERE kind = 'release';
CREATE UNIQUE INDEX privacy_ledger_rounds ON privacy_ledger (round_id) WHERE kind = 'release';
CREATE UNIQUE INDEX privacy_ledger_collections ON privacy_ledger (task_id) WHERE kind = 'collection';
