-- Country (ISO 3166) by whose plan numbers without a country code are read, and the IANA zone of times in files.
ALTER TABLE accounts ADD COLUMN default_country TEXT;
ALTER TABLE accounts ADD COLUMN timezone TEXT NOT NULL DEFAULT 'UTC';
