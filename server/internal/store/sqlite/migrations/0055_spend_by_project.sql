-- The cost of sessions by their working directory.

-- +goose Up

-- The directory of the session; empty: unknown. A row keeps it when retention removes the session.
ALTER TABLE spend ADD COLUMN project TEXT NOT NULL DEFAULT '';

UPDATE spend SET project = coalesce((SELECT json_extract(CAST(s.facts AS TEXT), '$.sum.cwd') FROM sessions s
    WHERE s.stream_id = 1 AND s.app = spend.app AND s.first = spend.first), '');
