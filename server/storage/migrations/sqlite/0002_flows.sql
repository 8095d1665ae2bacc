-- Rounds in which clients start and report all the time, evaluations, and what clients have done for a task.

-- What a round is for, and how many updates it takes at most; none is without bound.
ALTER TABLE rounds ADD COLUMN purpose TEXT NOT NULL DEFAULT 'training';
ALTER TABLE rounds ADD COLUMN updates_max INTEGER;
-- A task has at most one open round of each purpose.
DROP INDEX rounds_open;
CREATE UNIQUE INDEX rounds_open ON rounds (task_id, purpose) WHERE is_open = 1;

-- In a flow an assignment outlives the round in which it was given; `client_updates.round_id` is the round in
-- which the update counts.
CREATE INDEX assignments_of_task ON assignments (task_id) WHERE status_name = 'outstanding';
ALTER TABLE assignments ADD COLUMN purpose TEXT NOT NULL DEFAULT 'training';
-- The values of the attributes by which an evaluation tells its clients apart: JSON.
ALTER TABLE assignments ADD COLUMN slices TEXT NOT NULL DEFAULT '{}';

-- How a version came about besides its metrics: JSON.
ALTER TABLE model_versions ADD COLUMN making TEXT NOT NULL DEFAULT '{}';

-- The operator's own examples, and how many clients the task was given.
ALTER TABLE tasks ADD COLUMN evaluation_data TEXT;
-- The plan of evaluation rounds: digest and bytes, JSON.
ALTER TABLE tasks ADD COLUMN evaluation_plan TEXT;
ALTER TABLE tasks ADD COLUMN served INTEGER NOT NULL DEFAULT 0;

-- What a client has done for a task: JSON.
CREATE TABLE participations (
    task_id TEXT NOT NULL,
    client_id TEXT NOT NULL,
    organisation_id TEXT NOT NULL,
    history TEXT NOT NULL,
    PRIMARY KEY (task_id, client_id),
    FOREIGN KEY (task_id, organisation_id) REFERENCES tasks (id, organisation_id),
    FOREIGN KEY (client_id, organisation_id) REFERENCES clients (id, organisation_id)
) STRICT;

-- What was measured of a version: `source` is 'central' or 'federated', `slice` is empty for all clients.
CREATE TABLE evaluations (
    task_id TEXT NOT NULL,
    version INTEGER NOT NULL,
    source TEXT NOT NULL,
    slice TEXT NOT NULL,
    organisation_id TEXT NOT NULL,
    client_count INTEGER NOT NULL,
    example_count INTEGER NOT NULL,
    loss_sum_bits INTEGER NOT NULL,
    correct_count INTEGER NOT NULL,
    step_count INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (task_id, version, source, slice),
    FOREIGN KEY (task_id, organisation_id) REFERENCES tasks (id, organisation_id)
) STRICT;
