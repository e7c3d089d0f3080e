-- What only a PostgreSQL database has, besides the tables of ../tables/schema.sql.

-- expect fails with SQLSTATE HB001 if a guard of a batch does not hold, which rolls it back.
CREATE FUNCTION expect(got bigint, want bigint, guard text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF got IS DISTINCT FROM want THEN
        RAISE EXCEPTION '%', guard USING ERRCODE = 'HB001', DETAIL = format('got %s, want %s', got, want);
    END IF;
END $$;

-- The hubs that use the database. Times are those of the database's clock.
CREATE TABLE hubs (
    id         text   COLLATE "C" PRIMARY KEY, -- of the process, a UUIDv7
    name       text   NOT NULL, -- for people
    version    text   NOT NULL,
    started_at bigint NOT NULL,
    seen_at    bigint NOT NULL,
    facts      bytea  NOT NULL, -- what it tells the other hubs, JSON
    machine    text   NOT NULL DEFAULT '' -- a loopback address means an agent on it
);

-- Work that one hub at a time does.
CREATE TABLE leases (
    name  text   COLLATE "C" PRIMARY KEY,
    owner text   NOT NULL, -- hubs.id
    until bigint NOT NULL
);

-- Every commit updates the counter row, so it has room for new versions on its page.
ALTER TABLE streams SET (fillfactor = 20, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0);
ALTER TABLE questions SET (fillfactor = 80);

ALTER TABLE search_grams ALTER COLUMN grams SET STORAGE EXTERNAL; -- not compressed: a search reads many

-- Payloads are stored compressed. lz4 needs less of the server's CPU than its default, if it has it.

DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_settings WHERE name = 'default_toast_compression' AND 'lz4' = ANY (enumvals)) THEN
        ALTER TABLE events ALTER COLUMN payload SET COMPRESSION lz4, ALTER COLUMN envelope SET COMPRESSION lz4;
        ALTER TABLE chats ALTER COLUMN chat SET COMPRESSION lz4;
        ALTER TABLE questions ALTER COLUMN question SET COMPRESSION lz4;
    END IF;
END $$;
