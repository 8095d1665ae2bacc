-- The place of an accepted update in the object storage, as JSON.
ALTER TABLE client_updates ADD COLUMN place TEXT;
