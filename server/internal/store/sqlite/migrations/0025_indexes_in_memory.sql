-- Fewer index pages per question and per session that changes.

-- +goose Up

-- The hub keeps the duplicate groups of pending questions in memory: see pendingQuestions.
DROP INDEX questions_by_same;

-- Without the newest event, which changes all the time.
DROP INDEX sessions_by_id;
CREATE INDEX sessions_by_id ON sessions (stream_id, session);
