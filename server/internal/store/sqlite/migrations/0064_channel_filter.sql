-- +goose Up

-- The requests whose messages a channel sends.
ALTER TABLE channels ADD COLUMN filter TEXT NOT NULL DEFAULT '{}'; -- schema.ChannelFilter, JSON
