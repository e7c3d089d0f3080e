-- Sign-ins in several steps, and the number of changes of accounts.

-- +goose Up

ALTER TABLE hub ADD COLUMN people_version bigint NOT NULL DEFAULT 1;

CREATE TABLE flows (
    id         bytea  PRIMARY KEY, -- hash of a secret
    kind       text   COLLATE "C" NOT NULL,
    data       bytea  NOT NULL,
    expires_at bigint NOT NULL
);

CREATE INDEX flows_by_kind ON flows (kind, expires_at);
CREATE INDEX flows_by_end ON flows (expires_at);
