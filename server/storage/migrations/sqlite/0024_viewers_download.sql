-- Whether viewers may download the models of the population's tasks: 1 or 0.
ALTER TABLE populations ADD COLUMN viewers_download INTEGER NOT NULL DEFAULT 1;
