-- Attempts that a safeguard keeps waiting.

-- The rule that put a queued attempt off last, by its name in REST; null where nothing but its time keeps it.
ALTER TABLE attempts ADD COLUMN put_off_by TEXT;

-- A change of an account's rules finds what they put off.
CREATE INDEX attempts_put_off ON attempts (account) WHERE state = 'queued' AND put_off_by IS NOT NULL;

-- When numbers were dialed whose calls were erased since: the counts of calls to a number go on.
CREATE TABLE erased_dials (
    account TEXT NOT NULL REFERENCES accounts (id),
    -- The number under a keyed digest.
    digest TEXT NOT NULL,
    dialing_at BIGINT NOT NULL
);
CREATE INDEX erased_dials_by_number ON erased_dials (account, digest, dialing_at);
CREATE INDEX erased_dials_by_time ON erased_dials (dialing_at);
