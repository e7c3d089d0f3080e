-- Credentials of people's own devices, which prove answers. Only public keys are here.

-- +goose Up

CREATE TABLE passkeys (
    stream_id  INTEGER NOT NULL,
    id         TEXT    NOT NULL,
    person     TEXT    NOT NULL, -- people.name
    name       TEXT    NOT NULL, -- that the person gave it
    credential BLOB    NOT NULL, -- its id to the device
    public_key BLOB    NOT NULL, -- COSE
    sign_count INTEGER NOT NULL, -- as the device said last; 0: it does not count
    flags      INTEGER NOT NULL, -- of WebAuthn's authenticator data
    transports TEXT    NOT NULL, -- a JSON array
    created_at INTEGER NOT NULL,
    used_at    INTEGER NOT NULL, -- 0: never
    PRIMARY KEY (stream_id, id)
) STRICT;

CREATE UNIQUE INDEX passkeys_credential ON passkeys (stream_id, credential);
