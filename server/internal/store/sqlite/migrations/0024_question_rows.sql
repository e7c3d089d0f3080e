-- Questions and their changes have their key as the row id, and the indexes that remain useful
-- now that the hub keeps the pending questions in memory (see pendingQuestions). The changes
-- of a question are a list from the newest to the oldest, which replaces an index.
--
-- Copies both tables, which takes about 10 s of CPU time for 100,000 questions.

-- +goose Up

CREATE TABLE new_questions (
    seq          INTEGER NOT NULL PRIMARY KEY, -- events.seq
    stream_id    INTEGER NOT NULL,
    app          INTEGER NOT NULL, -- copies of the event's columns, like the next three
    session      INTEGER NOT NULL,
    type         INTEGER NOT NULL,
    tool         INTEGER NOT NULL,
    state        TEXT    NOT NULL, -- pending, responded, timeout, error
    inbox        TEXT    NOT NULL DEFAULT 'pending', -- schema.HitlStatus
    version      INTEGER NOT NULL, -- optimistic concurrency: incremented by every change
    changed_at   INTEGER NOT NULL,
    last_change  INTEGER NOT NULL DEFAULT 0, -- changes.seq of the newest change; 0: none
    deadline     INTEGER NOT NULL, -- 0: never
    addressed    INTEGER NOT NULL DEFAULT 0, -- 1: only its recipients may answer; awaiting has those who have not voted
    lifeline     INTEGER NOT NULL DEFAULT 0, -- connection whose loss ends the question; 0: none, 1: its listener, 2: the HTTP request that asked
    held_until   INTEGER NOT NULL DEFAULT 0, -- end of the undo window; 0: none
    remind_at    INTEGER NOT NULL DEFAULT 0, -- 0: never, like the next two
    escalate_at  INTEGER NOT NULL DEFAULT 0,
    next_at      INTEGER NOT NULL DEFAULT 0, -- the earlier of the two
    same_as      INTEGER NOT NULL DEFAULT 0, -- the leader of its duplicate group, while both are pending; 0: it is the leader
    joined       INTEGER NOT NULL DEFAULT 0, -- the leader's revision from which it is counted
    protocol     INTEGER NOT NULL, -- 2: the listener acknowledges
    has_nonce    INTEGER NOT NULL DEFAULT 0, -- 1: the question has a nonce
    url          TEXT    NOT NULL, -- secret; empty: the agent pulls
    listener_key TEXT    NOT NULL, -- secret
    requester    TEXT    NOT NULL DEFAULT '', -- authenticated name of the requester; empty: unknown
    text         TEXT    NOT NULL, -- searchable text
    call         BLOB,             -- first 16 bytes of SHA-256 of the tool and its arguments; NULL: no tool call
    same         BLOB,             -- duplicate key, equal for duplicates; NULL: never grouped
    listener     BLOB,             -- equal for version 1 questions whose answers one listener can't tell apart; NULL: none
    body_hash    BLOB,             -- of the body of the POST, with the hub's key; NULL, like the next two: asked before 0016
    ask_hash     BLOB,             -- schema.AskDigest; see hub.askHash
    secret_hash  BLOB,             -- schema.RequestSecretHash
    asker        BLOB,             -- schema.Process of the requester, JSON
    question     BLOB    NOT NULL, -- humanInTheLoop without its secrets, JSON
    asked        BLOB    NOT NULL, -- initial humanInTheLoopStatus, JSON
    status       BLOB    NOT NULL, -- current humanInTheLoopStatus, JSON
    answer       BLOB,             -- schema.Answer without hookEvent, JSON; NULL while pending
    held         BLOB,             -- schema.Answer in its undo window, JSON; NULL: none
    receipt      BLOB,             -- schema.Envelope of the resolution's statement, JSON; NULL: not signed
    proofs       BLOB              -- the passkey assertions of its answers and votes, a JSON array of schema.PasskeyProof; NULL: none
) STRICT;

INSERT INTO new_questions (seq, stream_id, app, session, type, tool, state, inbox, version, changed_at, last_change, deadline, addressed, lifeline,
        held_until, remind_at, escalate_at, next_at, same_as, joined, protocol, has_nonce, url, listener_key, requester, text, call, same,
        listener, body_hash, ask_hash, secret_hash, asker, question, asked, status, answer, held, receipt, proofs)
    SELECT seq, stream_id, app, session, type, tool, state, inbox, version, changed_at,
        (SELECT coalesce(max(c.seq), 0) FROM changes c INDEXED BY changes_by_question WHERE c.stream_id = 1 AND c.question = q.seq), deadline, addressed, lifeline,
        held_until, remind_at, escalate_at, next_at, same_as, joined, protocol, has_nonce, url, listener_key, requester, text, call, same,
        listener, body_hash, ask_hash, secret_hash, asker, question, asked, status, answer, held, receipt, proofs
    FROM questions q ORDER BY stream_id, seq;
DROP TABLE questions;
ALTER TABLE new_questions RENAME TO questions;

-- stream_id is last: SQLite prefers an index that starts with it to the row id.

-- Also serves filters by state: a status in the inbox has one state, but for the state error.
CREATE INDEX questions_by_inbox ON questions (inbox, seq, state, app, session, type, tool, stream_id);
CREATE INDEX questions_failed ON questions (seq, app, session, type, tool, stream_id) WHERE state = 'error';
CREATE INDEX questions_by_agent ON questions (app, inbox, seq, stream_id) WHERE inbox <> 'pending';
CREATE INDEX questions_by_call ON questions (app, call, seq, stream_id) WHERE call IS NOT NULL;
CREATE INDEX questions_by_same ON questions (same, same_as, seq, stream_id) WHERE state = 'pending' AND same IS NOT NULL;
CREATE INDEX questions_by_listener ON questions (listener, seq, stream_id) WHERE state = 'pending' AND listener IS NOT NULL;

CREATE TABLE new_changes (
    seq       INTEGER NOT NULL PRIMARY KEY,
    stream_id INTEGER NOT NULL,
    question  INTEGER NOT NULL, -- questions.seq
    previous  INTEGER NOT NULL, -- changes.seq of the question's change before; 0: none
    ends      INTEGER NOT NULL, -- 1: the question's resolution
    status    BLOB    NOT NULL  -- humanInTheLoopStatus after the change, JSON
) STRICT;
INSERT INTO new_changes (seq, stream_id, question, previous, ends, status)
    SELECT seq, stream_id, question, (SELECT coalesce(max(p.seq), 0) FROM changes p INDEXED BY changes_by_question WHERE p.stream_id = 1 AND p.question = c.question AND p.seq < c.seq), ends, status
    FROM changes c ORDER BY stream_id, seq;
DROP TABLE changes;
ALTER TABLE new_changes RENAME TO changes;
