-- What filters and searches of conversations need. It is noted by a job in the background, also of calls before it.

-- Overall sentiment of the analysis: positive, neutral, negative.
ALTER TABLE attempts ADD COLUMN sentiment TEXT;
-- Whether the call has issues; null until the call is noted.
ALTER TABLE attempts ADD COLUMN has_issue BIGINT;
-- When the conversation was deleted: its row stays for counts alone.
ALTER TABLE attempts ADD COLUMN deleted_at BIGINT;

-- only SQLite

-- Which calls the index contains. Their places rise with the start.
CREATE TABLE transcripts (
    place INTEGER NOT NULL PRIMARY KEY,
    id TEXT NOT NULL UNIQUE REFERENCES attempts (id),
    account TEXT NOT NULL,
    started_at BIGINT NOT NULL
);
-- The words of each call, by place. The text itself is in `turns` alone.
CREATE VIRTUAL TABLE transcript_words USING fts5 (words, content = '', columnsize = 0, tokenize = 'ascii');
-- Erased words leave the index at once.
INSERT INTO transcript_words (transcript_words, rank) VALUES ('secure-delete', 1);

-- only PostgreSQL

CREATE TABLE transcripts (
    id TEXT NOT NULL PRIMARY KEY REFERENCES attempts (id),
    account TEXT NOT NULL,
    started_at BIGINT NOT NULL,
    words TSVECTOR NOT NULL
);
CREATE INDEX transcripts_words ON transcripts USING GIN (words);
-- A node of an older release that runs beside newer ones erases words without knowing of these.
CREATE FUNCTION forget_transcript() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM transcripts WHERE id = NEW.id;
    NEW.sentiment := NULL;
    NEW.has_issue := NULL;
    RETURN NEW;
END
$$;
CREATE TRIGGER attempts_forget_transcript BEFORE UPDATE OF words_kept ON attempts
    FOR EACH ROW WHEN (NEW.words_kept = 0) EXECUTE FUNCTION forget_transcript();
