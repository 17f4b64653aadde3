-- Lists of an account's booked appointments by their start.
CREATE INDEX appointments_by_start ON appointments (account, starts_at, id) WHERE state = 'booked';
