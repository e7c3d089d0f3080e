-- Ratings of tool calls, a projection with its own cursor: it starts at the first event, also
-- in a database that has events already.

-- +goose Up

CREATE TABLE rating_cursor (
    stream_id INTEGER NOT NULL PRIMARY KEY,
    cursor    INTEGER NOT NULL -- log position up to which the tables below are complete
) STRICT;

INSERT INTO rating_cursor (stream_id, cursor) VALUES (1, 0);

-- Calls that may still change, as store.RatedCall.
CREATE TABLE open_calls (
    stream_id INTEGER NOT NULL,
    seq       INTEGER NOT NULL, -- events.seq of the call's start
    facts     BLOB    NOT NULL, -- JSON
    PRIMARY KEY (stream_id, seq)
) WITHOUT ROWID, STRICT;

-- Calls with a finding of medium risk or more, and refused calls.
CREATE TABLE risky_calls (
    stream_id   INTEGER NOT NULL,
    seq         INTEGER NOT NULL, -- events.seq of the call's start
    app         TEXT    NOT NULL,
    session     TEXT    NOT NULL,
    tool_use_id TEXT    NOT NULL, -- empty: none
    digest      TEXT    NOT NULL, -- of the tool and its arguments; empty: none
    tool        TEXT    NOT NULL,
    risk        TEXT    NOT NULL, -- empty: no finding
    codes       TEXT    NOT NULL, -- of the findings, separated by spaces
    decided     TEXT    NOT NULL, -- person, rule, policy, grant, agent
    outcome     TEXT    NOT NULL, -- open, ran, failed, refused
    PRIMARY KEY (stream_id, seq)
) WITHOUT ROWID, STRICT;

CREATE INDEX risky_calls_by_session ON risky_calls (stream_id, session, app, seq);

-- All calls, by the quarter-hour of their start.
CREATE TABLE machine_decisions (
    stream_id INTEGER NOT NULL,
    quarter   INTEGER NOT NULL,
    app       TEXT    NOT NULL,
    agent     TEXT    NOT NULL, -- the coding agent; empty: unknown
    decided   TEXT    NOT NULL,
    risk      TEXT    NOT NULL,
    outcome   TEXT    NOT NULL,
    calls     INTEGER NOT NULL,
    appealed  INTEGER NOT NULL, -- of calls
    PRIMARY KEY (stream_id, quarter, app, agent, decided, risk, outcome)
) WITHOUT ROWID, STRICT;
