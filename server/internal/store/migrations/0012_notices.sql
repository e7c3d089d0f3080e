-- Who is told of a question, by which channel, and whether it went out.

-- +goose Up

CREATE TABLE channels (
    stream_id  INTEGER NOT NULL,
    id         INTEGER NOT NULL,
    name       TEXT    NOT NULL,
    kind       TEXT    NOT NULL,
    url        TEXT    NOT NULL, -- secret
    secret     TEXT    NOT NULL, -- of a webhook; empty: it has none
    person     TEXT    NOT NULL, -- whose; empty: everybody's
    created_at INTEGER NOT NULL,
    created_by TEXT    NOT NULL,
    PRIMARY KEY (stream_id, id)
) STRICT;

-- One message each, at most once for what it is about: the unique index.
CREATE TABLE notices (
    stream_id INTEGER NOT NULL,
    id        INTEGER NOT NULL,
    question  INTEGER NOT NULL, -- questions.seq
    channel   INTEGER NOT NULL, -- channels.id; 0: Web Push
    name      TEXT    NOT NULL, -- the channel's, which may be gone
    person    TEXT    NOT NULL, -- empty: nobody by name
    kind      TEXT    NOT NULL, -- schema.Notice.Kind
    n         INTEGER NOT NULL, -- of the reminder; 0 otherwise
    state     TEXT    NOT NULL, -- schema.Notice.State
    why       TEXT    NOT NULL,
    error     TEXT    NOT NULL,
    attempts  INTEGER NOT NULL,
    due       INTEGER NOT NULL, -- of the next attempt, while queued
    leased    INTEGER NOT NULL, -- until then an attempt is under way; 0: none is
    made_at   INTEGER NOT NULL,
    at        INTEGER NOT NULL, -- of the last thing that happened to it
    PRIMARY KEY (stream_id, id)
) STRICT;

CREATE UNIQUE INDEX notices_once ON notices (stream_id, question, channel, person, kind, n);

CREATE INDEX notices_due ON notices (stream_id, channel, due) WHERE state = 'queued';

-- For the cooldown.
CREATE INDEX notices_sent ON notices (stream_id, channel, person, at) WHERE state = 'sent';

-- What of a question has been made notices of, beside that it was asked.
CREATE TABLE noticed (
    stream_id INTEGER NOT NULL,
    question  INTEGER NOT NULL,
    reminders INTEGER NOT NULL, -- so many of its reminders
    escalated INTEGER NOT NULL, -- 1: that it was put to more people
    PRIMARY KEY (stream_id, question)
) STRICT;

-- When people want to hear of questions; person is empty for who is not known.
CREATE TABLE notice_settings (
    stream_id INTEGER NOT NULL,
    person    TEXT    NOT NULL,
    settings  BLOB    NOT NULL, -- schema.NoticeSettings, JSON
    PRIMARY KEY (stream_id, person)
) STRICT;

-- How far the notices follow the log. What was asked before this table was made is
-- nobody's news any more.
CREATE TABLE notifier (
    stream_id INTEGER NOT NULL PRIMARY KEY,
    cursor    INTEGER NOT NULL,
    channel   INTEGER NOT NULL, -- the last id given out in channels
    push      TEXT    NOT NULL, -- the private key for Web Push, secret; empty: not made yet
    push_key  TEXT    NOT NULL  -- the public one
) STRICT;

INSERT INTO notifier (stream_id, cursor, channel, push, push_key) SELECT stream_id, head, 0, '', '' FROM streams;

-- Browsers that get Web Push.
CREATE TABLE browsers (
    stream_id INTEGER NOT NULL,
    endpoint  TEXT    NOT NULL, -- secret: who knows it can disturb the person
    p256dh    TEXT    NOT NULL,
    auth      TEXT    NOT NULL, -- secret
    person    TEXT    NOT NULL, -- whose; empty: nobody by name
    made_at   INTEGER NOT NULL,
    PRIMARY KEY (stream_id, endpoint)
) STRICT;

CREATE INDEX browsers_by_person ON browsers (stream_id, person);

-- Signed links that were used, each with the question that it was for.
CREATE TABLE links_used (
    stream_id INTEGER NOT NULL,
    question  INTEGER NOT NULL,
    mac       BLOB    NOT NULL, -- of its token
    at        INTEGER NOT NULL,
    PRIMARY KEY (stream_id, question, mac)
) STRICT;
