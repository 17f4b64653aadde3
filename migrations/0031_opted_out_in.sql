-- Call in which the person opted out.
ALTER TABLE do_not_call ADD COLUMN attempt TEXT;
UPDATE do_not_call SET attempt = (
    SELECT MIN(a.id) FROM attempts a JOIN account_events e ON e.attempt = a.id AND e.type = 'contact.opted_out'
    WHERE a.account = do_not_call.account AND a.phone_number = do_not_call.phone_number
);
