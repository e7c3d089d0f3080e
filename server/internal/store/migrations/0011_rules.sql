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

-- Questions that are one card: what is asked in exactly the same words of the same
-- session at once. The first one is answered for those that were counted by then.
ALTER TABLE questions ADD COLUMN same BLOB; -- tells what is asked apart from all else; NULL: it stands alone
ALTER TABLE questions ADD COLUMN same_as INTEGER NOT NULL DEFAULT 0; -- the first one, while both are pending; 0: it is the first itself
ALTER TABLE questions ADD COLUMN joined INTEGER NOT NULL DEFAULT 0; -- from which revision of the first one on it is counted there

CREATE INDEX questions_by_same ON questions (stream_id, same, same_as, seq) WHERE state = 'pending' AND same IS NOT NULL;
