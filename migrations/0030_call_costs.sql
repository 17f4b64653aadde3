-- Cost of a call in thousand-millionths of the currency's unit, by the prices with which it was counted for analytics.
ALTER TABLE attempts ADD COLUMN cost_nanos BIGINT;
CREATE INDEX attempts_by_cost ON attempts (account, cost_nanos, id) WHERE cost_nanos > 0;
