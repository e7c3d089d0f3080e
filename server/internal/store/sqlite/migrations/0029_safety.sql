-- The rule of automatic freezes, and settings of the hub.

-- +goose Up

ALTER TABLE freezes ADD COLUMN rule TEXT NOT NULL DEFAULT ''; -- control.FreezeRule; empty: by a person or a program
ALTER TABLE freezes ADD COLUMN cost_usd REAL NOT NULL DEFAULT 0; -- of the session when the rule spend froze it

UPDATE freezes SET rule = 'failures'
WHERE stream_id = 1 AND frozen_by = 'Hookback' AND scope = 'session' AND reason LIKE '% in a row with the same arguments and error.';

CREATE INDEX freezes_by_rule ON freezes (id, stream_id) WHERE rule <> '';

CREATE TABLE hub_settings (
    stream_id INTEGER NOT NULL,
    name      TEXT    NOT NULL, -- safety
    settings  BLOB    NOT NULL, -- JSON, such as control.SafetySettings
    PRIMARY KEY (stream_id, name)
) STRICT;
