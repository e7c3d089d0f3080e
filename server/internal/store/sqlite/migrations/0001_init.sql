-- The first schema. stream_id leads every key. It is always 1, and leaves room for a
-- store with several logs in one database.
--
-- Times are Unix milliseconds of the hub's clock unless noted otherwise.

-- +goose Up

CREATE TABLE hub (
    stream_id INTEGER NOT NULL PRIMARY KEY,
    id        TEXT    NOT NULL, -- identifies this database to clients
    key       BLOB    NOT NULL  -- 32 random bytes; request secrets are derived from it
) STRICT;

-- Written at the latest every 1024 log rows. What was appended later is counted again at
-- the next start: see readCounters.
CREATE TABLE streams (
    stream_id INTEGER NOT NULL PRIMARY KEY,
    head      INTEGER NOT NULL, -- last assigned sequence number when this row was written
    pruned    INTEGER NOT NULL, -- highest sequence number that retention removed
    events    INTEGER NOT NULL, -- number of rows in events; COUNT(*) would scan the table
    received  INTEGER NOT NULL, -- received_at of the newest event
    name      INTEGER NOT NULL  -- last id assigned in names
) STRICT;

INSERT INTO streams (stream_id, head, pruned, events, received, name) VALUES (1, 0, 0, 0, 0, 0);

-- The dictionary: each distinct value of the columns that events can be filtered by.
-- Events store the ids, and the lists of filter values come from here.
CREATE TABLE names (
    stream_id INTEGER NOT NULL,
    kind      INTEGER NOT NULL, -- 1 source_app, 2 session_id, 3 hook_event_type, 4 tool_name
    id        INTEGER NOT NULL, -- unique over all kinds; never 0, which stands for no value
    name      TEXT    NOT NULL,
    PRIMARY KEY (stream_id, kind, id)
) WITHOUT ROWID, STRICT;

CREATE UNIQUE INDEX names_by_name ON names (stream_id, kind, name);

-- The log's events. Rows never change: the state of a question is in questions. The
-- table has a rowid because without one SQLite needs an overflow page for every row of
-- more than 1 KB.
CREATE TABLE events (
    stream_id   INTEGER NOT NULL,
    seq         INTEGER NOT NULL, -- the event's id
    uid         BLOB    NOT NULL, -- UUIDv7
    received_at INTEGER NOT NULL, -- never decreases with seq, so a binary search finds a time
    timestamp   INTEGER NOT NULL, -- the agent's clock
    app         INTEGER NOT NULL, -- names.id, like the next three
    session     INTEGER NOT NULL,
    type        INTEGER NOT NULL,
    tool        INTEGER NOT NULL,
    asks        INTEGER NOT NULL, -- 1: it has a row in questions
    key         BLOB,             -- the first 16 bytes of SHA-256 of the idempotency key
    envelope    BLOB    NOT NULL, -- JSON members, without braces
    payload     BLOB    NOT NULL, -- a JSON object as sent
    PRIMARY KEY (stream_id, seq)
) STRICT;

-- Narrow index for filters, which read about ten events per microsecond without the wide
-- rows. It grows only at its end, so it is cheap to maintain.
CREATE INDEX events_scan ON events (stream_id, seq, app, session, type, tool, asks);

CREATE UNIQUE INDEX events_by_key ON events (stream_id, key) WHERE key IS NOT NULL;

-- Zone map: the segments of the log that contain a name. Zone n is the range from n*512
-- to n*512+511. A filter by a rare name skips the rest of the log.
CREATE TABLE zones (
    stream_id INTEGER NOT NULL,
    name      INTEGER NOT NULL, -- names.id
    zone      INTEGER NOT NULL,
    PRIMARY KEY (stream_id, name, zone)
) WITHOUT ROWID, STRICT;

-- Transcripts, which only the page of a single event shows.
CREATE TABLE chats (
    stream_id INTEGER NOT NULL,
    seq       INTEGER NOT NULL, -- events.seq
    chat      BLOB    NOT NULL,
    PRIMARY KEY (stream_id, seq)
) STRICT;

CREATE TABLE questions (
    stream_id    INTEGER NOT NULL,
    seq          INTEGER NOT NULL, -- events.seq
    app          INTEGER NOT NULL, -- copies of the event's columns, like the next three
    session      INTEGER NOT NULL,
    type         INTEGER NOT NULL,
    tool         INTEGER NOT NULL,
    question     BLOB    NOT NULL, -- humanInTheLoop without its secrets, JSON
    asked        BLOB    NOT NULL, -- initial humanInTheLoopStatus, JSON
    status       BLOB    NOT NULL, -- current humanInTheLoopStatus, JSON
    state        TEXT    NOT NULL, -- pending, responded, timeout, error
    version      INTEGER NOT NULL, -- optimistic concurrency: incremented by every change
    changed_at   INTEGER NOT NULL,
    deadline     INTEGER NOT NULL, -- 0: never
    url          TEXT    NOT NULL, -- secret; empty: the agent pulls
    listener_key TEXT    NOT NULL, -- secret
    protocol     INTEGER NOT NULL, -- 2: the listener acknowledges
    answer       BLOB,             -- schema.Answer without hookEvent, JSON; NULL while pending
    asker        BLOB,             -- schema.Process of the requester, JSON
    text         TEXT    NOT NULL, -- searchable text
    PRIMARY KEY (stream_id, seq)
) STRICT;

CREATE INDEX questions_by_state ON questions (stream_id, state, seq, app, session, type, tool);

CREATE INDEX questions_by_session ON questions (stream_id, session, app, seq) WHERE state = 'pending';

CREATE INDEX questions_by_deadline ON questions (stream_id, deadline) WHERE state = 'pending' AND deadline > 0;

-- The log's rows for changes of questions.
CREATE TABLE changes (
    stream_id INTEGER NOT NULL,
    seq       INTEGER NOT NULL,
    question  INTEGER NOT NULL, -- questions.seq
    ends      INTEGER NOT NULL, -- 1: the question's resolution
    status    BLOB    NOT NULL, -- humanInTheLoopStatus after the change, JSON
    PRIMARY KEY (stream_id, seq)
) STRICT;

CREATE INDEX changes_by_question ON changes (stream_id, question);

-- The outbox: answers on their way to agents.
CREATE TABLE deliveries (
    stream_id   INTEGER NOT NULL,
    seq         INTEGER NOT NULL, -- questions.seq
    answer_id   TEXT    NOT NULL, -- UUIDv7, the same for all attempts
    state       TEXT    NOT NULL, -- schema.DeliveryState
    attempts    INTEGER NOT NULL,
    sent        INTEGER NOT NULL, -- 1: bytes may have gone to a version 1 listener
    due         INTEGER NOT NULL, -- next attempt; 0: none
    until       INTEGER NOT NULL, -- end of retries
    leased      INTEGER NOT NULL, -- end of the worker's exclusive lease
    wake        INTEGER NOT NULL, -- the later of due and leased
    open        INTEGER NOT NULL, -- 1: an attempt is due or in progress
    undelivered INTEGER NOT NULL, -- 1: the answer may not have reached the agent
    PRIMARY KEY (stream_id, seq)
) STRICT;

CREATE INDEX deliveries_open ON deliveries (stream_id, wake) WHERE open = 1;

CREATE INDEX deliveries_undelivered ON deliveries (stream_id, seq) WHERE undelivered = 1;
