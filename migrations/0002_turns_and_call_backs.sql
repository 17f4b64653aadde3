-- How many permits an agent was given whose caller IDs take turns: the next one's number follows from it.
CREATE TABLE caller_id_turns (
    agent TEXT NOT NULL PRIMARY KEY REFERENCES agents (id),
    permits BIGINT NOT NULL
);

-- How many call-backs, at times the callee asked for, the contact was given up to this attempt; `kind` is call_back for
-- such an attempt.
ALTER TABLE attempts ADD COLUMN call_backs BIGINT NOT NULL DEFAULT 0;
