-- The edge aggregator that holds an accepted update, by its API key, and the update's size as JSON. Empty if the coordinator has the update.
ALTER TABLE client_updates ADD COLUMN held_by TEXT COLLATE "C";
ALTER TABLE client_updates ADD COLUMN extent TEXT;

-- The sums of the updates that edge aggregators hold for closed rounds: questions, and answers as JSON. The bytes of a sum are the segment in the round log. The rows are deleted when their round ends.
CREATE TABLE partial_sums (
    round_id TEXT COLLATE "C" NOT NULL,
    aggregator TEXT COLLATE "C" NOT NULL,
    organisation_id TEXT COLLATE "C" NOT NULL,
    question TEXT NOT NULL,
    segment TEXT COLLATE "C" NOT NULL,
    asked_at BIGINT NOT NULL,
    answer TEXT,
    PRIMARY KEY (round_id, aggregator),
    FOREIGN KEY (round_id, organisation_id) REFERENCES rounds (id, organisation_id)
);
CREATE INDEX partial_sums_awaited ON partial_sums (aggregator) WHERE answer IS NULL;
