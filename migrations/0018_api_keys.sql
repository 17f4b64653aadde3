-- Keys that an account adds, with scopes. The account's own key stays in api_keys: a node of an older release, which
-- knows no scopes, looks there only. So it refuses an added key, and when it replaces the own key it leaves these.
CREATE TABLE added_api_keys (
    id TEXT NOT NULL PRIMARY KEY,
    account TEXT NOT NULL REFERENCES accounts (id),
    name TEXT NOT NULL,
    -- SHA-256 of the whole key, in hex.
    hash TEXT NOT NULL UNIQUE,
    prefix TEXT NOT NULL,
    -- Names, separated by spaces.
    scopes TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT,
    last_used_at BIGINT
);
CREATE INDEX added_api_keys_by_prefix ON added_api_keys (prefix);
CREATE INDEX added_api_keys_by_account ON added_api_keys (account);

ALTER TABLE api_keys ADD COLUMN last_used_at BIGINT;
