-- Who signs in with an OpenID provider.

-- +goose Up

ALTER TABLE people ADD COLUMN subject TEXT NOT NULL DEFAULT ''; -- by which the provider knows them: its issuer and its sub; empty: it does not

ALTER TABLE sign_in_codes ADD COLUMN way TEXT NOT NULL DEFAULT 'link'; -- what the sign-in is by: link, oidc
