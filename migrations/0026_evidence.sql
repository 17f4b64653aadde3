-- Evidence for the collected values by entity, as JSON; null before the analysis, and for analyses of earlier versions.
ALTER TABLE attempts ADD COLUMN evidence TEXT;
