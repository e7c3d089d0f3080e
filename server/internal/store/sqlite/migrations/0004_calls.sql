-- The tool call of a question, to find the outcomes of earlier questions about the same call.

-- +goose Up

ALTER TABLE questions ADD COLUMN call BLOB; -- first 16 bytes of SHA-256 of the tool and its arguments; NULL: no tool call

CREATE INDEX questions_by_call ON questions (stream_id, app, call, seq) WHERE call IS NOT NULL;
