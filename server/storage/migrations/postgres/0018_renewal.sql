-- How the coordinator asks a person's identity provider again. The refresh token is encrypted with the session's secret.
ALTER TABLE sessions ADD COLUMN renew_at BIGINT;
ALTER TABLE sessions ADD COLUMN confirmed_until BIGINT;
ALTER TABLE sessions ADD COLUMN refresh_token BYTEA;
