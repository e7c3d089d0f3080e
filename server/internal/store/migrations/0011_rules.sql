-- Rules that answer in a person's place, and questions that ask the same at once.

-- +goose Up

CREATE TABLE rules (
    stream_id  INTEGER NOT NULL,
    id         INTEGER NOT NULL, -- counted from 1; never given out twice, since no rule is ever deleted
    rule       BLOB    NOT NULL, -- schema.Rule as it was made, JSON; what may change stands in the columns
    after      INTEGER NOT NULL, -- the log's head when it was made: it answers what was asked later
    since      INTEGER NOT NULL, -- when it was made; moves along when the clock is set
    app        TEXT    NOT NULL, -- of the session it ends with; empty: with none
    session    TEXT    NOT NULL,
    expires_at INTEGER NOT NULL, -- 0: never
    revoked_at INTEGER NOT NULL, -- 0: it was not
    revoked_by TEXT    NOT NULL,
    uses       INTEGER NOT NULL,
    used_at    INTEGER NOT NULL, -- 0: never
    PRIMARY KEY (stream_id, id)
) STRICT;
