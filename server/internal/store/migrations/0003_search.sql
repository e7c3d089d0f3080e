-- Where in the log a text can be. The log is cut into blocks of 1024 numbers, and
-- these into 16 stretches of 64. A block says of every three bytes in a row
-- (hashed to 20 bits) in which of its stretches they occur, so that a search reads
-- the events of those stretches only that have all of what it looks for.
--
-- It is made in the background from blocks that are full. What is not in it is
-- looked through event by event.

-- +goose Up

CREATE TABLE search_blocks (
    stream_id INTEGER NOT NULL,
    block     INTEGER NOT NULL, -- block n is the numbers from n*1024 to n*1024+1023
    made      TEXT    NOT NULL, -- of which texts: filter.IndexVersion; empty: events were removed since, it has no grams
    crowded   INTEGER NOT NULL, -- bits of the stretches with too much in them to say what
    PRIMARY KEY (stream_id, block)
) WITHOUT ROWID, STRICT;

CREATE INDEX search_blocks_stale ON search_blocks (stream_id, block) WHERE made = '';

-- Split by the first 6 bits of the hash. The key is a number, which SQLite finds in
-- one step.
CREATE TABLE search_grams (
    place INTEGER NOT NULL PRIMARY KEY, -- stream_id << 48 | block << 6 | those 6 bits
    grams BLOB    NOT NULL              -- the other 14 bits in order, each as the step from the last one (varint) and its stretches (2 bytes)
) STRICT;
