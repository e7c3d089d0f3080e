-- Notifications: their channels, recipients and delivery.

-- +goose Up

CREATE TABLE channels (
    stream_id  INTEGER NOT NULL,
    id         INTEGER NOT NULL,
    name       TEXT    NOT NULL,
    kind       TEXT    NOT NULL,
    url        TEXT    NOT NULL, -- secret
    secret     TEXT    NOT NULL, -- of a webhook; empty: none
    person     TEXT    NOT NULL, -- owner; empty: shared by everyone
    created_at INTEGER NOT NULL,
    created_by TEXT    NOT NULL,
    PRIMARY KEY (stream_id, id)
) STRICT;

-- One row per notification. The unique index prevents duplicates.
CREATE TABLE notices (
    stream_id INTEGER NOT NULL,
    id        INTEGER NOT NULL,
    question  INTEGER NOT NULL, -- questions.seq
    channel   INTEGER NOT NULL, -- channels.id; 0: Web Push
    name      TEXT    NOT NULL, -- of the channel, which may be removed later
    person    TEXT    NOT NULL, -- empty: no named recipient
    kind      TEXT    NOT NULL, -- schema.Notification.Kind
    n         INTEGER NOT NULL, -- number of the reminder; 0 otherwise
    state     TEXT    NOT NULL, -- schema.Notification.State
    why       TEXT    NOT NULL,
    error     TEXT    NOT NULL,
    attempts  INTEGER NOT NULL,
    due       INTEGER NOT NULL, -- next attempt, while queued
    leased    INTEGER NOT NULL, -- end of the lease of an attempt in progress; 0: none
    made_at   INTEGER NOT NULL,
    at        INTEGER NOT NULL, -- last change
    PRIMARY KEY (stream_id, id)
) STRICT;

CREATE UNIQUE INDEX notices_once ON notices (stream_id, question, channel, person, kind, n);

CREATE INDEX notices_due ON notices (stream_id, channel, due) WHERE state = 'queued';

-- Serves the cooldown.
CREATE INDEX notices_sent ON notices (stream_id, channel, person, at) WHERE state = 'sent';

-- Which notifications of a question were planned, besides the first.
CREATE TABLE noticed (
    stream_id INTEGER NOT NULL,
    question  INTEGER NOT NULL,
    reminders INTEGER NOT NULL, -- number of reminders
    escalated INTEGER NOT NULL, -- 1: the escalation
    PRIMARY KEY (stream_id, question)
) STRICT;

-- Notification preferences; person is empty for unauthenticated users.
CREATE TABLE notice_settings (
    stream_id INTEGER NOT NULL,
    person    TEXT    NOT NULL,
    settings  BLOB    NOT NULL, -- schema.NotificationSettings, JSON
    PRIMARY KEY (stream_id, person)
) STRICT;

-- State of the notifier. Its cursor starts at the log's head: questions older than this
-- table get no notifications.
CREATE TABLE notifier (
    stream_id INTEGER NOT NULL PRIMARY KEY,
    cursor    INTEGER NOT NULL, -- log position up to which notifications were planned
    channel   INTEGER NOT NULL, -- last id assigned in channels
    push      TEXT    NOT NULL, -- private key for Web Push, secret; empty: not created yet
    push_key  TEXT    NOT NULL  -- public key
) STRICT;

INSERT INTO notifier (stream_id, cursor, channel, push, push_key) SELECT stream_id, head, 0, '', '' FROM streams;

-- Web Push subscriptions.
CREATE TABLE browsers (
    stream_id INTEGER NOT NULL,
    endpoint  TEXT    NOT NULL, -- secret: it suffices to send the person push messages
    p256dh    TEXT    NOT NULL,
    auth      TEXT    NOT NULL, -- secret
    person    TEXT    NOT NULL, -- owner; empty: unauthenticated user
    made_at   INTEGER NOT NULL,
    PRIMARY KEY (stream_id, endpoint)
) STRICT;

CREATE INDEX browsers_by_person ON browsers (stream_id, person);

-- Signed links that were used to vote.
CREATE TABLE links_used (
    stream_id INTEGER NOT NULL,
    question  INTEGER NOT NULL,
    mac       BLOB    NOT NULL, -- of the link's token
    at        INTEGER NOT NULL,
    PRIMARY KEY (stream_id, question, mac)
) STRICT;
