-- Voice, model and tokens of an agent's turn, as JSON; none in turns of earlier versions.
ALTER TABLE turns ADD COLUMN detail TEXT;
