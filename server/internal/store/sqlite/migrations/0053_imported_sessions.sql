-- Sessions that were imported from transcripts are in the order of their original times, and their cost is
-- separate from that of running agents.

-- +goose Up

-- Unix ms of the last activity << 11, plus the lowest bits of last, so that it is unique.
ALTER TABLE sessions ADD COLUMN active INTEGER NOT NULL DEFAULT 0;

ALTER TABLE sessions ADD COLUMN imported INTEGER NOT NULL DEFAULT 0; -- 1: known from a transcript only

UPDATE sessions SET active = (coalesce(CAST(json_extract(CAST(facts AS TEXT), '$.sum.lastAt') AS INTEGER), 0) << 11) | (last & 2047);

CREATE INDEX sessions_by_active ON sessions (stream_id, active);

DROP INDEX sessions_by_app;
CREATE INDEX sessions_by_app ON sessions (stream_id, app, active);

CREATE INDEX sessions_imported ON sessions (stream_id, active) WHERE imported = 1;

ALTER TABLE spend ADD COLUMN imported INTEGER NOT NULL DEFAULT 0; -- 1: by a transcript
