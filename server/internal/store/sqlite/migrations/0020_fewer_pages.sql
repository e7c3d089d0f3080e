-- Fewer indexes and index pages per question.

-- +goose Up

ALTER TABLE questions ADD COLUMN addressed INTEGER NOT NULL DEFAULT 0; -- 1: only its recipients may answer; awaiting has those who have not voted

UPDATE questions SET addressed = 1 WHERE state = 'pending' AND seq NOT IN (SELECT seq FROM awaiting WHERE person = '');

-- Only of addressed questions from now on.
DELETE FROM awaiting WHERE person = '';

-- The hub keeps the pending questions in memory: see pendingQuestions.
DROP INDEX questions_by_session;
DROP INDEX questions_by_deadline;
DROP INDEX questions_by_hold;
DROP INDEX questions_by_lifeline;
DROP INDEX questions_by_next;
DROP INDEX questions_by_waiter;

-- One index instead of two. A status in the inbox has one state, but for the state error.
DROP INDEX questions_by_state;
DROP INDEX questions_by_inbox;
CREATE INDEX questions_by_inbox ON questions (stream_id, inbox, seq, state, app, session, type, tool);
CREATE INDEX questions_failed ON questions (stream_id, seq, app, session, type, tool) WHERE state = 'error';

-- Only settled questions.
DROP INDEX questions_by_agent;
CREATE INDEX questions_by_agent ON questions (stream_id, app, inbox, seq) WHERE inbox <> 'pending';

-- An open delivery is also undelivered, so one index serves both.
DROP INDEX deliveries_open;
DROP INDEX deliveries_undelivered;

-- The next tables get their key as the row id, which saves an index. The key of a second
-- stream would need the stream in its upper bits, as in search_grams.

CREATE TABLE new_deliveries (
    seq         INTEGER NOT NULL PRIMARY KEY, -- questions.seq
    stream_id   INTEGER NOT NULL,
    answer_id   TEXT    NOT NULL, -- UUIDv7, the same for all attempts
    state       TEXT    NOT NULL, -- schema.DeliveryState
    attempts    INTEGER NOT NULL,
    sent        INTEGER NOT NULL, -- 1: bytes may have gone to a version 1 listener
    due         INTEGER NOT NULL, -- next attempt; 0: none
    until       INTEGER NOT NULL, -- end of retries
    leased      INTEGER NOT NULL, -- end of the worker's exclusive lease
    wake        INTEGER NOT NULL, -- the later of due and leased
    open        INTEGER NOT NULL, -- 1: an attempt is due or in progress; implies undelivered
    undelivered INTEGER NOT NULL, -- 1: the answer may not have reached the agent
    handled     INTEGER NOT NULL  -- when a person marked it as handled; 0: not handled
) STRICT;
INSERT INTO new_deliveries (seq, stream_id, answer_id, state, attempts, sent, due, until, leased, wake, open, undelivered, handled)
    SELECT seq, stream_id, answer_id, state, attempts, sent, due, until, leased, wake, open, undelivered, handled FROM deliveries ORDER BY stream_id, seq;
DROP TABLE deliveries;
ALTER TABLE new_deliveries RENAME TO deliveries;
CREATE INDEX deliveries_undelivered ON deliveries (stream_id, seq, open, wake) WHERE undelivered = 1;

CREATE TABLE new_ledger (
    n         INTEGER NOT NULL PRIMARY KEY, -- from 1, without gaps
    stream_id INTEGER NOT NULL,
    question  INTEGER NOT NULL, -- questions.seq; 0: none
    hash      TEXT    NOT NULL, -- copy of the hash in the entry
    entry     BLOB    NOT NULL  -- schema.LedgerEntry, JSON, the exact bytes that were hashed
) STRICT;
INSERT INTO new_ledger (n, stream_id, question, hash, entry) SELECT n, stream_id, question, hash, entry FROM ledger ORDER BY stream_id, n;
DROP TABLE ledger;
ALTER TABLE new_ledger RENAME TO ledger;
CREATE INDEX ledger_by_question ON ledger (question, n) WHERE question > 0;
