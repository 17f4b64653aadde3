-- Webhooks and mail after calls. A lane is one endpoint of one account: its deliveries wait for each other alone.
CREATE TABLE delivery_lanes (
    lane TEXT NOT NULL PRIMARY KEY,
    -- 1 once something arrived.
    proven BIGINT NOT NULL,
    -- In a row, up to the last try.
    failures BIGINT NOT NULL,
    -- Nothing of it is tried before, as its receiver wished.
    hold_until BIGINT NOT NULL
);

CREATE TABLE deliveries (
    -- `webhook-id` of all its tries.
    id TEXT NOT NULL PRIMARY KEY,
    account TEXT NOT NULL REFERENCES accounts (id),
    attempt TEXT NOT NULL REFERENCES attempts (id),
    -- webhook, email, invitation
    kind TEXT NOT NULL,
    -- The address of a webhook; recipients, subject and content of a mail as JSON; the appointment of an invitation.
    target TEXT NOT NULL,
    lane TEXT NOT NULL REFERENCES delivery_lanes (lane),
    -- pending, done, given_up
    state TEXT NOT NULL,
    -- Tries that are known to have failed: its step of the schedule.
    failed BIGINT NOT NULL,
    -- When it is tried next; while it is leased, the end of the lease.
    due_at BIGINT NOT NULL,
    -- How often it was leased.
    lease BIGINT NOT NULL,
    last_error TEXT,
    created_at BIGINT NOT NULL
);
-- A call may bring several invitations.
CREATE UNIQUE INDEX deliveries_once ON deliveries (attempt, kind) WHERE kind <> 'invitation';
CREATE INDEX deliveries_attempt ON deliveries (attempt);
CREATE INDEX deliveries_due ON deliveries (lane, due_at, id) WHERE state = 'pending';

-- Addresses that answered 410. Nothing is made for one until an agent that names it is saved again.
CREATE TABLE gone_webhooks (
    account TEXT NOT NULL REFERENCES accounts (id),
    target TEXT NOT NULL,
    gone_at BIGINT NOT NULL,
    PRIMARY KEY (account, target)
);
