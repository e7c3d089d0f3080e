-- Each opening of the database begins an epoch of its log. A copy of the database continues with
-- other epochs than the original, so that a reader's position shows to which of them it belongs.

-- +goose Up

CREATE TABLE epochs (
    stream_id INTEGER NOT NULL,
    n         INTEGER NOT NULL,
    id        TEXT    NOT NULL, -- random
    head      INTEGER NOT NULL, -- the last sequence number before it
    PRIMARY KEY (stream_id, n)
) WITHOUT ROWID, STRICT;
