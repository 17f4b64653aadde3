-- Appointments that calls make: written before the calendar is asked, settled with its answer.
CREATE TABLE appointments (
    id TEXT NOT NULL PRIMARY KEY,
    account TEXT NOT NULL REFERENCES accounts (id),
    attempt TEXT NOT NULL REFERENCES attempts (id),
    -- ics, cal.com, google
    provider TEXT NOT NULL,
    -- An event type, or a calendar's id; empty for an invitation.
    calendar TEXT NOT NULL,
    -- As it was wished for: with call and calendar the key by which a wish is known again.
    wished_at BIGINT NOT NULL,
    starts_at BIGINT NOT NULL,
    ends_at BIGINT NOT NULL,
    -- Title, zone, person and notes as JSON.
    details TEXT NOT NULL,
    -- pending, booked, failed
    state TEXT NOT NULL,
    -- The calendar's id of it.
    event TEXT,
    confirmed BIGINT NOT NULL,
    -- How often it was leased.
    lease BIGINT NOT NULL,
    -- The end of the lease.
    due_at BIGINT NOT NULL,
    booked_at BIGINT,
    created_at BIGINT NOT NULL,
    UNIQUE (attempt, calendar, wished_at)
);
CREATE INDEX appointments_pending ON appointments (due_at) WHERE state = 'pending';
CREATE INDEX appointments_times ON appointments (calendar, starts_at) WHERE state <> 'failed';
