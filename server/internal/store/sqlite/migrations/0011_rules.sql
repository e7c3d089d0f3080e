-- Rules that answer on behalf of a person, and groups of duplicate questions.

-- +goose Up

CREATE TABLE rules (
    stream_id  INTEGER NOT NULL,
    id         INTEGER NOT NULL, -- from 1; never reused, because rules are not deleted
    rule       BLOB    NOT NULL, -- schema.Rule as created, JSON; mutable values are in the columns
    after      INTEGER NOT NULL, -- the log's head at its creation: the rule answers later questions
    since      INTEGER NOT NULL, -- creation time; adjusted when the clock is stepped
    app        TEXT    NOT NULL, -- of the session that limits it; empty: none
    session    TEXT    NOT NULL,
    expires_at INTEGER NOT NULL, -- 0: never
    revoked_at INTEGER NOT NULL, -- 0: not revoked
    revoked_by TEXT    NOT NULL,
    uses       INTEGER NOT NULL,
    used_at    INTEGER NOT NULL, -- 0: never
    PRIMARY KEY (stream_id, id)
) STRICT;

-- Duplicate groups: pending questions of one session with equal content. An answer to
-- the leader, the first of them, also resolves the duplicates counted at that revision.
ALTER TABLE questions ADD COLUMN same BLOB; -- duplicate key, equal for duplicates; NULL: never grouped
ALTER TABLE questions ADD COLUMN same_as INTEGER NOT NULL DEFAULT 0; -- the leader, while both are pending; 0: it is the leader
ALTER TABLE questions ADD COLUMN joined INTEGER NOT NULL DEFAULT 0; -- the leader's revision from which it is counted

CREATE INDEX questions_by_same ON questions (stream_id, same, same_as, seq) WHERE state = 'pending' AND same IS NOT NULL;
