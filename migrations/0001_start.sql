-- One text for SQLite and PostgreSQL: TEXT, BIGINT and DOUBLE PRECISION only, booleans as 0 and 1, instants as
-- microseconds since 1970, ids as UUIDv7 text made by the service.

CREATE TABLE accounts (
    id TEXT NOT NULL PRIMARY KEY,
    email TEXT NOT NULL UNIQUE,
    webhook_secret TEXT NOT NULL,
    -- The one before it, and until when that is valid.
    previous_webhook_secret TEXT,
    previous_secret_until BIGINT,
    created_at BIGINT NOT NULL
);

CREATE TABLE api_keys (
    -- SHA-256 of the whole key, in hex.
    hash TEXT NOT NULL PRIMARY KEY,
    prefix TEXT NOT NULL,
    account TEXT NOT NULL REFERENCES accounts (id),
    created_at BIGINT NOT NULL
);
CREATE INDEX api_keys_by_prefix ON api_keys (prefix);
CREATE INDEX api_keys_by_account ON api_keys (account);

CREATE TABLE agents (
    id TEXT NOT NULL PRIMARY KEY,
    account TEXT NOT NULL REFERENCES accounts (id),
    -- The document's name, for the rows that show it.
    name TEXT NOT NULL,
    document TEXT NOT NULL,
    version BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    deleted_at BIGINT
);
CREATE INDEX agents_newest_first ON agents (account, created_at, id);

-- The numbers that agents name. Those of all agents of one account are that account's.
CREATE TABLE agent_numbers (
    agent TEXT NOT NULL REFERENCES agents (id),
    phone_number TEXT NOT NULL,
    account TEXT NOT NULL,
    -- 1 when the agent takes the calls to it.
    answered BIGINT NOT NULL,
    PRIMARY KEY (agent, phone_number)
);
CREATE INDEX agent_numbers_by_number ON agent_numbers (phone_number, account);
CREATE UNIQUE INDEX agent_numbers_answered_once ON agent_numbers (phone_number) WHERE answered = 1;

-- Which agents an agent hands calls to: none of them can be deleted meanwhile.
CREATE TABLE agent_transfers (
    agent TEXT NOT NULL REFERENCES agents (id),
    target TEXT NOT NULL REFERENCES agents (id),
    PRIMARY KEY (agent, target)
);
CREATE INDEX agent_transfers_by_target ON agent_transfers (target);

