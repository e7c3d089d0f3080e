-- Which call a question is about, so that it can be said how the same call ended before.

-- +goose Up

ALTER TABLE questions ADD COLUMN call BLOB; -- the first 16 bytes of SHA-256 of the tool and its arguments; NULL: it is about none

CREATE INDEX questions_by_call ON questions (stream_id, app, call, seq) WHERE call IS NOT NULL;
