-- What time does to a question, and an inbox of many of them.

-- +goose Up

-- When somebody is reminded of a pending question, and when it is put to more people;
-- 0: never. next_at is the earlier of them.
ALTER TABLE questions ADD COLUMN remind_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE questions ADD COLUMN escalate_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE questions ADD COLUMN next_at INTEGER NOT NULL DEFAULT 0;

CREATE INDEX questions_by_next ON questions (stream_id, next_at) WHERE state = 'pending' AND next_at > 0;

-- Where an inbox sorts a question: schema.HitlStatus.
ALTER TABLE questions ADD COLUMN inbox TEXT NOT NULL DEFAULT 'pending';

UPDATE questions SET inbox = CASE
    WHEN state = 'responded' THEN 'decided'
    WHEN state = 'timeout' THEN 'expired'
    WHEN json_extract(CAST(status AS TEXT), '$.outcome') = '__no_quorum__' THEN 'decided'
    ELSE 'cancelled' END WHERE state <> 'pending';

CREATE INDEX questions_by_inbox ON questions (stream_id, inbox, seq);

CREATE INDEX questions_by_agent ON questions (stream_id, app, inbox, seq);

-- What is known of the agent of a pending question, as in its status.
ALTER TABLE questions ADD COLUMN waiter TEXT GENERATED ALWAYS AS (CASE
    WHEN state = 'pending' THEN json_extract(CAST(status AS TEXT), '$.waiter') END) VIRTUAL;

CREATE INDEX questions_by_waiter ON questions (stream_id, waiter) WHERE state = 'pending';

-- Whom a pending question waits for: the recipients who have not voted, or the empty
-- name when everyone who may answer is one.
CREATE TABLE awaiting (
    stream_id INTEGER NOT NULL,
    person    TEXT    NOT NULL,
    seq       INTEGER NOT NULL, -- of the question
    app       INTEGER NOT NULL, -- names.id
    PRIMARY KEY (stream_id, person, seq)
) WITHOUT ROWID, STRICT;

CREATE INDEX awaiting_by_question ON awaiting (stream_id, seq);

INSERT INTO awaiting (stream_id, person, seq, app) SELECT stream_id, '', seq, app FROM questions WHERE state = 'pending';