-- Documents of the knowledge base; the text has a table of its own, so that lists do not read it.
CREATE TABLE documents (
    id TEXT NOT NULL PRIMARY KEY,
    account TEXT NOT NULL REFERENCES accounts (id),
    -- url, text, file
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    -- In lower case, for the search.
    name_folded TEXT NOT NULL,
    -- That in hex, which every database puts into the same order.
    name_order TEXT NOT NULL,
    url TEXT,
    characters BIGINT NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE INDEX documents_by_creation ON documents (account, created_at, id);
CREATE INDEX documents_by_name ON documents (account, name_order, id);

CREATE TABLE document_texts (
    document TEXT NOT NULL PRIMARY KEY REFERENCES documents (id),
    words TEXT NOT NULL
);

CREATE TABLE document_groups (
    id TEXT NOT NULL PRIMARY KEY,
    account TEXT NOT NULL REFERENCES accounts (id),
    name TEXT NOT NULL,
    name_folded TEXT NOT NULL,
    name_order TEXT NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE INDEX document_groups_by_creation ON document_groups (account, created_at, id);
CREATE INDEX document_groups_by_name ON document_groups (account, name_order, id);

CREATE TABLE group_documents (
    document_group TEXT NOT NULL REFERENCES document_groups (id),
    -- Counts from 0 in the group.
    place BIGINT NOT NULL,
    document TEXT NOT NULL REFERENCES documents (id),
    PRIMARY KEY (document_group, document)
);
CREATE INDEX group_documents_by_document ON group_documents (document);

-- What an agent's document names in its knowledge base: none of it can be deleted meanwhile.
CREATE TABLE agent_documents (
    agent TEXT NOT NULL REFERENCES agents (id),
    document TEXT NOT NULL REFERENCES documents (id),
    PRIMARY KEY (agent, document)
);
CREATE INDEX agent_documents_by_document ON agent_documents (document);

CREATE TABLE agent_groups (
    agent TEXT NOT NULL REFERENCES agents (id),
    document_group TEXT NOT NULL REFERENCES document_groups (id),
    PRIMARY KEY (agent, document_group)
);
CREATE INDEX agent_groups_by_group ON agent_groups (document_group);

CREATE TABLE contacts (
    id TEXT NOT NULL PRIMARY KEY,
    account TEXT NOT NULL REFERENCES accounts (id),
    phone_number TEXT NOT NULL,
    name TEXT,
    -- In lower case, for the search.
    name_folded TEXT,
    email TEXT,
    extra TEXT NOT NULL,
    version BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    UNIQUE (account, phone_number)
);
CREATE INDEX contacts_newest_first ON contacts (account, created_at, id);

CREATE TABLE do_not_call (
    account TEXT NOT NULL REFERENCES accounts (id),
    phone_number TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (account, phone_number)
);
CREATE INDEX do_not_call_newest_first ON do_not_call (account, created_at, phone_number);

-- The contacts of an import, which a campaign points at. A list that no campaign points at is removed in pieces.
CREATE TABLE contact_lists (
    -- A random positive number.
    id BIGINT NOT NULL PRIMARY KEY,
    -- Contacts from this index on were never claimed and have no row in contact_states.
    next_index BIGINT NOT NULL
);

CREATE TABLE campaigns (
    id TEXT NOT NULL PRIMARY KEY,
    account TEXT NOT NULL REFERENCES accounts (id),
    name TEXT NOT NULL,
    -- In lower case, for the search.
    name_folded TEXT NOT NULL,
    agent TEXT NOT NULL REFERENCES agents (id),
    status TEXT NOT NULL,
    version BIGINT NOT NULL,
    active BIGINT NOT NULL,
    scheduled BIGINT NOT NULL,
    start_time TEXT,
    end_time TEXT,
    timezone TEXT,
    next_run_at BIGINT,
    -- The first opening of the attached schedule; no window before it counts.
    opens_from BIGINT,
    -- When the window closes in which it runs: no permit is given from then on.
    closes_at BIGINT,
    follow_up TEXT NOT NULL,
    max_concurrent_calls BIGINT,
    contact_list BIGINT NOT NULL UNIQUE REFERENCES contact_lists (id),
    contact_count BIGINT NOT NULL,
    reason TEXT,
    -- 1 while its contacts are still being appended: no reader sees it.
    importing BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    deleted_at BIGINT,
    UNIQUE (account, created_at)
);
CREATE INDEX campaigns_by_status ON campaigns (status);
CREATE INDEX campaigns_of_status ON campaigns (account, status, created_at);
CREATE INDEX campaigns_of_active ON campaigns (account, active, created_at);
CREATE INDEX campaigns_importing ON campaigns (id) WHERE importing = 1;

-- Written once by the import, never changed. No foreign key: a million rows would each look their list up.
CREATE TABLE campaign_contacts (
    list BIGINT NOT NULL,
    idx BIGINT NOT NULL,
    phone_number TEXT NOT NULL,
    name TEXT,
    email TEXT,
    extra TEXT NOT NULL,
    PRIMARY KEY (list, idx)
);

-- How the contacts stand that were claimed before. A contact without a row is pending and has no attempt; so is one
-- whose first claim was given back, in a row with `attempts` 0.
CREATE TABLE contact_states (
    list BIGINT NOT NULL,
    idx BIGINT NOT NULL,
    -- pending, in_progress, completed, failed, cancelled
    state TEXT NOT NULL,
    -- How many attempt rows it has.
    attempts BIGINT NOT NULL,
    -- Its last attempt reached a machine.
    voicemail BIGINT NOT NULL,
    PRIMARY KEY (list, idx)
);
CREATE INDEX contact_states_untried ON contact_states (list, idx) WHERE state = 'pending' AND attempts = 0;
CREATE INDEX contact_states_progress ON contact_states (list, voicemail, state);
CREATE INDEX contact_states_in_order ON contact_states (list, state, idx);

-- An attempt is what REST calls a conversation.
CREATE TABLE attempts (
    id TEXT NOT NULL PRIMARY KEY,
    account TEXT NOT NULL REFERENCES accounts (id),
    agent TEXT NOT NULL REFERENCES agents (id),
    campaign TEXT REFERENCES campaigns (id),
    -- The contact that is dialed; none for a single call. It stays the list of the claim when the campaign gets another.
    contact_list BIGINT,
    contact_index BIGINT,
    attempt_no BIGINT NOT NULL,
    -- Which follow-up (0: the first call), and which retry of it.
    follow_up_no BIGINT NOT NULL DEFAULT 0,
    retry_no BIGINT NOT NULL DEFAULT 0,
    -- first, retry, follow_up
    kind TEXT NOT NULL,
    phone_number TEXT NOT NULL,
    -- queued, claimed, dialing, dialed, answered, unknown, final
    state TEXT NOT NULL,
    owner TEXT,
    epoch BIGINT NOT NULL,
    -- When it was claimed last.
    claimed_at BIGINT,
    dial_token TEXT,
    due_at BIGINT NOT NULL,
    -- When it was dialed; before that, when it is due.
    started_at BIGINT NOT NULL,
    dialing_at BIGINT,
    answered_at BIGINT,
    ended_at BIGINT,
    -- From the answer to the end; 0 while it lasts and for one that nobody answered.
    duration_s BIGINT NOT NULL DEFAULT 0,
    carrier TEXT,
    carrier_call TEXT,
    caller_id TEXT,
    -- The conversation's status, kept in step with state.
    status TEXT NOT NULL,
    error TEXT,
    voicemail BIGINT NOT NULL,
    transferred BIGINT NOT NULL,
    collected TEXT NOT NULL,
    summary TEXT,
    analysis TEXT,
    created_at BIGINT NOT NULL,
    UNIQUE (contact_list, contact_index, attempt_no),
    UNIQUE (carrier, carrier_call)
);
CREATE INDEX attempts_queued ON attempts (campaign, due_at, id) WHERE state = 'queued';
CREATE INDEX attempts_open ON attempts (campaign, state)
    WHERE state IN ('claimed', 'dialing', 'dialed', 'answered', 'unknown');
CREATE INDEX attempts_held ON attempts (owner)
    WHERE state IN ('claimed', 'dialing', 'dialed', 'answered', 'unknown');
CREATE INDEX attempts_sent ON attempts (account, phone_number)
    WHERE state IN ('dialing', 'dialed', 'answered', 'unknown');
-- Pages of conversations are found in these alone. Those by agent and by campaign are read once per status and merged.
CREATE INDEX attempts_newest_first ON attempts (account, started_at, id, duration_s);
CREATE INDEX attempts_by_status ON attempts (account, status, started_at, id, duration_s);
CREATE INDEX attempts_by_agent ON attempts (agent, status, started_at, id, duration_s);
CREATE INDEX attempts_by_campaign ON attempts (campaign, status, started_at, id, duration_s);
CREATE INDEX attempts_by_duration ON attempts (account, duration_s, started_at, id) WHERE duration_s > 0;
CREATE INDEX attempts_by_number ON attempts (account, phone_number);
-- By the last change of status, which needs no column of its own.
CREATE INDEX attempts_by_change ON attempts (campaign, COALESCE(ended_at, dialing_at, created_at), id);

-- What a call without a campaign has beside its attempt.
CREATE TABLE single_calls (
    attempt TEXT NOT NULL PRIMARY KEY REFERENCES attempts (id),
    name TEXT,
    variables TEXT NOT NULL,
    -- It is not dialed from then on.
    dial_before BIGINT NOT NULL
);
CREATE INDEX attempts_single_queued ON attempts (due_at, id) WHERE campaign IS NULL AND state = 'queued';

-- Facts are observations, not decisions: they are appended unguarded, also for an attempt that is gone.
CREATE TABLE turns (
    attempt TEXT NOT NULL,
    seq BIGINT NOT NULL,
    speaker TEXT NOT NULL,
    words TEXT NOT NULL,
    started_ms BIGINT NOT NULL,
    ended_ms BIGINT NOT NULL,
    interrupted BIGINT NOT NULL,
    damaged BIGINT NOT NULL,
    PRIMARY KEY (attempt, seq)
);

CREATE TABLE journal (
    id TEXT NOT NULL PRIMARY KEY,
    attempt TEXT NOT NULL,
    name TEXT NOT NULL,
    at_ms BIGINT NOT NULL,
    detail TEXT NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE INDEX journal_by_attempt ON journal (attempt, id);

CREATE TABLE nodes (
    id TEXT NOT NULL PRIMARY KEY,
    -- live, dead
    state TEXT NOT NULL,
    started_at BIGINT NOT NULL,
    -- Its last sign of life.
    seen_at BIGINT NOT NULL,
    -- Since when it gave one after the other without a gap.
    steady_since BIGINT NOT NULL
);

CREATE TABLE outbox (
    id TEXT NOT NULL PRIMARY KEY,
    kind TEXT NOT NULL,
    attempt TEXT NOT NULL REFERENCES attempts (id),
    due_at BIGINT NOT NULL,
    tries BIGINT NOT NULL,
    UNIQUE (attempt, kind)
);
CREATE INDEX outbox_due ON outbox (kind, due_at, id);

CREATE TABLE idempotency_keys (
    account TEXT NOT NULL REFERENCES accounts (id),
    idempotency_key TEXT NOT NULL,
    operation TEXT NOT NULL,
    request_hash TEXT NOT NULL,
    -- New with every reservation.
    lease TEXT NOT NULL,
    -- From then on the key is free: the end of the reservation, or of the day after its success.
    expires_at BIGINT NOT NULL,
    -- Of the answer, and the id of what was made; both are set by a success.
    status BIGINT,
    resource TEXT,
    PRIMARY KEY (account, idempotency_key)
);
CREATE INDEX idempotency_keys_by_end ON idempotency_keys (expires_at);
