-- The people of the hub, how they sign in, and the credentials of programs. Of every
-- secret only its SHA-256 is kept.

-- +goose Up

CREATE TABLE people (
    stream_id  INTEGER NOT NULL,
    name       TEXT    NOT NULL,
    role       TEXT    NOT NULL, -- schema.Role
    owner      INTEGER NOT NULL, -- 1: the hub is theirs
    email      TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    seen_at    INTEGER NOT NULL, -- 0: never
    PRIMARY KEY (stream_id, name)
) STRICT;

-- Browsers that somebody signed in with. A change needs the cookie and the key.
CREATE TABLE sign_ins (
    stream_id  INTEGER NOT NULL,
    id         TEXT    NOT NULL,
    person     TEXT    NOT NULL, -- people.name
    way        TEXT    NOT NULL, -- link, oidc
    user_agent TEXT    NOT NULL,
    cookie     BLOB    NOT NULL, -- hash
    page_key   BLOB    NOT NULL, -- hash
    created_at INTEGER NOT NULL,
    seen_at    INTEGER NOT NULL,
    PRIMARY KEY (stream_id, id)
) STRICT;

CREATE TABLE tokens (
    stream_id  INTEGER NOT NULL,
    id         TEXT    NOT NULL,
    name       TEXT    NOT NULL,
    prefix     TEXT    NOT NULL, -- how it begins, to tell it apart
    hash       BLOB    NOT NULL,
    person     TEXT    NOT NULL, -- people.name; empty: an agent's
    apps       TEXT    NOT NULL, -- patterns of source_app, a JSON array
    created_at INTEGER NOT NULL,
    used_at    INTEGER NOT NULL, -- 0: never
    expires_at INTEGER NOT NULL, -- 0: never
    PRIMARY KEY (stream_id, id)
) STRICT;

-- One-time sign-in links.
CREATE TABLE sign_in_codes (
    stream_id  INTEGER NOT NULL,
    hash       BLOB    NOT NULL,
    person     TEXT    NOT NULL, -- people.name; empty: whoever takes it gives a name and owns the hub
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (stream_id, hash)
) STRICT;

ALTER TABLE hub ADD COLUMN locked INTEGER NOT NULL DEFAULT 0; -- 1: answers of signed-in operators only

ALTER TABLE questions ADD COLUMN requester TEXT NOT NULL DEFAULT ''; -- who asked, by their token or sign-in; empty: nobody knows
