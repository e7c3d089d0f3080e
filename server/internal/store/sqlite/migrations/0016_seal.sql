-- Hashes that decide whether a repeated POST is the same request. NULL: asked before this migration.

-- +goose Up

ALTER TABLE questions ADD COLUMN body_hash BLOB; -- of the body of the POST, with the hub's key
ALTER TABLE questions ADD COLUMN ask_hash BLOB; -- schema.AskDigest; see hub.askHash
ALTER TABLE questions ADD COLUMN secret_hash BLOB; -- schema.RequestSecretHash
