-- What a task's own selection keeps from one draw to the next.
CREATE TABLE selection_states (
    task_id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    organisation_id TEXT COLLATE "C" NOT NULL,
    state BYTEA NOT NULL,
    FOREIGN KEY (task_id, organisation_id) REFERENCES tasks (id, organisation_id)
);
