-- 0 once the words of the call were erased because of their age.
ALTER TABLE attempts ADD COLUMN words_kept BIGINT NOT NULL DEFAULT 1;
CREATE INDEX attempts_with_words ON attempts (ended_at, id) WHERE state = 'final' AND words_kept = 1;
