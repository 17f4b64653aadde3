-- Versions of agents: one row for each save. A node of an older release that runs beside newer ones saves without a row.
CREATE TABLE agent_versions (
    agent TEXT NOT NULL REFERENCES agents (id),
    version BIGINT NOT NULL,
    document TEXT NOT NULL,
    -- Paths of the fields that the save changed, as JSON.
    changed TEXT NOT NULL,
    saved_at BIGINT NOT NULL,
    PRIMARY KEY (agent, version)
);
INSERT INTO agent_versions (agent, version, document, changed, saved_at)
    SELECT id, version, document, '[]', updated_at FROM agents WHERE deleted_at IS NULL;

-- The version of the agent with which a call began; null for calls that did not begin, or began before this column.
ALTER TABLE attempts ADD COLUMN agent_version BIGINT;
