-- Answers that can still be undone, and undelivered ones that a person took care of.

-- +goose Up

ALTER TABLE questions ADD COLUMN held BLOB; -- schema.Answer as it was given, JSON; NULL: none
ALTER TABLE questions ADD COLUMN held_until INTEGER NOT NULL DEFAULT 0; -- when it counts; 0: none is held

CREATE INDEX questions_by_hold ON questions (stream_id, held_until) WHERE state = 'pending' AND held_until > 0;

ALTER TABLE deliveries ADD COLUMN handled INTEGER NOT NULL DEFAULT 0; -- when a person took care of it; 0: nobody did
