-- What accounts let their calls do at most. An account without a row has no rule.
CREATE TABLE safeguards (
    account TEXT NOT NULL PRIMARY KEY REFERENCES accounts (id),
    -- The rules as JSON.
    document TEXT NOT NULL,
    -- 1 while one of them is on: permits read no others.
    active BIGINT NOT NULL,
    version BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);

-- Permits of accounts that have a rule for their number a day. A row of another day is counted anew from the attempts.
CREATE TABLE daily_permits (
    account TEXT NOT NULL PRIMARY KEY REFERENCES accounts (id),
    day_start BIGINT NOT NULL,
    permits BIGINT NOT NULL
);

-- The last permits of a number are found in the index alone.
DROP INDEX attempts_by_number;
CREATE INDEX attempts_by_number ON attempts (account, phone_number, dialing_at);
