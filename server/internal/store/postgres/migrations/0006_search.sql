-- The trigram index for text search. The log is divided into blocks of 1024 sequence
-- numbers, and a block into 16 segments of 64. For every trigram (three consecutive
-- bytes, hashed to 20 bits) a block stores the segments that contain it, so a search
-- reads only the segments that contain all trigrams of its text.
--
-- The hub that leads builds it in the background from full blocks. The rest of the log is
-- searched event by event.

-- +goose Up

CREATE TABLE search_blocks (
    block   bigint  PRIMARY KEY, -- block n is the range from n*1024 to n*1024+1023
    made    text    COLLATE "C" NOT NULL, -- filter.IndexVersion of the indexed text; empty: stale and without trigrams, because events were removed
    crowded integer NOT NULL -- bit mask of saturated segments: too many trigrams to list, always searched
);

CREATE INDEX search_blocks_stale ON search_blocks (block) WHERE made = '';

-- The trigrams of a block, in slices by the first 6 bits of the hash.
CREATE TABLE search_grams (
    block bigint   NOT NULL, -- search_blocks.block
    slice smallint NOT NULL,
    grams bytea    NOT NULL, -- the other 14 bits in ascending order, each as the delta to its predecessor (varint) and a bit mask of segments (2 bytes)
    PRIMARY KEY (block, slice)
);

ALTER TABLE search_grams ALTER COLUMN grams SET STORAGE EXTERNAL; -- not compressed: a search reads many
