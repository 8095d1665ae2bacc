-- The operators' signed statements about tasks. The one with the highest number is in force; nothing is deleted.
CREATE TABLE endorsements (
    task_id TEXT NOT NULL,
    organisation_id TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    signed TEXT NOT NULL,
    published_at INTEGER NOT NULL,
    PRIMARY KEY (task_id, sequence),
    FOREIGN KEY (task_id, organisation_id) REFERENCES tasks (id, organisation_id)
) STRICT;
