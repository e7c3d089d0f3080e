-- What people send to running agents: grants for refused calls, messages, freezes.

-- +goose Up

CREATE TABLE grants (
    question   INTEGER NOT NULL PRIMARY KEY, -- questions.seq of the appeal
    stream_id  INTEGER NOT NULL,
    app        TEXT    NOT NULL,
    session    TEXT    NOT NULL,
    digest     BLOB    NOT NULL, -- of the call before redaction, with the hub's key
    granted_by TEXT    NOT NULL, -- empty: not granted
    granted_at INTEGER NOT NULL, -- 0: not granted
    expires_at INTEGER NOT NULL, -- 0: not granted
    used_at    INTEGER NOT NULL, -- 0: not used
    used_by    INTEGER NOT NULL  -- events.seq of the call that ran; 0: not used
) STRICT;
CREATE INDEX grants_by_use ON grants (used_by, stream_id) WHERE used_by > 0;

CREATE TABLE messages (
    id        INTEGER NOT NULL PRIMARY KEY,
    stream_id INTEGER NOT NULL,
    app       TEXT    NOT NULL,
    session   TEXT    NOT NULL,
    agent_id  TEXT    NOT NULL, -- a subagent; empty: the main agent
    sender    TEXT    NOT NULL,
    text      TEXT    NOT NULL,
    state     TEXT    NOT NULL, -- control.MessageState
    sent_at   INTEGER NOT NULL,
    handed_at INTEGER NOT NULL, -- 0: not handed over
    handed_by INTEGER NOT NULL, -- events.seq in whose response it was handed over; 0: not handed over
    key       BLOB              -- hash of the idempotency key; NULL: none
) STRICT;
CREATE INDEX messages_by_session ON messages (session, app, id, stream_id);
CREATE INDEX messages_by_event ON messages (handed_by, stream_id) WHERE handed_by > 0;
CREATE INDEX messages_by_key ON messages (key, stream_id) WHERE key IS NOT NULL;

CREATE TABLE freezes (
    id        INTEGER NOT NULL PRIMARY KEY,
    stream_id INTEGER NOT NULL,
    scope     TEXT    NOT NULL, -- control.FreezeScope
    app       TEXT    NOT NULL,
    session   TEXT    NOT NULL,
    frozen_by TEXT    NOT NULL,
    reason    TEXT    NOT NULL,
    frozen_at INTEGER NOT NULL,
    lifted_by TEXT    NOT NULL,
    lifted_at INTEGER NOT NULL  -- 0: active
) STRICT;
CREATE INDEX freezes_active ON freezes (id, stream_id) WHERE lifted_at = 0;
