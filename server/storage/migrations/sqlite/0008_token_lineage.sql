-- The token with which a client enrolled first. Of clients from before it is not known.
ALTER TABLE clients ADD COLUMN token_id TEXT REFERENCES tokens (id);
CREATE INDEX clients_by_token ON clients (token_id, enrolled_at, id) WHERE token_id IS NOT NULL;

-- When a token was closed to new clients, because one that had enrolled with it was revoked.
ALTER TABLE tokens ADD COLUMN closed_at INTEGER;
