-- Transfers to numbers that several agents offer.
CREATE TABLE transfer_rules (
    id TEXT NOT NULL PRIMARY KEY,
    account TEXT NOT NULL REFERENCES accounts (id),
    -- Name, condition, kind and destination, as JSON.
    rule TEXT NOT NULL,
    version BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);
CREATE INDEX transfer_rules_by_creation ON transfer_rules (account, created_at, id);

-- The rules that an agent's document names: none of them can be deleted meanwhile.
CREATE TABLE agent_transfer_rules (
    agent TEXT NOT NULL REFERENCES agents (id),
    rule TEXT NOT NULL REFERENCES transfer_rules (id),
    PRIMARY KEY (agent, rule)
);
CREATE INDEX agent_transfer_rules_by_rule ON agent_transfer_rules (rule);
