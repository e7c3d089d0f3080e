-- Liveness: questions that end when their requester is gone.

-- +goose Up

ALTER TABLE questions ADD COLUMN lifeline INTEGER NOT NULL DEFAULT 0; -- connection whose loss ends the question; 0: none, 1: its listener, 2: the HTTP request that asked

CREATE INDEX questions_by_lifeline ON questions (stream_id, lifeline, seq) WHERE state = 'pending' AND lifeline > 0;
