-- Rounds in which clients start and report all the time, evaluations, and what clients have done for a task.

-- What a round is for, and how many updates it takes at most; none is without bound.
ALTER TABLE rounds ADD COLUMN purpose TEXT COLLATE "C" NOT NULL DEFAULT 'training';
ALTER TABLE rounds ADD COLUMN updates_max BIGINT;
-- A task has at most one open round of each purpose.
DROP INDEX rounds_open;
CREATE UNIQUE INDEX rounds_open ON rounds (task_id, purpose) WHERE is_open = 1;

-- In a flow an assignment outlives the round in which it was given; `client_updates.round_id` is the round in
-- which the update counts.
CREATE INDEX assignments_of_task ON assignments (task_id) WHERE status_name = 'outstanding';
ALTER TABLE assignments ADD COLUMN purpose TEXT COLLATE "C" NOT NULL DEFAULT 'training';
-- The values of the attributes by which an evaluation tells its clients apart: JSON.
ALTER TABLE assignments ADD COLUMN slices TEXT COLLATE "C" NOT NULL DEFAULT '{}';

-- How a version came about besides its metrics: JSON.
ALTER TABLE model_versions ADD COLUMN making TEXT COLLATE "C" NOT NULL DEFAULT '{}';

-- The operator's own examples, and how many clients the task was given.
ALTER TABLE tasks ADD COLUMN evaluation_data TEXT COLLATE "C";
-- The plan of evaluation rounds: digest and bytes, JSON.
ALTER TABLE tasks ADD COLUMN evaluation_plan TEXT COLLATE "C";
ALTER TABLE tasks ADD COLUMN served BIGINT NOT NULL DEFAULT 0;

-- What a client has done for a task: JSON.
CREATE TABLE participations (
    task_id TEXT COLLATE "C" NOT NULL,
    client_id TEXT COLLATE "C" NOT NULL,
    organisation_id TEXT COLLATE "C" NOT NULL,
    history TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (task_id, client_id),
    FOREIGN KEY (task_id, organisation_id) REFERENCES tasks (id, organisation_id),
    FOREIGN KEY (client_id, organisation_id) REFERENCES clients (id, organisation_id)
);

-- What was measured of a version: `source` is 'central' or 'federated', `slice` is empty for all clients.
CREATE TABLE evaluations (
    task_id TEXT COLLATE "C" NOT NULL,
    version BIGINT NOT NULL,
    source TEXT COLLATE "C" NOT NULL,
    slice TEXT COLLATE "C" NOT NULL,
    organisation_id TEXT COLLATE "C" NOT NULL,
    client_count BIGINT NOT NULL,
    example_count BIGINT NOT NULL,
    loss_sum_bits BIGINT NOT NULL,
    correct_count BIGINT NOT NULL,
    step_count BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (task_id, version, source, slice),
    FOREIGN KEY (task_id, organisation_id) REFERENCES tasks (id, organisation_id)
);
