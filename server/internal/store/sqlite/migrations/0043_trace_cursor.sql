-- How far turns of agents were sent as traces.

-- +goose Up

CREATE TABLE trace_cursor (
    stream_id INTEGER NOT NULL PRIMARY KEY,
    sent      INTEGER NOT NULL, -- log position: turns that ended up to here were sent
    resume    INTEGER NOT NULL  -- log position before the first row of the turns that were open then
) STRICT;
