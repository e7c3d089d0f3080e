-- The ledger: acts that decided something, each with the hash of the one before.

-- +goose Up

-- Rows are written once, in the transaction of what they tell, and never changed nor
-- removed: not by retention either, which would break the chain.
CREATE TABLE ledger (
    stream_id INTEGER NOT NULL,
    n         INTEGER NOT NULL, -- from 1, without holes
    question  INTEGER NOT NULL, -- questions.seq; 0: it is about no question
    hash      TEXT    NOT NULL, -- of the entry, as in it
    entry     BLOB    NOT NULL, -- schema.LedgerEntry, JSON, byte for byte what was hashed
    PRIMARY KEY (stream_id, n)
) STRICT;

CREATE INDEX ledger_by_question ON ledger (stream_id, question, n) WHERE question > 0;
