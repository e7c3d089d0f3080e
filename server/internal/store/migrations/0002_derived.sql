-- What is told from the log, so that nobody has to read it for a sum. One
-- follower writes all of it, behind the log and never on the way of an event:
-- what stands here is true of the log up to derived.cursor. Names are texts:
-- figures outlive the events that the table names belongs to.
--
-- A quarter is Unix time divided by 15 minutes: every time zone's day begins with
-- one. Bins of durations are package digest's.

-- +goose Up

CREATE TABLE derived (
    stream_id INTEGER NOT NULL PRIMARY KEY,
    cursor    INTEGER NOT NULL -- everything below is told from the log up to here
) STRICT;

INSERT INTO derived (stream_id, cursor) VALUES (1, 0);

CREATE TABLE sessions (
    stream_id INTEGER NOT NULL,
    app       TEXT    NOT NULL,
    session   TEXT    NOT NULL,
    first     INTEGER NOT NULL, -- its first event; no other session has the same
    last      INTEGER NOT NULL, -- its newest event
    text      TEXT    NOT NULL, -- what a search looks in, in lower case
    facts     BLOB    NOT NULL, -- digest.Session, JSON
    PRIMARY KEY (stream_id, app, session)
) STRICT;

CREATE INDEX sessions_by_last ON sessions (stream_id, last);

CREATE INDEX sessions_by_app ON sessions (stream_id, app, last);

CREATE TABLE session_tools (
    stream_id INTEGER NOT NULL,
    first     INTEGER NOT NULL, -- sessions.first
    tool      TEXT    NOT NULL,
    bin       INTEGER NOT NULL, -- of the duration; -1: not known
    calls     INTEGER NOT NULL,
    failures  INTEGER NOT NULL,
    total     INTEGER NOT NULL, -- ms
    PRIMARY KEY (stream_id, first, tool, bin)
) WITHOUT ROWID, STRICT;

-- How questions ended, by when they did.
CREATE TABLE decisions (
    stream_id INTEGER NOT NULL,
    quarter   INTEGER NOT NULL,
    app       TEXT    NOT NULL,
    outcome   TEXT    NOT NULL, -- approved, denied, answered, timeout, cancelled, other
    person    INTEGER NOT NULL, -- 1: a person decided
    bin       INTEGER NOT NULL, -- of the time it took
    count     INTEGER NOT NULL,
    PRIMARY KEY (stream_id, quarter, app, outcome, person, bin)
) WITHOUT ROWID, STRICT;

-- The next two hold everything twice: by quarter, for where a span of time begins,
-- and by day of UTC for the rest of it.

CREATE TABLE activity (
    stream_id   INTEGER NOT NULL,
    span        INTEGER NOT NULL, -- quarters: 1, or 96 for a day
    at          INTEGER NOT NULL, -- Unix time divided by span
    app         TEXT    NOT NULL,
    events      INTEGER NOT NULL,
    tools       INTEGER NOT NULL, -- calls that came to an end
    failures    INTEGER NOT NULL,
    asked       INTEGER NOT NULL,
    waited      INTEGER NOT NULL, -- for a person, ms, by when that ended
    input       INTEGER NOT NULL, -- tokens, as are the next three
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
    bin       INTEGER NOT NULL, -- as in session_tools, as are the next three
    calls     INTEGER NOT NULL,
    failures  INTEGER NOT NULL,
    total     INTEGER NOT NULL,
    PRIMARY KEY (stream_id, span, at, tool, bin)
) WITHOUT ROWID, STRICT;
