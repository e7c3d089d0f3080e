-- Accounts, sign-ins and tokens. Secrets are stored only as SHA-256.

-- +goose Up

CREATE TABLE people (
    stream_id  INTEGER NOT NULL,
    name       TEXT    NOT NULL,
    role       TEXT    NOT NULL, -- schema.Role
    owner      INTEGER NOT NULL, -- 1: owner of the hub
    email      TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    seen_at    INTEGER NOT NULL, -- 0: never
    PRIMARY KEY (stream_id, name)
) STRICT;

-- Signed-in browsers. Requests that change something need the cookie and the key.
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
    prefix     TEXT    NOT NULL, -- first characters, to recognize it
    hash       BLOB    NOT NULL,
    person     TEXT    NOT NULL, -- people.name; empty: a token for agents
    apps       TEXT    NOT NULL, -- source_app patterns, a JSON array
    created_at INTEGER NOT NULL,
    used_at    INTEGER NOT NULL, -- 0: never
    expires_at INTEGER NOT NULL, -- 0: never
    PRIMARY KEY (stream_id, id)
) STRICT;

-- One-time sign-in links.
CREATE TABLE sign_in_codes (
    stream_id  INTEGER NOT NULL,
    hash       BLOB    NOT NULL,
    person     TEXT    NOT NULL, -- people.name; empty: its user chooses a name and becomes the owner
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (stream_id, hash)
) STRICT;

ALTER TABLE hub ADD COLUMN locked INTEGER NOT NULL DEFAULT 0; -- 1: only signed-in operators can answer

ALTER TABLE questions ADD COLUMN requester TEXT NOT NULL DEFAULT ''; -- authenticated name of the requester; empty: unknown
