-- Version 1 questions whose answers one listener can't tell apart.

-- +goose Up

ALTER TABLE questions ADD COLUMN listener BLOB; -- equal for such questions; NULL: none, or asked before this migration

CREATE INDEX questions_by_listener ON questions (stream_id, listener, seq) WHERE state = 'pending' AND listener IS NOT NULL;
