-- The oldest schema version that a hub must support to use this database. A migration that removes
-- or changes what the release before it uses raises it, so that hubs of that release end:
-- UPDATE streams SET min_schema = NNNN.

-- +goose Up

ALTER TABLE streams ADD COLUMN min_schema bigint NOT NULL DEFAULT 0;
