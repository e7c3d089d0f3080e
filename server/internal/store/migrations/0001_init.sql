-- The first schema. stream_id leads every key: it is always 1 here, and leaves
-- room for a second store that keeps several logs in one database.
--
-- Times are Unix milliseconds of the hub's clock unless a column says otherwise.

-- +goose Up

CREATE TABLE hub (
    stream_id INTEGER NOT NULL PRIMARY KEY,
    id        TEXT    NOT NULL, -- names this database; clients see it
    key       BLOB    NOT NULL  -- 32 random bytes; request secrets are made with it
) STRICT;

CREATE TABLE streams (
    stream_id INTEGER NOT NULL PRIMARY KEY,
    head      INTEGER NOT NULL, -- the last number given out; written in the transaction that gives it out
    pruned    INTEGER NOT NULL, -- the highest number that retention removed
    events    INTEGER NOT NULL, -- rows in events, so that nobody has to count them
    received  INTEGER NOT NULL, -- received_at of the newest event
    name      INTEGER NOT NULL  -- the last id given out in names
) STRICT;

INSERT INTO streams (stream_id, head, pruned, events, received, name) VALUES (1, 0, 0, 0, 0, 0);

-- What an event can be filtered by, each distinct value once. Events hold the
-- ids, and the lists of filter values come from here.
CREATE TABLE names (
    stream_id INTEGER NOT NULL,
    kind      INTEGER NOT NULL, -- 1 source_app, 2 session_id, 3 hook_event_type, 4 tool_name
    id        INTEGER NOT NULL, -- counted over all kinds; never 0, which stands for no value
    name      TEXT    NOT NULL,
    PRIMARY KEY (stream_id, kind, id)
) WITHOUT ROWID, STRICT;

CREATE UNIQUE INDEX names_by_name ON names (stream_id, kind, name);

-- The log's events. A row never changes; what becomes of a question stands in
-- questions. With a rowid: without one SQLite gives every row of more than 1 KB
-- an overflow page.
CREATE TABLE events (
    stream_id   INTEGER NOT NULL,
    seq         INTEGER NOT NULL, -- the event's id
    uid         BLOB    NOT NULL, -- UUIDv7
    received_at INTEGER NOT NULL, -- does not go back with seq, so that a time is found by binary search
    timestamp   INTEGER NOT NULL, -- the agent's clock
    app         INTEGER NOT NULL, -- names.id, as are the next three
    session     INTEGER NOT NULL,
    type        INTEGER NOT NULL,
    tool        INTEGER NOT NULL,
    asks        INTEGER NOT NULL, -- 1: it has a row in questions
    key         BLOB,             -- the first 16 bytes of SHA-256 of the idempotency key
    envelope    BLOB    NOT NULL, -- JSON members, without braces
    payload     BLOB    NOT NULL, -- a JSON object, as it was sent
    PRIMARY KEY (stream_id, seq)
) STRICT;

-- Grows at its end only, so it costs little to keep, and a filter reads some ten
-- events of it per microsecond without touching the wide rows.
CREATE INDEX events_scan ON events (stream_id, seq, app, session, type, tool, asks);

CREATE UNIQUE INDEX events_by_key ON events (stream_id, key) WHERE key IS NOT NULL;

-- Which stretches of the log hold a name: zone n is the numbers from n*512 to
-- n*512+511. A filter by anything rare skips the others.
CREATE TABLE zones (
    stream_id INTEGER NOT NULL,
    name      INTEGER NOT NULL, -- names.id
    zone      INTEGER NOT NULL,
    PRIMARY KEY (stream_id, name, zone)
) WITHOUT ROWID, STRICT;

-- Transcripts, which only the event's own page shows.
CREATE TABLE chats (
    stream_id INTEGER NOT NULL,
    seq       INTEGER NOT NULL, -- of the event
    chat      BLOB    NOT NULL,
    PRIMARY KEY (stream_id, seq)
) STRICT;

CREATE TABLE questions (
    stream_id    INTEGER NOT NULL,
    seq          INTEGER NOT NULL, -- of the event that asks
    app          INTEGER NOT NULL, -- copies of the event's names
    session      INTEGER NOT NULL,
    type         INTEGER NOT NULL,
    tool         INTEGER NOT NULL,
    question     BLOB    NOT NULL, -- humanInTheLoop without its secrets, JSON
    asked        BLOB    NOT NULL, -- humanInTheLoopStatus as it began, JSON
    status       BLOB    NOT NULL, -- humanInTheLoopStatus as it is, JSON
    state        TEXT    NOT NULL, -- pending, responded, timeout, error
    version      INTEGER NOT NULL, -- guards every change
    changed_at   INTEGER NOT NULL,
    deadline     INTEGER NOT NULL, -- 0: never
    url          TEXT    NOT NULL, -- secret; empty: the agent pulls
    listener_key TEXT    NOT NULL, -- secret
    protocol     INTEGER NOT NULL, -- 2: the listener acknowledges
    answer       BLOB,             -- schema.Answer without hookEvent, JSON; NULL while pending
    asker        BLOB,             -- schema.Process of the asking program, JSON
    text         TEXT    NOT NULL, -- what a search looks in
    PRIMARY KEY (stream_id, seq)
) STRICT;

CREATE INDEX questions_by_state ON questions (stream_id, state, seq, app, session, type, tool);

CREATE INDEX questions_by_session ON questions (stream_id, session, app, seq) WHERE state = 'pending';

CREATE INDEX questions_by_deadline ON questions (stream_id, deadline) WHERE state = 'pending' AND deadline > 0;

-- The log's changes of questions.
CREATE TABLE changes (
    stream_id INTEGER NOT NULL,
    seq       INTEGER NOT NULL,
    question  INTEGER NOT NULL, -- questions.seq
    ends      INTEGER NOT NULL, -- 1: the question's end
    status    BLOB    NOT NULL, -- humanInTheLoopStatus after it, JSON
    PRIMARY KEY (stream_id, seq)
) STRICT;

CREATE INDEX changes_by_question ON changes (stream_id, question);

-- Answers on their way to agents.
CREATE TABLE deliveries (
    stream_id   INTEGER NOT NULL,
    seq         INTEGER NOT NULL, -- of the question
    answer_id   TEXT    NOT NULL, -- UUIDv7, the same over all attempts
    state       TEXT    NOT NULL, -- schema.DeliveryState
    attempts    INTEGER NOT NULL,
    sent        INTEGER NOT NULL, -- 1: bytes may have gone to a version 1 listener
    due         INTEGER NOT NULL, -- of the next attempt; 0: there is none
    until       INTEGER NOT NULL, -- when to give up
    leased      INTEGER NOT NULL, -- until then the lessee alone works on it
    wake        INTEGER NOT NULL, -- the later of due and leased
    open        INTEGER NOT NULL, -- 1: there is something left to do
    undelivered INTEGER NOT NULL, -- 1: nothing shows that the agent has it, and something should
    PRIMARY KEY (stream_id, seq)
) STRICT;

CREATE INDEX deliveries_open ON deliveries (stream_id, wake) WHERE open = 1;

CREATE INDEX deliveries_undelivered ON deliveries (stream_id, seq) WHERE undelivered = 1;
