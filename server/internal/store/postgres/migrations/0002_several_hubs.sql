-- Several hubs on one database.

-- +goose Up

-- mark identifies the last commit, so that a hub whose connection broke finds out whether it was its own.
-- state and policy count the commits after which hubs read again what they keep in memory: state in
-- the store (questions excepted: the log shows them), policy above it.
ALTER TABLE streams
    ADD COLUMN mark   bigint NOT NULL DEFAULT 0,
    ADD COLUMN state  bigint NOT NULL DEFAULT 0,
    ADD COLUMN policy bigint NOT NULL DEFAULT 0;

-- The hubs that use the database. Times are those of the database's clock.
CREATE TABLE hubs (
    id         text   COLLATE "C" PRIMARY KEY, -- of the process, a UUIDv7
    name       text   NOT NULL, -- for people
    version    text   NOT NULL,
    started_at bigint NOT NULL,
    seen_at    bigint NOT NULL,
    facts      bytea  NOT NULL -- what it tells the other hubs, JSON
);

-- Work that one hub at a time does.
CREATE TABLE leases (
    name  text   COLLATE "C" PRIMARY KEY,
    owner text   NOT NULL, -- hubs.id
    until bigint NOT NULL
);

-- The hub that attempts the delivery, and the hub that holds the request of the agent.
ALTER TABLE deliveries ADD COLUMN owner text COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE questions ADD COLUMN owner text COLLATE "C" NOT NULL DEFAULT '';

-- The line of the server's history in which the epoch began. It changes when a standby is promoted
-- and when a backup is restored.
ALTER TABLE epochs ADD COLUMN timeline text NOT NULL DEFAULT '';
