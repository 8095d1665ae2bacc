-- When an organisation was closed. Its credentials are revoked, and its data stays.
ALTER TABLE organisations ADD COLUMN closed_at BIGINT;
