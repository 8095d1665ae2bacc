-- When an API key stops being valid; NULL for never.
ALTER TABLE api_keys ADD COLUMN expires_at BIGINT;
