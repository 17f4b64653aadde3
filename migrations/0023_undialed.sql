-- The first contact of a list that is not dialed yet.
CREATE INDEX attempts_undialed ON attempts (contact_list, contact_index)
    WHERE attempt_no = 1 AND state IN ('queued', 'claimed');
