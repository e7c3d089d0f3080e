-- Finds a session by its ID alone, because telemetry has no application.

-- +goose Up

CREATE INDEX sessions_by_id ON sessions (stream_id, session, last);
