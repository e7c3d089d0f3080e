-- The hub's key pair: the private key is in a file next to the database.

-- +goose Up

-- hub.key is no longer used. The first start with this schema overwrites it, and encrypts
-- channels.url, channels.secret and notifier.push with a key from the file.
ALTER TABLE hub ADD COLUMN public_key BLOB NOT NULL DEFAULT X''; -- Ed25519; empty: not created yet

-- How the newest keys replaced each other.
CREATE TABLE key_rotations (
    stream_id INTEGER NOT NULL,
    n         INTEGER NOT NULL, -- increases with every rotation
    envelope  BLOB    NOT NULL, -- schema.Envelope of a schema.KeyRotation, JSON
    PRIMARY KEY (stream_id, n)
) STRICT;

-- Signed heads of the ledger.
CREATE TABLE ledger_heads (
    stream_id INTEGER NOT NULL,
    n         INTEGER NOT NULL, -- ledger.n
    envelope  BLOB    NOT NULL, -- schema.Envelope of a schema.LedgerHead, JSON
    PRIMARY KEY (stream_id, n)
) STRICT;
