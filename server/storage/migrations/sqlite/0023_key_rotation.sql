-- When an API key or a session was last used, to some minutes, and the secret that a rotated key had before.
ALTER TABLE api_keys ADD COLUMN used_at INTEGER;
ALTER TABLE api_keys ADD COLUMN rotated_at INTEGER;
ALTER TABLE api_keys ADD COLUMN previous_hash BLOB;
ALTER TABLE api_keys ADD COLUMN previous_until INTEGER;
ALTER TABLE sessions ADD COLUMN used_at INTEGER;
