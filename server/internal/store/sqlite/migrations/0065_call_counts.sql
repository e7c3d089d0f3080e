-- +goose Up

-- Counts of calls by application and coding agent were never read, and made a query of 90 days read ten
-- times the rows.
CREATE TABLE counts (
    quarter  INTEGER NOT NULL,
    decided  TEXT    NOT NULL,
    risk     TEXT    NOT NULL,
    outcome  TEXT    NOT NULL,
    calls    INTEGER NOT NULL,
    appealed INTEGER NOT NULL, -- of calls
    PRIMARY KEY (quarter, decided, risk, outcome)
) WITHOUT ROWID, STRICT;
INSERT INTO counts SELECT quarter, decided, risk, outcome, sum(calls), sum(appealed) FROM machine_decisions GROUP BY 1, 2, 3, 4;
DROP TABLE machine_decisions;
ALTER TABLE counts RENAME TO machine_decisions;
