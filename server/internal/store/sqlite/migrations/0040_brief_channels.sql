-- Channels whose messages show no details.

-- +goose Up

ALTER TABLE channels ADD COLUMN is_brief INTEGER NOT NULL DEFAULT 0;
