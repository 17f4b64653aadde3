-- Analytics: counts of ended calls by hour and day. Calls of before are counted by a job in the background.

-- Ended calls that are still to be counted.
CREATE TABLE calls_to_count (
    attempt TEXT NOT NULL PRIMARY KEY,
    over_at BIGINT NOT NULL
);
CREATE INDEX calls_to_count_in_order ON calls_to_count (over_at, attempt);

-- Each call is counted once in each level. No personal data.
CREATE TABLE call_counts (
    account TEXT NOT NULL,
    -- hour or day, followed by what its rows are separated by: /campaign, /agent (with version), or both.
    level TEXT NOT NULL,
    -- Start of the hour or day in UTC.
    start_at BIGINT NOT NULL,
    -- Empty without a campaign, and in levels that are not separated by it; so is the agent.
    campaign TEXT NOT NULL,
    agent TEXT NOT NULL,
    -- 0 if it is not known.
    version BIGINT NOT NULL,
    -- JSON object.
    counts TEXT NOT NULL,
    PRIMARY KEY (account, level, start_at, campaign, agent, version)
);

-- Calls that ended before this migration are counted from the newest to the oldest; those from this id on are.
INSERT INTO cluster (name, value) VALUES ('calls_counted_from', 'ffffffff-ffff-ffff-ffff-ffffffffffff');

-- A trigger, because a node of an older release that runs beside newer ones ends calls, too.

-- only SQLite

CREATE TRIGGER attempts_to_count AFTER UPDATE OF state ON attempts
WHEN NEW.state = 'final' AND OLD.state <> 'final'
BEGIN
    INSERT INTO calls_to_count (attempt, over_at)
        VALUES (NEW.id, COALESCE(NEW.end_written_at, NEW.ended_at, NEW.started_at)) ON CONFLICT (attempt) DO NOTHING;
END;

-- only PostgreSQL

CREATE FUNCTION queue_for_counting() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO calls_to_count (attempt, over_at)
        VALUES (NEW.id, COALESCE(NEW.end_written_at, NEW.ended_at, NEW.started_at)) ON CONFLICT (attempt) DO NOTHING;
    RETURN NULL;
END
$$;
CREATE TRIGGER attempts_to_count AFTER UPDATE OF state ON attempts
    FOR EACH ROW WHEN (NEW.state = 'final' AND OLD.state <> 'final') EXECUTE FUNCTION queue_for_counting();
