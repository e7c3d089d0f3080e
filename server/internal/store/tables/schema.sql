-- The schema of a hub, for both engines: the tables that the first step of their migrations makes.
--
-- It is the SQL of SQLite, except for these words, which Schema replaces:
--   BOOL     a truth value
--   NAME     a text that is compared or sorted: by its bytes
--   NAME_ID  names.id; PostgreSQL stores the name
--   ONE_ROW  the key of a table with one row
-- A line that begins with "-- sqlite:" or "-- postgres:" is a line for that engine only. The tables and
-- storage options that only PostgreSQL has follow in ../postgres/schema.sql.
--
-- Times are Unix milliseconds of the hub's clock unless noted otherwise; 0 is no time.

CREATE TABLE hub (
    one            ONE_ROW,
    id             TEXT    NOT NULL, -- identifies this database to clients
    public_key     BLOB    NOT NULL DEFAULT X'', -- Ed25519; empty: not created yet
    locked         BOOL    NOT NULL DEFAULT FALSE, -- only signed-in operators can answer
    people_version INTEGER NOT NULL DEFAULT 1 -- number of changes of accounts
) WITHOUT ROWID, STRICT;

-- The counters of the log. PostgreSQL updates them with every commit. SQLite writes them at the latest every
-- 1024 log rows, and counts what was appended later at the next start: see readCounters.
CREATE TABLE streams (
    one      ONE_ROW,
-- postgres:    commits  INTEGER NOT NULL DEFAULT 0, -- number of commits: shows whether one with an unknown outcome happened
    head     INTEGER NOT NULL DEFAULT 0, -- last assigned sequence number when this row was written
    pruned   INTEGER NOT NULL DEFAULT 0, -- highest sequence number that retention removed
    events   INTEGER NOT NULL DEFAULT 0, -- number of rows in events; COUNT(*) would scan the table
-- postgres:    bytes    INTEGER NOT NULL DEFAULT 0, -- size of their envelopes and payloads
    received INTEGER NOT NULL DEFAULT 0, -- received_at of the newest event
    decided  INTEGER NOT NULL DEFAULT 0  -- number of rows in questions whose inbox is 'decided'
-- sqlite:    , name INTEGER NOT NULL DEFAULT 0 -- last id assigned in names
-- postgres:    , mark INTEGER NOT NULL DEFAULT 0 -- identifies the last commit, so that a hub whose connection broke finds out whether it was its own
-- postgres:    -- The commits after which hubs read again what they keep in memory: state in the store (questions
-- postgres:    -- excepted: the log shows them), policy above it.
-- postgres:    , state  INTEGER NOT NULL DEFAULT 0
-- postgres:    , policy INTEGER NOT NULL DEFAULT 0
-- postgres:    -- The oldest schema version that a hub must support to use this database. A step that removes or changes
-- postgres:    -- what the release before it uses raises it, so that hubs of that release end:
-- postgres:    -- UPDATE streams SET min_schema = NNNN.
-- postgres:    , min_schema INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID, STRICT;

INSERT INTO streams DEFAULT VALUES;

-- The dictionary: each distinct value of the columns that events can be filtered by. The lists of filter
-- values come from here. kind is 1 source_app, 2 session_id, 3 hook_event_type, 4 tool_name.
CREATE TABLE names (
-- sqlite:    kind INTEGER NOT NULL,
-- sqlite:    id   INTEGER NOT NULL, -- unique over all kinds; never 0, which stands for no value
-- sqlite:    name TEXT    NOT NULL,
-- sqlite:    PRIMARY KEY (kind, id)
-- postgres:    kind smallint NOT NULL,
-- postgres:    name NAME     NOT NULL,
-- postgres:    id   INTEGER  NOT NULL, -- the event that brought it, or an earlier number of a copied name: their order
-- postgres:    PRIMARY KEY (kind, name)
) WITHOUT ROWID, STRICT;

-- sqlite: CREATE UNIQUE INDEX names_by_name ON names (kind, name);
-- postgres: CREATE INDEX names_by_id ON names (kind, id);

-- The log's events. Rows never change: the state of a question is in questions. The
-- table has a rowid because without one SQLite needs an overflow page for every row of
-- more than 1 KB.
CREATE TABLE events (
    seq         INTEGER NOT NULL PRIMARY KEY, -- the event's id
-- sqlite:    uid BLOB NOT NULL, -- UUIDv7
-- postgres:    uid uuid NOT NULL, -- UUIDv7
    received_at INTEGER NOT NULL, -- never decreases with seq, so a binary search finds a time
    timestamp   INTEGER NOT NULL, -- the agent's clock
    app         NAME_ID NOT NULL,
    session     NAME_ID NOT NULL,
    type        NAME_ID NOT NULL,
    tool        NAME_ID NOT NULL,
    asks        BOOL    NOT NULL, -- it has a row in questions
    key         BLOB, -- the first 16 bytes of SHA-256 of the idempotency key
    envelope    BLOB    NOT NULL, -- JSON members, without braces
    payload     BLOB    NOT NULL  -- a JSON object as sent
) STRICT;

-- Narrow index for filters, which read about ten events per microsecond without the wide
-- rows. It grows only at its end, so it is cheap to maintain.
-- sqlite: CREATE INDEX events_scan ON events (seq, app, session, type, tool, asks);
CREATE UNIQUE INDEX events_by_key ON events (key) WHERE key IS NOT NULL;

-- Zone map: the segments of the log that contain a name. Zone n is the range from n*512
-- to n*512+511. A filter by a rare name skips the rest of the log.
CREATE TABLE zones (
-- sqlite:    kind INTEGER  NOT NULL, -- names.kind
-- postgres:    kind smallint NOT NULL, -- names.kind
    name NAME_ID NOT NULL,
    zone INTEGER NOT NULL,
    PRIMARY KEY (kind, name, zone)
) WITHOUT ROWID, STRICT;

-- The first event of each quarter-hour. No event was received after previous and before received_at.
CREATE TABLE time_marks (
    received_at INTEGER NOT NULL PRIMARY KEY, -- of the event
    seq         INTEGER NOT NULL, -- events.seq
    previous    INTEGER NOT NULL  -- received_at of the event before it
) STRICT;

-- Transcripts, which only the page of a single event shows.
CREATE TABLE chats (
    seq  INTEGER NOT NULL PRIMARY KEY, -- events.seq
    chat BLOB    NOT NULL
) STRICT;

CREATE TABLE questions (
    seq          INTEGER NOT NULL PRIMARY KEY, -- events.seq
    app          NAME_ID NOT NULL, -- copies of the event's columns, like the next three
    session      NAME_ID NOT NULL,
    type         NAME_ID NOT NULL,
    tool         NAME_ID NOT NULL,
    state        NAME    NOT NULL, -- pending, responded, timeout, error
    inbox        NAME    NOT NULL DEFAULT 'pending', -- schema.HitlStatus
    version      INTEGER NOT NULL, -- optimistic concurrency: incremented by every change
    changed_at   INTEGER NOT NULL,
-- sqlite:    last_change  INTEGER NOT NULL DEFAULT 0, -- changes.seq of the newest change; 0: none
    deadline     INTEGER NOT NULL,
    addressed    BOOL    NOT NULL DEFAULT FALSE, -- only its recipients may answer; awaiting has those who have not voted
    lifeline     INTEGER NOT NULL DEFAULT 0, -- store.Lifeline
    held_until   INTEGER NOT NULL DEFAULT 0, -- end of the undo window
    remind_at    INTEGER NOT NULL DEFAULT 0,
    escalate_at  INTEGER NOT NULL DEFAULT 0,
    next_at      INTEGER NOT NULL DEFAULT 0, -- the earlier of the two
    same_as      INTEGER NOT NULL DEFAULT 0, -- the leader of its duplicate group, while both are pending; 0: it is the leader
    joined       INTEGER NOT NULL DEFAULT 0, -- the leader's revision from which it is counted
    protocol     INTEGER NOT NULL, -- 2: the listener acknowledges
    has_nonce    BOOL    NOT NULL,
-- sqlite:    owner   TEXT NOT NULL DEFAULT '', -- of the engine with several hubs, like machine
-- sqlite:    machine TEXT NOT NULL DEFAULT '',
    url          TEXT    NOT NULL, -- secret; empty: the agent pulls
    listener_key TEXT    NOT NULL, -- secret
    requester    TEXT    NOT NULL, -- authenticated name of the requester; empty: unknown
-- postgres:    owner   NAME NOT NULL DEFAULT '', -- the hub that holds the request of the agent
-- postgres:    machine NAME NOT NULL DEFAULT '', -- the machine on which the url names the agent; empty: on any
    text         TEXT    NOT NULL, -- searchable text
    call         BLOB, -- first 16 bytes of SHA-256 of the tool and its arguments; NULL: no tool call
    same         BLOB, -- duplicate key, equal for duplicates; NULL: never grouped
    listener     BLOB, -- equal for version 1 questions whose answers one listener can't tell apart; NULL: none
    body_hash    BLOB, -- of the body of the POST, with the hub's key
    ask_hash     BLOB, -- schema.AskDigest; see hub.askHash
    secret_hash  BLOB, -- schema.RequestSecretHash
    asker        BLOB, -- schema.Process of the requester, JSON
    question     BLOB    NOT NULL, -- humanInTheLoop without its secrets, JSON
    asked        BLOB    NOT NULL, -- initial humanInTheLoopStatus, JSON
    status       BLOB    NOT NULL, -- current humanInTheLoopStatus, JSON
    answer       BLOB, -- schema.Answer without hookEvent, JSON; NULL while pending
    held         BLOB, -- schema.Answer in its undo window, JSON; NULL: none
    receipt      BLOB, -- schema.Envelope of the resolution's statement, JSON; NULL: not signed
    proofs       BLOB  -- the passkey assertions of its answers and votes, a JSON array; NULL: none
) STRICT;

-- questions_by_inbox also serves filters by state: a status in the inbox has one state, but for the state error.
-- sqlite: CREATE INDEX questions_by_inbox ON questions (inbox, seq, state, app, session, type, tool);
-- sqlite: CREATE INDEX questions_failed ON questions (seq, app, session, type, tool) WHERE state = 'error';
-- sqlite: CREATE INDEX questions_by_listener ON questions (listener, seq) WHERE state = 'pending' AND listener IS NOT NULL;
-- postgres: CREATE INDEX questions_by_inbox ON questions (inbox, seq);
-- postgres: CREATE INDEX questions_failed ON questions (seq) WHERE state = 'error';
-- postgres: CREATE INDEX questions_by_listener ON questions (listener, seq) WHERE listener IS NOT NULL;
CREATE INDEX questions_by_agent ON questions (app, inbox, seq) WHERE inbox <> 'pending';
CREATE INDEX questions_by_call ON questions (app, call, seq) WHERE call IS NOT NULL;

-- The log's rows for changes of questions.
CREATE TABLE changes (
    seq      INTEGER NOT NULL PRIMARY KEY,
    question INTEGER NOT NULL, -- questions.seq
-- sqlite:    previous INTEGER NOT NULL, -- changes.seq of the question's change before; 0: none
    ends     BOOL    NOT NULL, -- the question's resolution
    status   BLOB    NOT NULL  -- humanInTheLoopStatus after the change, JSON
) STRICT;

-- postgres: CREATE INDEX changes_by_question ON changes (question);

-- The recipients of an addressed pending question who have not voted.
CREATE TABLE awaiting (
    person NAME    NOT NULL,
    seq    INTEGER NOT NULL, -- questions.seq
    app    NAME_ID NOT NULL,
    PRIMARY KEY (person, seq)
) WITHOUT ROWID, STRICT;

CREATE INDEX awaiting_by_question ON awaiting (seq);

-- The outbox: answers on their way to agents.
CREATE TABLE deliveries (
    seq         INTEGER NOT NULL PRIMARY KEY, -- questions.seq
    answer_id   TEXT    NOT NULL, -- UUIDv7, the same for all attempts
    state       NAME    NOT NULL, -- schema.DeliveryState
    attempts    INTEGER NOT NULL,
    sent        BOOL    NOT NULL, -- bytes may have gone to a version 1 listener
    due         INTEGER NOT NULL, -- next attempt
    until       INTEGER NOT NULL, -- end of retries
    leased      INTEGER NOT NULL, -- end of the worker's exclusive lease
    wake        INTEGER NOT NULL, -- the later of due and leased
    open        BOOL    NOT NULL, -- an attempt is due or in progress; implies undelivered
    undelivered BOOL    NOT NULL, -- the answer may not have reached the agent
    handled     INTEGER NOT NULL  -- when a person marked it as handled
-- postgres:    , owner   NAME NOT NULL DEFAULT '' -- the hub that attempts it
-- postgres:    , machine NAME NOT NULL DEFAULT '' -- questions.machine
) STRICT;

-- sqlite: CREATE INDEX deliveries_undelivered ON deliveries (seq, open, wake, undelivered) WHERE undelivered;
-- postgres: CREATE INDEX deliveries_undelivered ON deliveries (seq) WHERE undelivered;
-- postgres: CREATE INDEX deliveries_open ON deliveries (wake) WHERE open;
-- postgres: -- When a hub of another machine may give up a delivery.
-- postgres: CREATE INDEX deliveries_given_up ON deliveries (greatest(until, wake)) WHERE open AND machine <> '' AND until > 0;

-- The audit log: a hash chain of all decisions and administrative actions. Rows are written in the
-- transaction of the action that they record. They are never changed or removed, not even by
-- retention, which would break the chain.
CREATE TABLE ledger (
    n        INTEGER NOT NULL PRIMARY KEY, -- from 1, without gaps
    question INTEGER NOT NULL, -- questions.seq; 0: none
    hash     TEXT    NOT NULL, -- copy of the hash in the entry
    entry    BLOB    NOT NULL  -- schema.LedgerEntry, JSON, the exact bytes that were hashed
) STRICT;

CREATE INDEX ledger_by_question ON ledger (question, n) WHERE question > 0;

CREATE TABLE ledger_heads (
    n        INTEGER NOT NULL PRIMARY KEY, -- ledger.n
    envelope BLOB    NOT NULL -- schema.Envelope of a schema.LedgerHead, JSON
) STRICT;

-- How the newest keys of the hub replaced each other.
CREATE TABLE key_rotations (
    n        INTEGER NOT NULL PRIMARY KEY, -- increases with every rotation
    envelope BLOB    NOT NULL -- schema.Envelope of a schema.KeyRotation, JSON
) STRICT;

-- Each opening of the database begins an epoch of its log.
CREATE TABLE epochs (
    n    INTEGER NOT NULL PRIMARY KEY,
    id   TEXT    NOT NULL, -- random
    head INTEGER NOT NULL  -- the last sequence number before it
-- postgres:    , timeline TEXT NOT NULL DEFAULT '' -- of the server's history, changes when a standby is promoted and when a backup is restored
) STRICT;

-- Accounts, sign-ins and tokens. Secrets are stored only as SHA-256.

CREATE TABLE people (
    name        NAME    NOT NULL PRIMARY KEY,
    role        TEXT    NOT NULL, -- schema.Role
    owner       BOOL    NOT NULL, -- owner of the hub
    email       TEXT    NOT NULL,
    subject     TEXT    NOT NULL, -- issuer and sub at the OpenID Connect provider; empty: not linked
    created_at  INTEGER NOT NULL,
    seen_at     INTEGER NOT NULL,
    signed_in   BOOL    NOT NULL, -- has signed in since the account was created or reset
    reset_at    INTEGER NOT NULL, -- last reset by an admin
    reset_by    TEXT    NOT NULL,
    promoted_at INTEGER NOT NULL, -- when another admin made this person an admin
    promoted_by TEXT    NOT NULL
) WITHOUT ROWID, STRICT;

-- Signed-in browsers. Requests that change something need the cookie and the key.
CREATE TABLE sign_ins (
    id         NAME    NOT NULL PRIMARY KEY,
    person     TEXT    NOT NULL, -- people.name
    way        TEXT    NOT NULL, -- link, oidc
    user_agent TEXT    NOT NULL,
    cookie     BLOB    NOT NULL, -- hash
    page_key   BLOB    NOT NULL, -- hash
    confirmed  BOOL    NOT NULL, -- of the code
    created_at INTEGER NOT NULL,
    seen_at    INTEGER NOT NULL
) WITHOUT ROWID, STRICT;

CREATE TABLE tokens (
    id         NAME    NOT NULL PRIMARY KEY,
    name       TEXT    NOT NULL,
    prefix     TEXT    NOT NULL, -- first characters, to recognize it
    hash       BLOB    NOT NULL,
    person     TEXT    NOT NULL, -- people.name; empty: a token for agents
    apps       TEXT    NOT NULL, -- source_app patterns, a JSON array
    created_at INTEGER NOT NULL,
    used_at    INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) WITHOUT ROWID, STRICT;

-- One-time sign-in links.
CREATE TABLE sign_in_codes (
    hash       BLOB    NOT NULL PRIMARY KEY,
    person     TEXT    NOT NULL, -- people.name; empty: its user chooses a name and becomes the owner
    way        TEXT    NOT NULL, -- method of the sign-in: link, oidc
    confirmed  BOOL    NOT NULL, -- the person confirmed it with a passkey
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) WITHOUT ROWID, STRICT;

-- Sign-ins in several steps.
CREATE TABLE flows (
    id         BLOB    NOT NULL PRIMARY KEY, -- hash of a secret
    kind       NAME    NOT NULL,
    data       BLOB    NOT NULL,
    expires_at INTEGER NOT NULL
) WITHOUT ROWID, STRICT;

CREATE INDEX flows_by_kind ON flows (kind, expires_at);
CREATE INDEX flows_by_end ON flows (expires_at);

-- WebAuthn credentials, which sign answers. Only public keys are stored.
CREATE TABLE passkeys (
    id         NAME    NOT NULL PRIMARY KEY,
    person     TEXT    NOT NULL, -- people.name
    name       TEXT    NOT NULL, -- chosen by the person
    rp_id      TEXT    NOT NULL, -- host name at which it works; empty: that of the hub's start
    credential BLOB    NOT NULL UNIQUE, -- credential ID
    public_key BLOB    NOT NULL, -- COSE key
    sign_count INTEGER NOT NULL, -- last value reported by the authenticator; 0: not supported
    flags      INTEGER NOT NULL, -- from the WebAuthn authenticator data
    transports TEXT    NOT NULL, -- a JSON array
    created_at INTEGER NOT NULL,
    used_at    INTEGER NOT NULL
) WITHOUT ROWID, STRICT;

CREATE TABLE rules (
    id         INTEGER NOT NULL PRIMARY KEY, -- from 1; never reused, because rules are not deleted
    rule       BLOB    NOT NULL, -- schema.Rule as created, JSON; mutable values are in the columns
    created_by NAME    NOT NULL,
    after      INTEGER NOT NULL, -- the log's head at its creation: the rule answers later questions
    since      INTEGER NOT NULL, -- creation time; adjusted when the clock is stepped
    scope      NAME    NOT NULL,
    app        NAME    NOT NULL, -- of the session that limits it; empty: none
    session    NAME    NOT NULL,
    expires_at INTEGER NOT NULL,
    revoked_at INTEGER NOT NULL,
    revoked_by TEXT    NOT NULL,
    uses       INTEGER NOT NULL,
    used_at    INTEGER NOT NULL
) STRICT;

CREATE TABLE channels (
    id         INTEGER NOT NULL PRIMARY KEY,
    name       TEXT    NOT NULL,
    kind       TEXT    NOT NULL,
    url        TEXT    NOT NULL, -- secret, encrypted
    secret     TEXT    NOT NULL, -- of a webhook, encrypted; empty: none
    person     TEXT    NOT NULL, -- owner; empty: shared by everyone
    is_brief   BOOL    NOT NULL, -- its messages show no details
    created_at INTEGER NOT NULL,
    created_by NAME    NOT NULL
) STRICT;

-- One row per notification. The unique constraint prevents duplicates.
CREATE TABLE notices (
-- sqlite:    id INTEGER NOT NULL PRIMARY KEY,
-- postgres:    id INTEGER GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    question INTEGER NOT NULL, -- questions.seq
    channel  INTEGER NOT NULL, -- channels.id; 0: Web Push
    name     TEXT    NOT NULL, -- of the channel, which may be removed later
    person   NAME    NOT NULL, -- empty: no named recipient
    kind     NAME    NOT NULL, -- schema.Notification.Kind
    n        INTEGER NOT NULL, -- number of the reminder; 0 otherwise
    state    NAME    NOT NULL, -- schema.Notification.State
    why      TEXT    NOT NULL,
    error    TEXT    NOT NULL,
    attempts INTEGER NOT NULL,
    due      INTEGER NOT NULL, -- next attempt, while queued
    leased   INTEGER NOT NULL, -- end of the lease of an attempt in progress
    made_at  INTEGER NOT NULL,
    at       INTEGER NOT NULL, -- last change
    UNIQUE (question, channel, person, kind, n)
) STRICT;

CREATE INDEX notices_due ON notices (channel, due) WHERE state = 'queued';
CREATE INDEX notices_sent ON notices (channel, person, at) WHERE state = 'sent';

-- Which notifications of a question were planned, besides the first.
CREATE TABLE noticed (
    question  INTEGER NOT NULL PRIMARY KEY,
    reminders INTEGER NOT NULL, -- number of reminders
    escalated BOOL    NOT NULL
) STRICT;

-- Notification preferences; person is empty for unauthenticated users.
CREATE TABLE notice_settings (
    person   NAME NOT NULL PRIMARY KEY,
    settings BLOB NOT NULL -- schema.NotificationSettings, JSON
) WITHOUT ROWID, STRICT;

CREATE TABLE notifier (
    one      ONE_ROW,
    cursor   INTEGER NOT NULL DEFAULT 0, -- log position up to which notifications were planned
    channel  INTEGER NOT NULL DEFAULT 0, -- last id assigned in channels
    push     TEXT    NOT NULL DEFAULT '', -- private key for Web Push, encrypted; empty: not created yet
    push_key TEXT    NOT NULL DEFAULT ''  -- public key
) WITHOUT ROWID, STRICT;

INSERT INTO notifier DEFAULT VALUES;

-- Web Push subscriptions.
CREATE TABLE browsers (
    endpoint NAME    NOT NULL PRIMARY KEY, -- secret: it suffices to send the person push messages
    p256dh   TEXT    NOT NULL,
    auth     TEXT    NOT NULL, -- secret
    person   NAME    NOT NULL, -- owner; empty: unauthenticated user
    made_at  INTEGER NOT NULL
) WITHOUT ROWID, STRICT;

CREATE INDEX browsers_by_person ON browsers (person);

-- Signed links that were used to vote.
CREATE TABLE links_used (
    question INTEGER NOT NULL,
    mac      BLOB    NOT NULL, -- of the link's token
    at       INTEGER NOT NULL,
    PRIMARY KEY (question, mac)
) WITHOUT ROWID, STRICT;

-- Chat services in which people answer.
CREATE TABLE chat_offsets (
    channel  INTEGER NOT NULL PRIMARY KEY, -- channels.id
    position INTEGER NOT NULL -- of the next update to read
) STRICT;

CREATE TABLE chat_accounts (
    kind      NAME    NOT NULL, -- of channel
    account   NAME    NOT NULL, -- number of the account at the service
    label     TEXT    NOT NULL,
    person    NAME    NOT NULL,
    linked_at INTEGER NOT NULL,
    PRIMARY KEY (kind, account)
) WITHOUT ROWID, STRICT;

CREATE INDEX chat_accounts_by_person ON chat_accounts (person, kind, account);

CREATE TABLE chat_messages (
    channel  INTEGER NOT NULL, -- channels.id
    chat     NAME    NOT NULL,
    message  NAME    NOT NULL,
    notice   INTEGER NOT NULL, -- notices.id
    question INTEGER NOT NULL, -- questions.seq
    revision INTEGER NOT NULL,
    settled  BOOL    NOT NULL, -- the message shows the outcome
    PRIMARY KEY (channel, chat, message)
) WITHOUT ROWID, STRICT;

CREATE INDEX chat_messages_by_question ON chat_messages (question);
CREATE INDEX chat_messages_open ON chat_messages (channel, question) WHERE NOT settled;

-- What people send to running agents: grants for refused calls, messages, freezes.

CREATE TABLE grants (
    question   INTEGER NOT NULL PRIMARY KEY, -- questions.seq of the appeal
    app        NAME    NOT NULL,
    session    NAME    NOT NULL,
    digest     BLOB    NOT NULL, -- of the call before redaction, with the hub's key
    granted_by TEXT    NOT NULL, -- a JSON array; empty: not granted
    granted_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    used_at    INTEGER NOT NULL,
    used_by    INTEGER NOT NULL -- events.seq of the call that ran; 0: not used
) STRICT;

CREATE INDEX grants_by_use ON grants (used_by) WHERE used_by > 0;

CREATE TABLE messages (
    id        INTEGER NOT NULL PRIMARY KEY,
    app       NAME    NOT NULL,
    session   NAME    NOT NULL,
    agent_id  NAME    NOT NULL, -- a subagent; empty: the main agent
    sender    TEXT    NOT NULL,
    text      TEXT    NOT NULL,
    state     NAME    NOT NULL, -- control.MessageState
    sent_at   INTEGER NOT NULL,
    handed_at INTEGER NOT NULL,
    handed_by INTEGER NOT NULL, -- events.seq in whose response it was handed over; 0: not handed over
    key       BLOB -- hash of the idempotency key; NULL: none
) STRICT;

CREATE INDEX messages_by_session ON messages (session, app, id);
CREATE INDEX messages_by_event ON messages (handed_by) WHERE handed_by > 0;
CREATE INDEX messages_by_key ON messages (key) WHERE key IS NOT NULL;

CREATE TABLE freezes (
    id        INTEGER NOT NULL PRIMARY KEY,
    scope     NAME    NOT NULL, -- control.FreezeScope
    app       NAME    NOT NULL,
    session   NAME    NOT NULL,
    frozen_by TEXT    NOT NULL,
    reason    TEXT    NOT NULL,
    rule      NAME    NOT NULL, -- control.FreezeRule; empty: by a person or a program
    cost_usd  REAL    NOT NULL, -- of the session when the rule spend froze it
    frozen_at INTEGER NOT NULL,
    lifted_by TEXT    NOT NULL,
    lifted_at INTEGER NOT NULL -- 0: active
) STRICT;

CREATE INDEX freezes_active ON freezes (id) WHERE lifted_at = 0;
CREATE INDEX freezes_by_rule ON freezes (id) WHERE rule <> '';

-- The calls whose hook got a freeze. The hook reports a call before it knows, so the event doesn't say.
CREATE TABLE frozen_calls (
    seq INTEGER NOT NULL PRIMARY KEY -- events.seq
) STRICT;

CREATE TABLE hub_settings (
    name     NAME NOT NULL PRIMARY KEY, -- safety, alerts, reach
    settings BLOB NOT NULL -- JSON
) WITHOUT ROWID, STRICT;

-- The findings of alert rules. The rules are hub settings.
CREATE TABLE alerts (
    id        INTEGER NOT NULL PRIMARY KEY,
    rule      INTEGER NOT NULL,
    kind      TEXT    NOT NULL, -- control.AlertKind
    app       NAME    NOT NULL,
    session   NAME    NOT NULL,
    person    NAME    NOT NULL,
    evidence  TEXT    NOT NULL,
    opened_at INTEGER NOT NULL,
    closed_at INTEGER NOT NULL -- 0: open
) STRICT;

CREATE UNIQUE INDEX alerts_open ON alerts (rule, app, session, person) WHERE closed_at = 0;

-- Which agents run the gate, by machine and account.
CREATE TABLE coverage (
    host        NAME    NOT NULL,
    account     NAME    NOT NULL,
    agent       NAME    NOT NULL,
    report      BLOB    NOT NULL, -- JSON; empty: none
    reported_at INTEGER NOT NULL,
    proof       BLOB    NOT NULL, -- JSON; empty: none
    proven_at   INTEGER NOT NULL,
    requester   NAME    NOT NULL DEFAULT '', -- that reported the agent first: limits are per requester
    PRIMARY KEY (host, account, agent)
) WITHOUT ROWID, STRICT;

-- Positions of the readers of the log.
CREATE TABLE cursors (
    name   NAME    NOT NULL PRIMARY KEY, -- projections, ratings
    cursor INTEGER NOT NULL -- log position up to which the tables below are complete
) WITHOUT ROWID, STRICT;

INSERT INTO cursors (name, cursor) VALUES ('projections', 0), ('ratings', 0);

-- How far earlier builds sent turns to an OpenTelemetry collector. It is not used.
CREATE TABLE trace_cursor (
    one    ONE_ROW,
    sent   INTEGER NOT NULL, -- turns that ended up to here were sent
    resume INTEGER NOT NULL  -- log position before the first row of the turns that were open then
) WITHOUT ROWID, STRICT;

-- Projections of the log, so that aggregates need no scan. They are written asynchronously and never
-- while an event is stored. Names are stored as text, because aggregates outlive the rows of the table
-- names. A quarter is Unix time divided by 15 minutes: in every time zone a day begins with one. A bin
-- is a bucket of a duration histogram.

CREATE TABLE sessions (
    app      NAME    NOT NULL,
    session  NAME    NOT NULL,
    person   NAME    NOT NULL, -- who ran it; empty: unknown
    first    INTEGER NOT NULL, -- first event; unique per session
    last     INTEGER NOT NULL, -- newest event
    active   INTEGER NOT NULL, -- tables.ActiveKey
    imported BOOL    NOT NULL, -- known from a transcript only
    text     TEXT    NOT NULL, -- searchable text, lower case
    facts    BLOB    NOT NULL, -- the session summary, JSON
    PRIMARY KEY (app, session)
) STRICT;

CREATE INDEX sessions_by_last ON sessions (last);
CREATE INDEX sessions_by_active ON sessions (active);
CREATE INDEX sessions_by_app ON sessions (app, active);
-- On SQLite the next two have no newest event and no last activity, which change all the time. The first one
-- finds a session by its ID alone, because telemetry has no application.
-- sqlite: CREATE INDEX sessions_by_id ON sessions (session, first);
-- sqlite: CREATE INDEX sessions_by_person ON sessions (person) WHERE person <> '';
-- postgres: CREATE INDEX sessions_by_id ON sessions (session);
-- postgres: CREATE INDEX sessions_by_person ON sessions (person, active) WHERE person <> '';
CREATE INDEX sessions_imported ON sessions (active) WHERE imported;

-- The searchable text of the newest transcript of each session.
CREATE TABLE transcript_texts (
    seq   INTEGER NOT NULL PRIMARY KEY, -- events.seq of the event with the transcript
    first INTEGER NOT NULL, -- sessions.first
    text  TEXT    NOT NULL  -- folded, one text per line
) STRICT;

CREATE UNIQUE INDEX transcript_texts_by_session ON transcript_texts (first);

-- Links that show one session, read-only.
CREATE TABLE shares (
    id         NAME    NOT NULL PRIMARY KEY,
    hash       BLOB    NOT NULL, -- SHA-256 of the secret
    app        NAME    NOT NULL,
    session    NAME    NOT NULL,
    person     NAME    NOT NULL, -- the author
    transcript BOOL    NOT NULL, -- also shows transcripts
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    opened_at  INTEGER NOT NULL, -- last time; 0: never
    opens      INTEGER NOT NULL
) WITHOUT ROWID, STRICT;

CREATE INDEX shares_by_session ON shares (app, session);

CREATE TABLE session_tools (
    first    INTEGER NOT NULL, -- sessions.first
    tool     NAME    NOT NULL,
    bin      INTEGER NOT NULL, -- of the duration; -1: unknown
    calls    INTEGER NOT NULL,
    failures INTEGER NOT NULL,
    total    INTEGER NOT NULL, -- ms
    PRIMARY KEY (first, tool, bin)
) WITHOUT ROWID, STRICT;

-- Resolved questions, by the time of the resolution.
CREATE TABLE decisions (
    quarter INTEGER NOT NULL,
    app     NAME    NOT NULL,
    outcome NAME    NOT NULL, -- approved, denied, answered, timeout, cancelled, other
    person  BOOL    NOT NULL, -- decided by a person
    bin     INTEGER NOT NULL, -- of the waiting time
    count   INTEGER NOT NULL,
    PRIMARY KEY (quarter, app, outcome, person, bin)
) WITHOUT ROWID, STRICT;

-- The next two tables hold every value twice: by quarter, for the start of a period, and by UTC day
-- for the rest of it.

CREATE TABLE activity (
    span        INTEGER NOT NULL, -- bucket size in quarters: 1, or 96 for a day
    at          INTEGER NOT NULL, -- Unix time divided by span
    app         NAME    NOT NULL,
    events      INTEGER NOT NULL,
    tools       INTEGER NOT NULL, -- completed calls
    failures    INTEGER NOT NULL,
    asked       INTEGER NOT NULL,
    waited      INTEGER NOT NULL, -- ms of waiting for a person, counted when the wait ended
    input       INTEGER NOT NULL, -- tokens, like the next three
    output      INTEGER NOT NULL,
    cache_read  INTEGER NOT NULL,
    cache_write INTEGER NOT NULL,
    cost        REAL    NOT NULL, -- USD
    PRIMARY KEY (span, at, app)
) WITHOUT ROWID, STRICT;

CREATE TABLE tool_histograms (
    span INTEGER NOT NULL,
    at   INTEGER NOT NULL,
    tool NAME    NOT NULL,
    bins TEXT    NOT NULL, -- "bin calls failures total" for each duration, as in session_tools, separated by ";"
    PRIMARY KEY (span, at, tool)
) WITHOUT ROWID, STRICT;

-- A row keeps its application, its person and its project when retention removes the session.
CREATE TABLE spend (
    first       INTEGER NOT NULL, -- sessions.first
    quarter     INTEGER NOT NULL,
    model       NAME    NOT NULL, -- empty: unknown
    app         NAME    NOT NULL,
    person      NAME    NOT NULL,
    project     NAME    NOT NULL, -- the directory of the session; empty: unknown
    imported    BOOL    NOT NULL, -- by a transcript
    input       INTEGER NOT NULL,
    output      INTEGER NOT NULL,
    cache_read  INTEGER NOT NULL,
    cache_write INTEGER NOT NULL,
    cost        REAL    NOT NULL, -- USD
    PRIMARY KEY (first, quarter, model)
) WITHOUT ROWID, STRICT;

CREATE INDEX spend_by_quarter ON spend (quarter);

-- Calls that may still change, as store.RatedCall.
CREATE TABLE open_calls (
    seq   INTEGER NOT NULL PRIMARY KEY, -- events.seq of the call's start
    facts BLOB    NOT NULL -- JSON
) STRICT;

-- Calls with a finding of medium risk or more, and refused calls.
CREATE TABLE risky_calls (
    seq         INTEGER NOT NULL PRIMARY KEY, -- events.seq of the call's start
    app         NAME    NOT NULL,
    session     NAME    NOT NULL,
    tool_use_id TEXT    NOT NULL, -- empty: none
    digest      TEXT    NOT NULL, -- of the tool and its arguments; empty: none
    tool        TEXT    NOT NULL,
    risk        NAME    NOT NULL, -- empty: no finding
    codes       TEXT    NOT NULL, -- of the findings, separated by spaces
    decided     NAME    NOT NULL, -- person, rule, policy, grant, agent
    outcome     NAME    NOT NULL  -- open, ran, failed, refused
) STRICT;

CREATE INDEX risky_calls_by_session ON risky_calls (session, app, seq);

-- All calls, by the quarter-hour of their start.
CREATE TABLE machine_decisions (
    quarter  INTEGER NOT NULL,
    app      NAME    NOT NULL,
    agent    NAME    NOT NULL, -- the coding agent; empty: unknown
    decided  NAME    NOT NULL,
    risk     NAME    NOT NULL,
    outcome  NAME    NOT NULL,
    calls    INTEGER NOT NULL,
    appealed INTEGER NOT NULL, -- of calls
    PRIMARY KEY (quarter, app, agent, decided, risk, outcome)
) WITHOUT ROWID, STRICT;

-- The trigram index for text search. The log is divided into blocks of 1024 sequence
-- numbers, and a block into 16 segments of 64. For every trigram (three consecutive
-- bytes, hashed to 20 bits) a block stores the segments that contain it, so a search
-- reads only the segments that contain all trigrams of its text.
--
-- An indexer builds it in the background from full blocks. The rest of the log is
-- searched event by event.

CREATE TABLE search_blocks (
    block INTEGER NOT NULL PRIMARY KEY, -- block n is the range from n*1024 to n*1024+1023
    made  NAME    NOT NULL, -- filter.IndexVersion of the indexed text; empty: stale and without trigrams, because events were removed
    -- bit mask of saturated segments: too many trigrams to list, always searched
-- sqlite:    crowded INTEGER NOT NULL
-- postgres:    crowded integer NOT NULL
) STRICT;

CREATE INDEX search_blocks_stale ON search_blocks (block) WHERE made = '';

-- The trigrams of a block, in slices by the first 6 bits of the hash. An integer key is
-- SQLite's fastest lookup.
CREATE TABLE search_grams (
    place INTEGER NOT NULL PRIMARY KEY, -- search_blocks.block << 6 | first 6 bits
    grams BLOB    NOT NULL -- the other 14 bits in ascending order, each as the delta to its predecessor (varint) and a bit mask of segments (2 bytes)
) STRICT;
