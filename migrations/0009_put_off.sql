-- Attempts that a safeguard keeps waiting.

-- The rule that put a queued attempt off last, by its name in REST; null where nothing but its time keeps it.
ALTER TABLE attempts ADD COLUMN put_off_by TEXT;

-- A change of an account's rules finds what they put off.
CREATE INDEX attempts_put_off ON attempts (account) WHERE state = 'queued' AND put_off_by IS NOT NULL;
