-- The types of events that an endpoint gets, and since when, as a JSON array; null if they never changed.
ALTER TABLE webhook_endpoints ADD COLUMN terms TEXT;
