-- Models that apps should use: a version of a task, for a share of the devices of a channel. Shares are in millionths. `held` says why nobody gets it; it is empty while devices do. `loaded` and `failed` count the devices in rollout_reports, also those whose rows are deleted.
CREATE TABLE rollouts (
    organisation_id TEXT COLLATE "C" NOT NULL,
    population TEXT COLLATE "C" NOT NULL,
    number BIGINT NOT NULL,
    channel TEXT COLLATE "C" NOT NULL,
    task_id TEXT COLLATE "C" NOT NULL,
    version BIGINT NOT NULL,
    share BIGINT NOT NULL,
    failures_max BIGINT NOT NULL,
    held TEXT,
    loaded BIGINT NOT NULL,
    failed BIGINT NOT NULL,
    last_failure TEXT,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (organisation_id, population, number),
    FOREIGN KEY (organisation_id, population) REFERENCES populations (organisation_id, name),
    FOREIGN KEY (task_id, version) REFERENCES model_versions (task_id, number)
);
CREATE INDEX rollouts_by_channel ON rollouts (organisation_id, population, channel, number);

-- Which devices have reported about a rollout; `failed` is 1 for those that could not use its model. Only the two newest rollouts of a channel have rows.
CREATE TABLE rollout_reports (
    organisation_id TEXT COLLATE "C" NOT NULL,
    population TEXT COLLATE "C" NOT NULL,
    number BIGINT NOT NULL,
    client_id TEXT COLLATE "C" NOT NULL REFERENCES clients (id),
    failed BIGINT NOT NULL,
    PRIMARY KEY (organisation_id, population, number, client_id),
    FOREIGN KEY (organisation_id, population, number) REFERENCES rollouts (organisation_id, population, number)
);
