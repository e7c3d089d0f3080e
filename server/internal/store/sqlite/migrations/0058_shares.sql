-- Links that show one session, read-only.

-- +goose Up

CREATE TABLE shares (
    stream_id  INTEGER NOT NULL,
    id         TEXT    NOT NULL,
    hash       BLOB    NOT NULL, -- SHA-256 of the secret
    app        TEXT    NOT NULL,
    session    TEXT    NOT NULL,
    person     TEXT    NOT NULL, -- the author
    transcript INTEGER NOT NULL, -- 1: also shows transcripts
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    opened_at  INTEGER NOT NULL, -- last time; 0: never
    opens      INTEGER NOT NULL,
    PRIMARY KEY (stream_id, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX shares_session ON shares (stream_id, app, session);
