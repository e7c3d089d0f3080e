-- WebAuthn credentials, which sign answers. Only public keys are stored.

-- +goose Up

CREATE TABLE passkeys (
    stream_id  INTEGER NOT NULL,
    id         TEXT    NOT NULL,
    person     TEXT    NOT NULL, -- people.name
    name       TEXT    NOT NULL, -- chosen by the person
    credential BLOB    NOT NULL, -- credential ID
    public_key BLOB    NOT NULL, -- COSE key
    sign_count INTEGER NOT NULL, -- last value reported by the authenticator; 0: not supported
    flags      INTEGER NOT NULL, -- from the WebAuthn authenticator data
    transports TEXT    NOT NULL, -- a JSON array
    created_at INTEGER NOT NULL,
    used_at    INTEGER NOT NULL, -- 0: never
    PRIMARY KEY (stream_id, id)
) STRICT;

CREATE UNIQUE INDEX passkeys_credential ON passkeys (stream_id, credential);
