-- The messages of secure aggregation, until their round ends.
CREATE TABLE secure_messages (
    assignment_id TEXT NOT NULL REFERENCES assignments (id),
    step TEXT NOT NULL,
    round_id TEXT NOT NULL,
    organisation_id TEXT NOT NULL,
    message TEXT NOT NULL,
    recorded_at INTEGER NOT NULL,
    PRIMARY KEY (assignment_id, step)
) STRICT;

CREATE INDEX secure_messages_of_round ON secure_messages (round_id, step);
