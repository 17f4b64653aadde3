-- HTTP tools that agents may use in calls.
CREATE TABLE tools (
    id TEXT NOT NULL PRIMARY KEY,
    account TEXT NOT NULL REFERENCES accounts (id),
    -- What a model calls it.
    name TEXT NOT NULL,
    description TEXT NOT NULL,
    -- A JSON Schema as JSON text.
    parameters TEXT NOT NULL,
    url TEXT NOT NULL,
    method TEXT NOT NULL,
    timeout_ms BIGINT NOT NULL,
    version BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX tools_by_name ON tools (account, name);
CREATE INDEX tools_by_creation ON tools (account, created_at, id);

-- The tools that an agent's document names: none of them can be deleted meanwhile.
CREATE TABLE agent_tools (
    agent TEXT NOT NULL REFERENCES agents (id),
    tool TEXT NOT NULL REFERENCES tools (id),
    PRIMARY KEY (agent, tool)
);
CREATE INDEX agent_tools_by_tool ON agent_tools (tool);
