-- Which agents run the gate, by machine and account.

-- +goose Up

CREATE TABLE coverage (
    stream_id   INTEGER NOT NULL,
    host        TEXT    NOT NULL,
    account     TEXT    NOT NULL,
    agent       TEXT    NOT NULL,
    report      BLOB    NOT NULL, -- JSON; empty: none
    reported_at INTEGER NOT NULL,
    proof       BLOB    NOT NULL, -- JSON; empty: none
    proven_at   INTEGER NOT NULL,
    PRIMARY KEY (stream_id, host, account, agent)
) STRICT, WITHOUT ROWID;
