-- Browser sessions. A session is valid while the key that it was opened with is there and has not expired, so a key that
-- any node replaces or deletes ends its sessions.
CREATE TABLE sessions (
    id TEXT NOT NULL PRIMARY KEY,
    account TEXT NOT NULL REFERENCES accounts (id),
    -- SHA-256 of the token, in hex.
    hash TEXT NOT NULL UNIQUE,
    -- Hash of the key; null after a login link, and for the session that deleted its own key.
    key_hash TEXT,
    -- Name, scopes and end of the key where it is not there to be asked.
    key_name TEXT,
    scopes TEXT NOT NULL,
    key_expires_at BIGINT,
    created_at BIGINT NOT NULL,
    last_used_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);
CREATE INDEX sessions_by_account ON sessions (account);

-- Links that open a session once.
CREATE TABLE login_links (
    -- SHA-256 of the token, in hex.
    hash TEXT NOT NULL PRIMARY KEY,
    account TEXT NOT NULL REFERENCES accounts (id),
    expires_at BIGINT NOT NULL
);
