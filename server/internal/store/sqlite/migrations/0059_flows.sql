-- Sign-ins in several steps, and the number of changes of accounts.

-- +goose Up

ALTER TABLE hub ADD COLUMN people_version INTEGER NOT NULL DEFAULT 1;

CREATE TABLE flows (
    stream_id  INTEGER NOT NULL,
    id         BLOB    NOT NULL, -- hash of a secret
    kind       TEXT    NOT NULL,
    data       BLOB    NOT NULL,
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (stream_id, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX flows_kind ON flows (stream_id, kind, expires_at);
CREATE INDEX flows_end ON flows (stream_id, expires_at);
