-- Whether the agent tracked issues when the attempt ended; null before its end and where it was not kept.
ALTER TABLE attempts ADD COLUMN issue_tracking BIGINT;
