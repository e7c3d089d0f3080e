-- Chat services in which people answer.

-- +goose Up

CREATE TABLE chat_offsets (
    stream_id INTEGER NOT NULL,
    channel   INTEGER NOT NULL, -- channels.id
    position  INTEGER NOT NULL, -- of the next update to read
    PRIMARY KEY (stream_id, channel)
) STRICT;

CREATE TABLE chat_accounts (
    stream_id INTEGER NOT NULL,
    kind      TEXT    NOT NULL, -- of channel
    account   TEXT    NOT NULL, -- number of the account at the service
    label     TEXT    NOT NULL,
    person    TEXT    NOT NULL,
    linked_at INTEGER NOT NULL,
    PRIMARY KEY (stream_id, kind, account)
) STRICT;

CREATE INDEX chat_accounts_by_person ON chat_accounts (stream_id, person, kind, account);

CREATE TABLE chat_messages (
    stream_id INTEGER NOT NULL,
    channel   INTEGER NOT NULL, -- channels.id
    chat      TEXT    NOT NULL,
    message   TEXT    NOT NULL,
    notice    INTEGER NOT NULL, -- notices.id
    question  INTEGER NOT NULL, -- questions.seq
    revision  INTEGER NOT NULL,
    settled   INTEGER NOT NULL, -- 1: the message shows the outcome
    PRIMARY KEY (stream_id, channel, chat, message)
) STRICT;

CREATE INDEX chat_messages_by_question ON chat_messages (stream_id, question);

CREATE INDEX chat_messages_open ON chat_messages (stream_id, channel, question) WHERE settled = 0;
