-- The uses of a tool in one row per period: an overview of 90 days read a row for every
-- duration of every day.

-- +goose Up

CREATE TABLE tool_histograms (
    stream_id INTEGER NOT NULL,
    span      INTEGER NOT NULL, -- as in activity
    at        INTEGER NOT NULL,
    tool      TEXT    NOT NULL,
    bins      TEXT    NOT NULL, -- "bin calls failures total" for each duration, as in session_tools, separated by ";"
    PRIMARY KEY (stream_id, span, at, tool)
) WITHOUT ROWID, STRICT;

-- Two seconds for a million rows of tool_times, which three months of a busy hub have.
INSERT INTO tool_histograms (stream_id, span, at, tool, bins)
SELECT stream_id, span, at, tool, group_concat(bin || ' ' || calls || ' ' || failures || ' ' || total, ';')
FROM tool_times GROUP BY stream_id, span, at, tool;

DROP TABLE tool_times;
