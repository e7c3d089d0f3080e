-- The calls whose hook got a freeze. The hook reports a call before it knows, so the event doesn't say.

-- +goose Up

CREATE TABLE frozen_calls (
    seq       INTEGER NOT NULL PRIMARY KEY, -- events.seq
    stream_id INTEGER NOT NULL
) STRICT;
