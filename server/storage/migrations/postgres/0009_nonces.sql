-- What several processes must not take twice. Not logged: a row costs no wait for the disk, and a crash of the database
-- empties the table, after which each process still knows what it took itself.
CREATE UNLOGGED TABLE nonces (
    -- A client's id, or the beginning of the hash of a key that is being enrolled.
    sender BYTEA NOT NULL,
    -- Part of the nonce's hash.
    part BIGINT NOT NULL,
    taken_at BIGINT NOT NULL,
    PRIMARY KEY (sender, part)
);
CREATE INDEX nonces_by_age ON nonces (taken_at);
