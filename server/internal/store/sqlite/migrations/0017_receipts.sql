-- Signed answers.

-- +goose Up

ALTER TABLE questions ADD COLUMN has_nonce INTEGER NOT NULL DEFAULT 0; -- 1: the question has a nonce
ALTER TABLE questions ADD COLUMN receipt BLOB; -- schema.Envelope of the resolution's statement, JSON; NULL: not signed
ALTER TABLE questions ADD COLUMN proofs BLOB; -- the passkey assertions of its answers and votes, a JSON array of schema.PasskeyProof; NULL: none
