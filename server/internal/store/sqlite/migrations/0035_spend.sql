-- The person that ran a session, and the cost of its models by quarter-hour.

-- +goose Up

ALTER TABLE sessions ADD COLUMN person TEXT NOT NULL DEFAULT ''; -- empty: unknown

CREATE INDEX sessions_by_person ON sessions (stream_id, person) WHERE person <> '';

-- Complete for the events after the upgrade. A row keeps its application and its person when
-- retention removes the session.
CREATE TABLE spend (
    stream_id   INTEGER NOT NULL,
    first       INTEGER NOT NULL, -- sessions.first
    quarter     INTEGER NOT NULL,
    model       TEXT    NOT NULL, -- empty: unknown
    app         TEXT    NOT NULL,
    person      TEXT    NOT NULL,
    input       INTEGER NOT NULL,
    output      INTEGER NOT NULL,
    cache_read  INTEGER NOT NULL,
    cache_write INTEGER NOT NULL,
    cost        REAL    NOT NULL, -- USD
    PRIMARY KEY (stream_id, first, quarter, model)
) WITHOUT ROWID, STRICT;

CREATE INDEX spend_by_quarter ON spend (stream_id, quarter);
