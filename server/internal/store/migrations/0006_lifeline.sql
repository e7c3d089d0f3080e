-- Questions that end when their asker is gone.

-- +goose Up

ALTER TABLE questions ADD COLUMN lifeline INTEGER NOT NULL DEFAULT 0; -- what tells that the asker is gone; 0: nothing ends it, 1: its listener, 2: the connection of its own request

CREATE INDEX questions_by_lifeline ON questions (stream_id, lifeline, seq) WHERE state = 'pending' AND lifeline > 0;
