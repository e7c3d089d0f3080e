-- Whose a session is, by its id alone: telemetry knows no application.

-- +goose Up

CREATE INDEX sessions_by_id ON sessions (stream_id, session, last);
