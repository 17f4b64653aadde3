-- Refusals of a campaign's calls in a row for a reason that the service does not know.

-- What they have in common, and their number since a call got through.
ALTER TABLE campaigns ADD COLUMN refusal_kind TEXT;
ALTER TABLE campaigns ADD COLUMN refusals BIGINT NOT NULL DEFAULT 0;
