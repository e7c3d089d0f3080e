-- Projections of the log, so that aggregates need no scan. One projector writes all of
-- these tables, asynchronously and never while an event is stored: they are complete for
-- the log up to derived.cursor. Names are stored as text, because aggregates outlive
-- the rows of the table names.
--
-- A quarter is Unix time divided by 15 minutes: in every time zone a day begins with
-- one. A bin is a bucket of a duration histogram.

-- +goose Up

CREATE TABLE derived (
    stream_id INTEGER NOT NULL PRIMARY KEY,
    cursor    INTEGER NOT NULL -- log position up to which the tables below are complete
) STRICT;

INSERT INTO derived (stream_id, cursor) VALUES (1, 0);

CREATE TABLE sessions (
    stream_id INTEGER NOT NULL,
    app       TEXT    NOT NULL,
    session   TEXT    NOT NULL,
    first     INTEGER NOT NULL, -- first event; unique per session
    last      INTEGER NOT NULL, -- newest event
    text      TEXT    NOT NULL, -- searchable text, lower case
    facts     BLOB    NOT NULL, -- the session summary, JSON
    PRIMARY KEY (stream_id, app, session)
) STRICT;

CREATE INDEX sessions_by_last ON sessions (stream_id, last);

CREATE INDEX sessions_by_app ON sessions (stream_id, app, last);

CREATE TABLE session_tools (
    stream_id INTEGER NOT NULL,
    first     INTEGER NOT NULL, -- sessions.first
    tool      TEXT    NOT NULL,
    bin       INTEGER NOT NULL, -- of the duration; -1: unknown
    calls     INTEGER NOT NULL,
    failures  INTEGER NOT NULL,
    total     INTEGER NOT NULL, -- ms
    PRIMARY KEY (stream_id, first, tool, bin)
) WITHOUT ROWID, STRICT;

-- Resolved questions, by the time of the resolution.
CREATE TABLE decisions (
    stream_id INTEGER NOT NULL,
    quarter   INTEGER NOT NULL,
    app       TEXT    NOT NULL,
    outcome   TEXT    NOT NULL, -- approved, denied, answered, timeout, cancelled, other
    person    INTEGER NOT NULL, -- 1: decided by a person
    bin       INTEGER NOT NULL, -- of the waiting time
    count     INTEGER NOT NULL,
    PRIMARY KEY (stream_id, quarter, app, outcome, person, bin)
) WITHOUT ROWID, STRICT;

-- The next two tables hold every value twice: by quarter, for the start of a period, and
-- by UTC day for the rest of it.

CREATE TABLE activity (
    stream_id   INTEGER NOT NULL,
    span        INTEGER NOT NULL, -- bucket size in quarters: 1, or 96 for a day
    at          INTEGER NOT NULL, -- Unix time divided by span
    app         TEXT    NOT NULL,
    events      INTEGER NOT NULL,
    tools       INTEGER NOT NULL, -- completed calls
    failures    INTEGER NOT NULL,
    asked       INTEGER NOT NULL,
    waited      INTEGER NOT NULL, -- ms of waiting for a person, counted when the wait ended
    input       INTEGER NOT NULL, -- tokens, like the next three
    output      INTEGER NOT NULL,
    cache_read  INTEGER NOT NULL,
    cache_write INTEGER NOT NULL,
    cost        REAL    NOT NULL, -- USD
    PRIMARY KEY (stream_id, span, at, app)
) WITHOUT ROWID, STRICT;

CREATE TABLE tool_times (
    stream_id INTEGER NOT NULL,
    span      INTEGER NOT NULL,
    at        INTEGER NOT NULL,
    tool      TEXT    NOT NULL,
    bin       INTEGER NOT NULL, -- as in session_tools, like the next three
    calls     INTEGER NOT NULL,
    failures  INTEGER NOT NULL,
    total     INTEGER NOT NULL,
    PRIMARY KEY (stream_id, span, at, tool, bin)
) WITHOUT ROWID, STRICT;
