-- Models that apps should use: a version of a task, for a share of the devices of a channel. Shares are in millionths. `held` says why nobody gets it; it is empty while devices do. `loaded` and `failed` count the devices in rollout_reports, also those whose rows are deleted.
CREATE TABLE rollouts (
    organisation_id TEXT NOT NULL,
    population TEXT NOT NULL,
    number INTEGER NOT NULL,
    channel TEXT NOT NULL,
    task_id TEXT NOT NULL,
    version INTEGER NOT NULL,
    share INTEGER NOT NULL,
    failures_max INTEGER NOT NULL,
    held TEXT,
    loaded INTEGER NOT NULL,
    failed INTEGER NOT NULL,
    last_failure TEXT,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (organisation_id, population, number),
    FOREIGN KEY (organisation_id, population) REFERENCES populations (organisation_id, name),
    FOREIGN KEY (task_id, version) REFERENCES model_versions (task_id, number)
) STRICT;
CREATE INDEX rollouts_by_channel ON rollouts (organisation_id, population, channel, number);

-- Which devices have reported about a rollout; `failed` is 1 for those that could not use its model. Only the two newest rollouts of a channel have rows.
CREATE TABLE rollout_reports (
    organisation_id TEXT NOT NULL,
    population TEXT NOT NULL,
    number INTEGER NOT NULL,
    client_id TEXT NOT NULL REFERENCES clients (id),
    failed INTEGER NOT NULL,
    PRIMARY KEY (organisation_id, population, number, client_id),
    FOREIGN KEY (organisation_id, population, number) REFERENCES rollouts (organisation_id, population, number)
) STRICT;
