-- How an update's values travelled: a codec, as tasks name it, or `float32`. Of updates from before it is not known.
ALTER TABLE client_updates ADD COLUMN codec TEXT NOT NULL DEFAULT 'unknown';
