-- The same schema as for SQLite, which says more. Text is compared by bytes (COLLATE "C"), so that every
-- listing has the same order on both.

CREATE TABLE organisations (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    name TEXT COLLATE "C" NOT NULL UNIQUE,
    created_at BIGINT NOT NULL
);

CREATE TABLE populations (
    organisation_id TEXT COLLATE "C" NOT NULL REFERENCES organisations (id),
    name TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (organisation_id, name)
);

CREATE TABLE api_keys (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    organisation_id TEXT COLLATE "C" NOT NULL REFERENCES organisations (id),
    name TEXT COLLATE "C" NOT NULL,
    role TEXT COLLATE "C" NOT NULL,
    secret_hash BYTEA NOT NULL,
    created_at BIGINT NOT NULL,
    revoked_at BIGINT
);
CREATE INDEX api_keys_by_organisation ON api_keys (organisation_id, created_at, id);

CREATE TABLE tokens (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    organisation_id TEXT COLLATE "C" NOT NULL,
    population TEXT COLLATE "C" NOT NULL,
    secret_hash BYTEA NOT NULL,
    uses_max BIGINT,
    uses BIGINT NOT NULL,
    expires_at BIGINT,
    revoked_at BIGINT,
    created_at BIGINT NOT NULL,
    FOREIGN KEY (organisation_id, population) REFERENCES populations (organisation_id, name)
);
CREATE INDEX tokens_by_organisation ON tokens (organisation_id, created_at, id);

CREATE TABLE clients (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    organisation_id TEXT COLLATE "C" NOT NULL,
    population TEXT COLLATE "C" NOT NULL,
    public_key TEXT COLLATE "C" NOT NULL,
    enrolled_at BIGINT NOT NULL,
    revoked_at BIGINT,
    UNIQUE (organisation_id, population, public_key),
    UNIQUE (id, organisation_id),
    FOREIGN KEY (organisation_id, population) REFERENCES populations (organisation_id, name)
);

-- The pool of waiting clients.
CREATE TABLE check_ins (
    client_id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    organisation_id TEXT COLLATE "C" NOT NULL,
    population TEXT COLLATE "C" NOT NULL,
    example_count BIGINT NOT NULL,
    attributes TEXT COLLATE "C" NOT NULL,
    sdk_version TEXT COLLATE "C" NOT NULL,
    checked_in_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    FOREIGN KEY (client_id, organisation_id) REFERENCES clients (id, organisation_id)
);
CREATE INDEX check_ins_by_population ON check_ins (organisation_id, population, client_id);
CREATE INDEX check_ins_by_expiry ON check_ins (expires_at);

CREATE TABLE models (
    organisation_id TEXT COLLATE "C" NOT NULL REFERENCES organisations (id),
    model TEXT COLLATE "C" NOT NULL,
    model_bytes BIGINT NOT NULL,
    weights TEXT COLLATE "C" NOT NULL,
    tensor_schema TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (organisation_id, model)
);

CREATE TABLE tasks (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    organisation_id TEXT COLLATE "C" NOT NULL REFERENCES organisations (id),
    description TEXT COLLATE "C" NOT NULL,
    state TEXT COLLATE "C" NOT NULL,
    state_name TEXT COLLATE "C" NOT NULL,
    model TEXT COLLATE "C" NOT NULL,
    model_bytes BIGINT NOT NULL,
    tensor_schema TEXT COLLATE "C" NOT NULL,
    plan TEXT COLLATE "C" NOT NULL,
    plan_bytes BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    revision BIGINT NOT NULL,
    UNIQUE (id, organisation_id)
);
CREATE INDEX tasks_by_organisation ON tasks (organisation_id, created_at, id);
CREATE INDEX tasks_active ON tasks (id) WHERE state_name = 'active';

CREATE TABLE rounds (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    organisation_id TEXT COLLATE "C" NOT NULL,
    task_id TEXT COLLATE "C" NOT NULL,
    number BIGINT NOT NULL,
    base_version BIGINT NOT NULL,
    phase TEXT COLLATE "C" NOT NULL,
    phase_name TEXT COLLATE "C" NOT NULL,
    is_open BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    revision BIGINT NOT NULL,
    UNIQUE (task_id, number),
    UNIQUE (id, organisation_id),
    FOREIGN KEY (task_id, organisation_id) REFERENCES tasks (id, organisation_id)
);
-- A task has at most one open round.
CREATE UNIQUE INDEX rounds_open ON rounds (task_id) WHERE is_open = 1;

CREATE TABLE model_versions (
    task_id TEXT COLLATE "C" NOT NULL,
    number BIGINT NOT NULL,
    organisation_id TEXT COLLATE "C" NOT NULL,
    round_id TEXT COLLATE "C" REFERENCES rounds (id),
    weights TEXT COLLATE "C" NOT NULL,
    weights_bytes BIGINT NOT NULL,
    example_count BIGINT NOT NULL,
    loss_sum_bits BIGINT NOT NULL,
    correct_count BIGINT NOT NULL,
    step_count BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (task_id, number),
    FOREIGN KEY (task_id, organisation_id) REFERENCES tasks (id, organisation_id)
);

CREATE TABLE assignments (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    organisation_id TEXT COLLATE "C" NOT NULL,
    task_id TEXT COLLATE "C" NOT NULL,
    round_id TEXT COLLATE "C" NOT NULL,
    round_number BIGINT NOT NULL,
    client_id TEXT COLLATE "C" NOT NULL,
    base_version BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    deadline BIGINT NOT NULL,
    status TEXT COLLATE "C" NOT NULL,
    status_name TEXT COLLATE "C" NOT NULL,
    closed_at BIGINT,
    FOREIGN KEY (round_id, organisation_id) REFERENCES rounds (id, organisation_id),
    FOREIGN KEY (client_id, organisation_id) REFERENCES clients (id, organisation_id)
);
-- A client has at most one outstanding assignment.
CREATE UNIQUE INDEX assignments_outstanding ON assignments (client_id) WHERE status_name = 'outstanding';
CREATE INDEX assignments_by_round ON assignments (round_id, status_name);

CREATE TABLE client_updates (
    assignment_id TEXT COLLATE "C" NOT NULL PRIMARY KEY REFERENCES assignments (id),
    organisation_id TEXT COLLATE "C" NOT NULL,
    round_id TEXT COLLATE "C" NOT NULL,
    digest TEXT COLLATE "C" NOT NULL,
    update_bytes BIGINT NOT NULL,
    weight BIGINT NOT NULL,
    example_count BIGINT NOT NULL,
    loss_sum_bits BIGINT NOT NULL,
    correct_count BIGINT NOT NULL,
    step_count BIGINT NOT NULL,
    accepted_at BIGINT NOT NULL
);
CREATE INDEX client_updates_by_round ON client_updates (round_id, assignment_id);

CREATE TABLE reports (
    assignment_id TEXT COLLATE "C" NOT NULL PRIMARY KEY REFERENCES assignments (id),
    organisation_id TEXT COLLATE "C" NOT NULL,
    report TEXT COLLATE "C" NOT NULL,
    reported_at BIGINT NOT NULL
);

CREATE TABLE leases (
    name TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    holder TEXT COLLATE "C" NOT NULL,
    held_until BIGINT NOT NULL
);
