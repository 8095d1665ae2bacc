-- Ids are hyphenated UUIDs, digests are hexadecimal, moments are milliseconds since 1970, enums and structs
-- are JSON. A column `*_name` repeats the kind of such an enum for indexes. `loss_sum_bits` holds the bits of
-- a float64, because SQLite's REAL keeps neither NaN nor the sign of zero.

CREATE TABLE organisations (
    id TEXT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE populations (
    organisation_id TEXT NOT NULL REFERENCES organisations (id),
    name TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (organisation_id, name)
) STRICT;

CREATE TABLE api_keys (
    id TEXT NOT NULL PRIMARY KEY,
    organisation_id TEXT NOT NULL REFERENCES organisations (id),
    name TEXT NOT NULL,
    role TEXT NOT NULL,
    secret_hash BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    revoked_at INTEGER
) STRICT;
CREATE INDEX api_keys_by_organisation ON api_keys (organisation_id, created_at, id);

CREATE TABLE tokens (
    id TEXT NOT NULL PRIMARY KEY,
    organisation_id TEXT NOT NULL,
    population TEXT NOT NULL,
    secret_hash BLOB NOT NULL,
    uses_max INTEGER,
    uses INTEGER NOT NULL,
    expires_at INTEGER,
    revoked_at INTEGER,
    created_at INTEGER NOT NULL,
    FOREIGN KEY (organisation_id, population) REFERENCES populations (organisation_id, name)
) STRICT;
CREATE INDEX tokens_by_organisation ON tokens (organisation_id, created_at, id);

CREATE TABLE clients (
    id TEXT NOT NULL PRIMARY KEY,
    organisation_id TEXT NOT NULL,
    population TEXT NOT NULL,
    public_key TEXT NOT NULL,
    enrolled_at INTEGER NOT NULL,
    revoked_at INTEGER,
    UNIQUE (organisation_id, population, public_key),
    UNIQUE (id, organisation_id),
    FOREIGN KEY (organisation_id, population) REFERENCES populations (organisation_id, name)
) STRICT;

-- The pool of waiting clients.
CREATE TABLE check_ins (
    client_id TEXT NOT NULL PRIMARY KEY,
    organisation_id TEXT NOT NULL,
    population TEXT NOT NULL,
    example_count INTEGER NOT NULL,
    attributes TEXT NOT NULL,
    sdk_version TEXT NOT NULL,
    checked_in_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    FOREIGN KEY (client_id, organisation_id) REFERENCES clients (id, organisation_id)
) STRICT;
CREATE INDEX check_ins_by_population ON check_ins (organisation_id, population, client_id);
CREATE INDEX check_ins_by_expiry ON check_ins (expires_at);

CREATE TABLE models (
    organisation_id TEXT NOT NULL REFERENCES organisations (id),
    model TEXT NOT NULL,
    model_bytes INTEGER NOT NULL,
    weights TEXT NOT NULL,
    tensor_schema TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (organisation_id, model)
) STRICT;

CREATE TABLE tasks (
    id TEXT NOT NULL PRIMARY KEY,
    organisation_id TEXT NOT NULL REFERENCES organisations (id),
    description TEXT NOT NULL,
    state TEXT NOT NULL,
    state_name TEXT NOT NULL,
    model TEXT NOT NULL,
    model_bytes INTEGER NOT NULL,
    tensor_schema TEXT NOT NULL,
    plan TEXT NOT NULL,
    plan_bytes INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    UNIQUE (id, organisation_id)
) STRICT;
CREATE INDEX tasks_by_organisation ON tasks (organisation_id, created_at, id);
CREATE INDEX tasks_active ON tasks (id) WHERE state_name = 'active';

CREATE TABLE rounds (
    id TEXT NOT NULL PRIMARY KEY,
    organisation_id TEXT NOT NULL,
    task_id TEXT NOT NULL,
    number INTEGER NOT NULL,
    base_version INTEGER NOT NULL,
    phase TEXT NOT NULL,
    phase_name TEXT NOT NULL,
    is_open INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    UNIQUE (task_id, number),
    UNIQUE (id, organisation_id),
    FOREIGN KEY (task_id, organisation_id) REFERENCES tasks (id, organisation_id)
) STRICT;
-- A task has at most one open round.
CREATE UNIQUE INDEX rounds_open ON rounds (task_id) WHERE is_open = 1;

CREATE TABLE model_versions (
    task_id TEXT NOT NULL,
    number INTEGER NOT NULL,
    organisation_id TEXT NOT NULL,
    round_id TEXT REFERENCES rounds (id),
    weights TEXT NOT NULL,
    weights_bytes INTEGER NOT NULL,
    example_count INTEGER NOT NULL,
    loss_sum_bits INTEGER NOT NULL,
    correct_count INTEGER NOT NULL,
    step_count INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (task_id, number),
    FOREIGN KEY (task_id, organisation_id) REFERENCES tasks (id, organisation_id)
) STRICT;

CREATE TABLE assignments (
    id TEXT NOT NULL PRIMARY KEY,
    organisation_id TEXT NOT NULL,
    task_id TEXT NOT NULL,
    round_id TEXT NOT NULL,
    round_number INTEGER NOT NULL,
    client_id TEXT NOT NULL,
    base_version INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    deadline INTEGER NOT NULL,
    status TEXT NOT NULL,
    status_name TEXT NOT NULL,
    closed_at INTEGER,
    FOREIGN KEY (round_id, organisation_id) REFERENCES rounds (id, organisation_id),
    FOREIGN KEY (client_id, organisation_id) REFERENCES clients (id, organisation_id)
) STRICT;
-- A client has at most one outstanding assignment.
CREATE UNIQUE INDEX assignments_outstanding ON assignments (client_id) WHERE status_name = 'outstanding';
CREATE INDEX assignments_by_round ON assignments (round_id, status_name);

CREATE TABLE client_updates (
    assignment_id TEXT NOT NULL PRIMARY KEY REFERENCES assignments (id),
    organisation_id TEXT NOT NULL,
    round_id TEXT NOT NULL,
    digest TEXT NOT NULL,
    update_bytes INTEGER NOT NULL,
    weight INTEGER NOT NULL,
    example_count INTEGER NOT NULL,
    loss_sum_bits INTEGER NOT NULL,
    correct_count INTEGER NOT NULL,
    step_count INTEGER NOT NULL,
    accepted_at INTEGER NOT NULL
) STRICT;
CREATE INDEX client_updates_by_round ON client_updates (round_id, assignment_id);

CREATE TABLE reports (
    assignment_id TEXT NOT NULL PRIMARY KEY REFERENCES assignments (id),
    organisation_id TEXT NOT NULL,
    report TEXT NOT NULL,
    reported_at INTEGER NOT NULL
) STRICT;

CREATE TABLE leases (
    name TEXT NOT NULL PRIMARY KEY,
    holder TEXT NOT NULL,
    held_until INTEGER NOT NULL
) STRICT;
