-- Longest ringing time of the campaign's calls in seconds; null for the service's setting.
ALTER TABLE campaigns ADD COLUMN ring_timeout_s BIGINT;
