-- Name and fields of the other person as they were when the call was dialed or came in. Both are null for calls from
-- before, and `variables`, as JSON, is set for all others until they are erased.
ALTER TABLE attempts ADD COLUMN contact_name TEXT;
ALTER TABLE attempts ADD COLUMN variables TEXT;

-- only SQLite

-- What the index contains of them, which removing them from it needs.
ALTER TABLE transcripts ADD COLUMN callee TEXT NOT NULL DEFAULT '';

-- only PostgreSQL

CREATE OR REPLACE FUNCTION forget_transcript() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM transcripts WHERE id = NEW.id;
    NEW.sentiment := NULL;
    NEW.has_issue := NULL;
    NEW.contact_name := NULL;
    NEW.variables := NULL;
    RETURN NEW;
END
$$;
