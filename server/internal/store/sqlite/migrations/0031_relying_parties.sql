-- Passkeys at several addresses of the hub.

-- +goose Up

ALTER TABLE passkeys ADD COLUMN rp_id TEXT NOT NULL DEFAULT ''; -- host name at which it works; empty: that of the hub's start, as in earlier versions
ALTER TABLE sign_in_codes ADD COLUMN confirmed INTEGER NOT NULL DEFAULT 0; -- the person confirmed it with a passkey
ALTER TABLE sign_ins ADD COLUMN confirmed INTEGER NOT NULL DEFAULT 0; -- of the code
