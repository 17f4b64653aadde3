-- When the end of a call was written, which may be long after it; null where it is the same instant.
ALTER TABLE attempts ADD COLUMN end_written_at BIGINT;

-- Changes are read in the order in which they were written.
DROP INDEX attempts_by_change;
CREATE INDEX attempts_by_change ON attempts (campaign, COALESCE(end_written_at, ended_at, dialing_at, created_at), id);
