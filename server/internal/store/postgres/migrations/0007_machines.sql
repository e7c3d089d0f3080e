-- Machines of hubs: a loopback address means an agent on one of them.

-- +goose Up

ALTER TABLE hubs ADD COLUMN machine text NOT NULL DEFAULT '';

-- The machine on which the url names the agent; empty: on any.
ALTER TABLE questions ADD COLUMN machine text COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE deliveries ADD COLUMN machine text COLLATE "C" NOT NULL DEFAULT '';

-- When a hub of another machine may give up a delivery.
CREATE INDEX deliveries_given_up ON deliveries (greatest(until, wake)) WHERE open AND machine <> '' AND until > 0;
