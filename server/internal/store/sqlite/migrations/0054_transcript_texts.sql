-- The searchable text of the newest transcript of each session. Complete for the transcripts that were
-- received after the upgrade.

-- +goose Up

CREATE TABLE transcript_texts (
    stream_id INTEGER NOT NULL,
    seq       INTEGER NOT NULL, -- the event with the transcript
    first     INTEGER NOT NULL, -- sessions.first
    text      TEXT    NOT NULL, -- folded, one text per line
    PRIMARY KEY (stream_id, seq)
) STRICT;

CREATE UNIQUE INDEX transcript_texts_by_session ON transcript_texts (stream_id, first);
