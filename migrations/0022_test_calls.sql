-- Calls with which agents are tried out. A row goes with its conversation, a day after the call.
CREATE TABLE test_calls (
    attempt TEXT NOT NULL PRIMARY KEY REFERENCES attempts (id),
    -- Agent that was not saved: a row of `agents` that is deleted from the first. Null for a saved one.
    agent TEXT REFERENCES agents (id)
);

-- Test calls are not counted.

-- only SQLite

DROP TRIGGER attempts_to_count;
CREATE TRIGGER attempts_to_count AFTER UPDATE OF state ON attempts
WHEN NEW.state = 'final' AND OLD.state <> 'final' AND NOT EXISTS (SELECT 1 FROM test_calls WHERE attempt = NEW.id)
BEGIN
    INSERT INTO calls_to_count (attempt, over_at)
        VALUES (NEW.id, COALESCE(NEW.end_written_at, NEW.ended_at, NEW.started_at)) ON CONFLICT (attempt) DO NOTHING;
END;

-- only PostgreSQL

CREATE OR REPLACE FUNCTION queue_for_counting() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO calls_to_count (attempt, over_at)
        SELECT NEW.id, COALESCE(NEW.end_written_at, NEW.ended_at, NEW.started_at)
        WHERE NOT EXISTS (SELECT 1 FROM test_calls t WHERE t.attempt = NEW.id) ON CONFLICT (attempt) DO NOTHING;
    RETURN NULL;
END
$$;
