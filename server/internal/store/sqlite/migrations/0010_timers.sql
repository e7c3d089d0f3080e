-- Timers of questions, and the index of the inbox.

-- +goose Up

-- When recipients are reminded of a pending question, and when it escalates to more
-- people; 0: never. next_at is the earlier one.
ALTER TABLE questions ADD COLUMN remind_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE questions ADD COLUMN escalate_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE questions ADD COLUMN next_at INTEGER NOT NULL DEFAULT 0;

CREATE INDEX questions_by_next ON questions (stream_id, next_at) WHERE state = 'pending' AND next_at > 0;

-- Status of the question in the inbox: schema.HitlStatus.
ALTER TABLE questions ADD COLUMN inbox TEXT NOT NULL DEFAULT 'pending';

UPDATE questions SET inbox = CASE
    WHEN state = 'responded' THEN 'decided'
    WHEN state = 'timeout' THEN 'expired'
    WHEN json_extract(CAST(status AS TEXT), '$.outcome') = '__no_quorum__' THEN 'decided'
    ELSE 'cancelled' END WHERE state <> 'pending';

CREATE INDEX questions_by_inbox ON questions (stream_id, inbox, seq);

CREATE INDEX questions_by_agent ON questions (stream_id, app, inbox, seq);

-- Liveness of the agent that waits for a pending question, from its status.
ALTER TABLE questions ADD COLUMN waiter TEXT GENERATED ALWAYS AS (CASE
    WHEN state = 'pending' THEN json_extract(CAST(status AS TEXT), '$.waiter') END) VIRTUAL;

CREATE INDEX questions_by_waiter ON questions (stream_id, waiter) WHERE state = 'pending';

-- The recipients of a pending question who have not voted, or an empty name if every
-- approver may answer.
CREATE TABLE awaiting (
    stream_id INTEGER NOT NULL,
    person    TEXT    NOT NULL,
    seq       INTEGER NOT NULL, -- questions.seq
    app       INTEGER NOT NULL, -- names.id
    PRIMARY KEY (stream_id, person, seq)
) WITHOUT ROWID, STRICT;

CREATE INDEX awaiting_by_question ON awaiting (stream_id, seq);

INSERT INTO awaiting (stream_id, person, seq, app) SELECT stream_id, '', seq, app FROM questions WHERE state = 'pending';
