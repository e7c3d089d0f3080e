-- Sign-in with an OpenID Connect provider.

-- +goose Up

ALTER TABLE people ADD COLUMN subject TEXT NOT NULL DEFAULT ''; -- issuer and sub at the provider; empty: not linked

ALTER TABLE sign_in_codes ADD COLUMN way TEXT NOT NULL DEFAULT 'link'; -- method of the sign-in: link, oidc
