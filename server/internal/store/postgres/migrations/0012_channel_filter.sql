-- +goose Up

-- The requests whose messages a channel sends.
ALTER TABLE channels ADD COLUMN filter text NOT NULL DEFAULT '{}'; -- schema.ChannelFilter, JSON
