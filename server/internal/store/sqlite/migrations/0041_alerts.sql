-- The findings of alert rules. The rules are hub settings.

-- +goose Up

CREATE TABLE alerts (
    id        INTEGER NOT NULL PRIMARY KEY,
    stream_id INTEGER NOT NULL,
    rule      INTEGER NOT NULL,
    kind      TEXT    NOT NULL, -- control.AlertKind
    app       TEXT    NOT NULL,
    session   TEXT    NOT NULL,
    person    TEXT    NOT NULL,
    evidence  TEXT    NOT NULL,
    opened_at INTEGER NOT NULL,
    closed_at INTEGER NOT NULL  -- 0: open
) STRICT;
CREATE UNIQUE INDEX alerts_open ON alerts (stream_id, rule, app, session, person) WHERE closed_at = 0;
