-- The requester that reported an agent first: limits are per requester.

-- +goose Up

ALTER TABLE coverage ADD COLUMN requester text COLLATE "C" NOT NULL DEFAULT '';
