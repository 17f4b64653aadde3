-- Several nodes on one database.

-- The base URL at which the other nodes reach this one; null where they do not.
ALTER TABLE nodes ADD COLUMN address TEXT;

-- Whose import it is: one whose node is dead is removed. Null for one begun before its node was registered.
ALTER TABLE campaigns ADD COLUMN imported_by TEXT;

-- The version with which it was stopped when its calls were to be hung up, on whatever nodes they are.
ALTER TABLE campaigns ADD COLUMN hang_up_version BIGINT;

-- What all nodes of an installation share, each row made once by whoever comes first.
CREATE TABLE cluster (
    name TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
);
