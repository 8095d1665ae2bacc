-- The messages of secure aggregation, until their round ends.
CREATE TABLE secure_messages (
    assignment_id TEXT COLLATE "C" NOT NULL REFERENCES assignments (id),
    step TEXT COLLATE "C" NOT NULL,
    round_id TEXT COLLATE "C" NOT NULL,
    organisation_id TEXT COLLATE "C" NOT NULL,
    message TEXT COLLATE "C" NOT NULL,
    recorded_at BIGINT NOT NULL,
    PRIMARY KEY (assignment_id, step)
);

CREATE INDEX secure_messages_of_round ON secure_messages (round_id, step);
