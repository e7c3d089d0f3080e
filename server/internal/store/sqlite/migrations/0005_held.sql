-- The undo window of answers, and undelivered answers that a person marked as handled.

-- +goose Up

ALTER TABLE questions ADD COLUMN held BLOB; -- schema.Answer in its undo window, JSON; NULL: none
ALTER TABLE questions ADD COLUMN held_until INTEGER NOT NULL DEFAULT 0; -- end of the undo window; 0: none

CREATE INDEX questions_by_hold ON questions (stream_id, held_until) WHERE state = 'pending' AND held_until > 0;

ALTER TABLE deliveries ADD COLUMN handled INTEGER NOT NULL DEFAULT 0; -- when a person marked it as handled; 0: not handled
