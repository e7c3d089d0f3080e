-- The audit log: a hash chain of all decisions and administrative actions.

-- +goose Up

-- Rows are written in the transaction of the action that they record. They are never
-- changed or removed, not even by retention, which would break the chain.
CREATE TABLE ledger (
    stream_id INTEGER NOT NULL,
    n         INTEGER NOT NULL, -- from 1, without gaps
    question  INTEGER NOT NULL, -- questions.seq; 0: none
    hash      TEXT    NOT NULL, -- copy of the hash in the entry
    entry     BLOB    NOT NULL, -- schema.LedgerEntry, JSON, the exact bytes that were hashed
    PRIMARY KEY (stream_id, n)
) STRICT;

CREATE INDEX ledger_by_question ON ledger (stream_id, question, n) WHERE question > 0;
