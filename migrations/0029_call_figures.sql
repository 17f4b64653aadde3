-- Figures that the lists show of a call; null until the call is counted for analytics.

-- Half of the agent's answers did not take longer.
ALTER TABLE attempts ADD COLUMN latency_ms BIGINT;
