-- Which agents run the gate, by machine and account.

-- +goose Up

CREATE TABLE coverage (
    host        text   COLLATE "C" NOT NULL,
    account     text   COLLATE "C" NOT NULL,
    agent       text   COLLATE "C" NOT NULL,
    report      bytea  NOT NULL, -- JSON; empty: none
    reported_at bigint NOT NULL,
    proof       bytea  NOT NULL, -- JSON; empty: none
    proven_at   bigint NOT NULL,
    PRIMARY KEY (host, account, agent)
);
