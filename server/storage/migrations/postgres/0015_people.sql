-- Sessions of people whom an identity provider confirmed: they have no key, but these columns.
ALTER TABLE sessions ALTER COLUMN api_key_id DROP NOT NULL;
ALTER TABLE sessions ADD COLUMN organisation_id TEXT REFERENCES organisations (id);
ALTER TABLE sessions ADD COLUMN provider TEXT;
ALTER TABLE sessions ADD COLUMN subject TEXT;
ALTER TABLE sessions ADD COLUMN name TEXT;
ALTER TABLE sessions ADD COLUMN role TEXT;
