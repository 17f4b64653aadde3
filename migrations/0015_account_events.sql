-- What happens in an account: calls, campaigns, opt-outs. Ids and statuses only, no personal data.
CREATE TABLE account_events (
    id TEXT NOT NULL PRIMARY KEY,
    account TEXT NOT NULL,
    type TEXT NOT NULL,
    campaign TEXT,
    agent TEXT,
    attempt TEXT,
    -- JSON object. An event of a call is completed from its attempt when it is read.
    detail TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    -- Place in the order of all events, given after the commit: an event is never seen behind a later one.
    place BIGINT
);
CREATE INDEX account_events_new ON account_events (id) WHERE place IS NULL;
CREATE INDEX account_events_places ON account_events (account, place);
-- A call has each type once.
CREATE UNIQUE INDEX account_events_once ON account_events (attempt, type) WHERE attempt IS NOT NULL;

-- One row, the last place that was given. Its lock makes places visible in their order.
CREATE TABLE account_event_places (last BIGINT NOT NULL);
INSERT INTO account_event_places (last) VALUES (0);

CREATE TABLE webhook_endpoints (
    id TEXT NOT NULL PRIMARY KEY,
    account TEXT NOT NULL REFERENCES accounts (id),
    url TEXT NOT NULL,
    description TEXT NOT NULL,
    -- Types and groups of types, as a JSON array.
    types TEXT NOT NULL,
    enabled BIGINT NOT NULL,
    secret TEXT NOT NULL,
    previous_secret TEXT,
    previous_secret_until BIGINT,
    version BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);
CREATE INDEX webhook_endpoints_by_creation ON webhook_endpoints (account, created_at, id);

-- Deliveries of account events. A table of its own, because nodes of earlier versions read every row of `deliveries`.
CREATE TABLE webhook_deliveries (
    id TEXT NOT NULL PRIMARY KEY,
    account TEXT NOT NULL,
    endpoint TEXT NOT NULL,
    -- None for a test.
    event TEXT,
    type TEXT NOT NULL,
    -- One for each endpoint.
    lane TEXT NOT NULL REFERENCES delivery_lanes (lane),
    -- As in `deliveries`.
    state TEXT NOT NULL,
    failed BIGINT NOT NULL,
    due_at BIGINT NOT NULL,
    lease BIGINT NOT NULL,
    last_error TEXT,
    created_at BIGINT NOT NULL
);
CREATE INDEX webhook_deliveries_of ON webhook_deliveries (endpoint, id);
CREATE INDEX webhook_deliveries_event ON webhook_deliveries (event);
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (lane, due_at, id) WHERE state = 'pending';
