-- The place of an accepted update in the object storage, as JSON.
ALTER TABLE client_updates ADD COLUMN place TEXT;

-- The coordinators that share this database. Each renews its row while it runs. A crash of the database may empty the
-- table: the next heartbeats fill it again.
CREATE UNLOGGED TABLE processes (
    id TEXT COLLATE "C" PRIMARY KEY,
    start_id TEXT NOT NULL,
    place TEXT NOT NULL,
    version TEXT NOT NULL,
    seen_at BIGINT NOT NULL
);
