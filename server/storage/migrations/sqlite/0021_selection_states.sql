-- What a task's own selection keeps from one draw to the next.
CREATE TABLE selection_states (
    task_id TEXT NOT NULL PRIMARY KEY,
    organisation_id TEXT NOT NULL,
    state BLOB NOT NULL,
    FOREIGN KEY (task_id, organisation_id) REFERENCES tasks (id, organisation_id)
) STRICT;
