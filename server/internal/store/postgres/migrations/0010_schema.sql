-- The schema of a hub on PostgreSQL. It has the tables of the SQLite engine, without its dictionary
-- of names: names are text, in the collation C, which compares bytes.
--
-- Times are Unix milliseconds of the hub's clock unless noted otherwise; 0 is no time.

-- expect fails with SQLSTATE HB001 if a guard of a batch does not hold, which rolls it back.
CREATE FUNCTION expect(got bigint, want bigint, guard text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF got IS DISTINCT FROM want THEN
        RAISE EXCEPTION '%', guard USING ERRCODE = 'HB001', DETAIL = format('got %s, want %s', got, want);
    END IF;
END $$;

CREATE TABLE hub (
    one            boolean PRIMARY KEY DEFAULT true CHECK (one),
    id             text    NOT NULL, -- identifies this database to clients
    public_key     bytea   NOT NULL DEFAULT '', -- Ed25519; empty: not created yet
    locked         boolean NOT NULL DEFAULT false, -- only signed-in operators can answer
    people_version bigint  NOT NULL DEFAULT 1 -- number of changes of accounts
);

-- The counter row. Every commit updates it, so it has room for new versions on its page.
CREATE TABLE streams (
    one      boolean PRIMARY KEY DEFAULT true CHECK (one),
    commits  bigint  NOT NULL DEFAULT 0, -- number of commits: shows whether one with an unknown outcome happened
    head     bigint  NOT NULL DEFAULT 0, -- last assigned sequence number
    pruned   bigint  NOT NULL DEFAULT 0, -- highest sequence number that retention removed
    events   bigint  NOT NULL DEFAULT 0, -- number of rows in events
    bytes    bigint  NOT NULL DEFAULT 0, -- size of their envelopes and payloads
    received bigint  NOT NULL DEFAULT 0, -- received_at of the newest event
    decided  bigint  NOT NULL DEFAULT 0, -- number of rows in questions whose inbox is 'decided'
    mark     bigint  NOT NULL DEFAULT 0, -- identifies the last commit, so that a hub whose connection broke finds out whether it was its own
    -- The commits after which hubs read again what they keep in memory: state in the store (questions
    -- excepted: the log shows them), policy above it.
    state    bigint  NOT NULL DEFAULT 0,
    policy   bigint  NOT NULL DEFAULT 0,
    -- The oldest schema version that a hub must support to use this database. A step that removes or changes
    -- what the release before it uses raises it, so that hubs of that release end:
    -- UPDATE streams SET min_schema = NNNN.
    min_schema bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 20, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0);

INSERT INTO streams DEFAULT VALUES;

-- Each distinct value of the columns that events can be filtered by, for the lists of filter values.
CREATE TABLE names (
    kind  smallint NOT NULL, -- 1 source_app, 2 session_id, 3 hook_event_type, 4 tool_name
    name  text     COLLATE "C" NOT NULL,
    id    bigint   NOT NULL, -- the event that brought it, or an earlier number of a copied name: their order
    PRIMARY KEY (kind, name)
);

CREATE INDEX names_by_id ON names (kind, id);

-- The log's events. Rows never change: the state of a question is in questions.
CREATE TABLE events (
    seq         bigint  PRIMARY KEY, -- the event's id
    uid         uuid    NOT NULL, -- UUIDv7
    received_at bigint  NOT NULL, -- never decreases with seq, so a binary search finds a time
    timestamp   bigint  NOT NULL, -- the agent's clock
    app         text    COLLATE "C" NOT NULL,
    session     text    COLLATE "C" NOT NULL,
    type        text    COLLATE "C" NOT NULL,
    tool        text    COLLATE "C" NOT NULL,
    asks        boolean NOT NULL, -- it has a row in questions
    key         bytea, -- the first 16 bytes of SHA-256 of the idempotency key
    envelope    bytea   NOT NULL, -- JSON members, without braces
    payload     bytea   NOT NULL  -- a JSON object as sent
);

CREATE UNIQUE INDEX events_by_key ON events (key) WHERE key IS NOT NULL;

-- Zone map: the segments of the log that contain a name. Zone n is the range from n*512
-- to n*512+511. A filter by a rare name skips the rest of the log.
CREATE TABLE zones (
    kind smallint NOT NULL, -- names.kind
    name text     COLLATE "C" NOT NULL,
    zone bigint   NOT NULL,
    PRIMARY KEY (kind, name, zone)
);

-- The first event of each quarter-hour. No event was received after previous and before received_at.
CREATE TABLE time_marks (
    received_at bigint PRIMARY KEY, -- of the event
    seq         bigint NOT NULL, -- events.seq
    previous    bigint NOT NULL  -- received_at of the event before it
);

-- Transcripts, which only the page of a single event shows.
CREATE TABLE chats (
    seq  bigint PRIMARY KEY, -- events.seq
    chat bytea  NOT NULL
);

CREATE TABLE questions (
    seq          bigint  PRIMARY KEY, -- events.seq
    app          text    COLLATE "C" NOT NULL, -- copies of the event's columns, like the next three
    session      text    COLLATE "C" NOT NULL,
    type         text    COLLATE "C" NOT NULL,
    tool         text    COLLATE "C" NOT NULL,
    state        text    COLLATE "C" NOT NULL, -- pending, responded, timeout, error
    inbox        text    COLLATE "C" NOT NULL DEFAULT 'pending', -- schema.HitlStatus
    version      bigint  NOT NULL, -- optimistic concurrency: incremented by every change
    changed_at   bigint  NOT NULL,
    deadline     bigint  NOT NULL,
    addressed    boolean NOT NULL DEFAULT false, -- only its recipients may answer; awaiting has those who have not voted
    lifeline     bigint  NOT NULL DEFAULT 0, -- store.Lifeline
    held_until   bigint  NOT NULL DEFAULT 0, -- end of the undo window
    remind_at    bigint  NOT NULL DEFAULT 0,
    escalate_at  bigint  NOT NULL DEFAULT 0,
    next_at      bigint  NOT NULL DEFAULT 0, -- the earlier of the two
    same_as      bigint  NOT NULL DEFAULT 0, -- the leader of its duplicate group, while both are pending; 0: it is the leader
    joined       bigint  NOT NULL DEFAULT 0, -- the leader's revision from which it is counted
    protocol     bigint  NOT NULL, -- 2: the listener acknowledges
    has_nonce    boolean NOT NULL,
    url          text    NOT NULL, -- secret; empty: the agent pulls
    listener_key text    NOT NULL, -- secret
    requester    text    NOT NULL, -- authenticated name of the requester; empty: unknown
    owner        text    COLLATE "C" NOT NULL DEFAULT '', -- the hub that holds the request of the agent
    machine      text    COLLATE "C" NOT NULL DEFAULT '', -- the machine on which the url names the agent; empty: on any
    text         text    NOT NULL, -- searchable text
    call         bytea, -- first 16 bytes of SHA-256 of the tool and its arguments; NULL: no tool call
    same         bytea, -- duplicate key, equal for duplicates; NULL: never grouped
    listener     bytea, -- equal for version 1 questions whose answers one listener can't tell apart; NULL: none
    body_hash    bytea, -- of the body of the POST, with the hub's key
    ask_hash     bytea, -- schema.AskDigest; see hub.askHash
    secret_hash  bytea, -- schema.RequestSecretHash
    asker        bytea, -- schema.Process of the requester, JSON
    question     bytea   NOT NULL, -- humanInTheLoop without its secrets, JSON
    asked        bytea   NOT NULL, -- initial humanInTheLoopStatus, JSON
    status       bytea   NOT NULL, -- current humanInTheLoopStatus, JSON
    answer       bytea, -- schema.Answer without hookEvent, JSON; NULL while pending
    held         bytea, -- schema.Answer in its undo window, JSON; NULL: none
    receipt      bytea, -- schema.Envelope of the resolution's statement, JSON; NULL: not signed
    proofs       bytea  -- the passkey assertions of its answers and votes, a JSON array; NULL: none
) WITH (fillfactor = 80);

CREATE INDEX questions_by_inbox ON questions (inbox, seq);
CREATE INDEX questions_failed ON questions (seq) WHERE state = 'error';
CREATE INDEX questions_by_agent ON questions (app, inbox, seq) WHERE inbox <> 'pending';
CREATE INDEX questions_by_call ON questions (app, call, seq) WHERE call IS NOT NULL;
CREATE INDEX questions_by_listener ON questions (listener, seq) WHERE listener IS NOT NULL;

-- The log's rows for changes of questions.
CREATE TABLE changes (
    seq      bigint  PRIMARY KEY,
    question bigint  NOT NULL, -- questions.seq
    ends     boolean NOT NULL, -- the question's resolution
    status   bytea   NOT NULL  -- humanInTheLoopStatus after the change, JSON
);

CREATE INDEX changes_by_question ON changes (question);

-- The recipients of an addressed pending question who have not voted.
CREATE TABLE awaiting (
    person text   COLLATE "C" NOT NULL,
    seq    bigint NOT NULL, -- questions.seq
    app    text   COLLATE "C" NOT NULL,
    PRIMARY KEY (person, seq)
);

CREATE INDEX awaiting_by_question ON awaiting (seq);

-- The outbox: answers on their way to agents.
CREATE TABLE deliveries (
    seq         bigint  PRIMARY KEY, -- questions.seq
    answer_id   text    NOT NULL, -- UUIDv7, the same for all attempts
    state       text    COLLATE "C" NOT NULL, -- schema.DeliveryState
    attempts    bigint  NOT NULL,
    sent        boolean NOT NULL, -- bytes may have gone to a version 1 listener
    due         bigint  NOT NULL, -- next attempt
    until       bigint  NOT NULL, -- end of retries
    leased      bigint  NOT NULL, -- end of the worker's exclusive lease
    wake        bigint  NOT NULL, -- the later of due and leased
    open        boolean NOT NULL, -- an attempt is due or in progress; implies undelivered
    undelivered boolean NOT NULL, -- the answer may not have reached the agent
    handled     bigint  NOT NULL, -- when a person marked it as handled
    owner       text    COLLATE "C" NOT NULL DEFAULT '', -- the hub that attempts it
    machine     text    COLLATE "C" NOT NULL DEFAULT ''  -- questions.machine
);

CREATE INDEX deliveries_undelivered ON deliveries (seq) WHERE undelivered;
CREATE INDEX deliveries_open ON deliveries (wake) WHERE open;
-- When a hub of another machine may give up a delivery.
CREATE INDEX deliveries_given_up ON deliveries (greatest(until, wake)) WHERE open AND machine <> '' AND until > 0;

-- The audit log. Rows are written in the transaction of the action that they record, and are never
-- changed or removed.
CREATE TABLE ledger (
    n        bigint PRIMARY KEY, -- from 1, without gaps
    question bigint NOT NULL, -- questions.seq; 0: none
    hash     text   NOT NULL, -- copy of the hash in the entry
    entry    bytea  NOT NULL  -- schema.LedgerEntry, JSON, the exact bytes that were hashed
);

CREATE INDEX ledger_by_question ON ledger (question, n) WHERE question > 0;

CREATE TABLE ledger_heads (
    n        bigint PRIMARY KEY, -- ledger.n
    envelope bytea  NOT NULL -- schema.Envelope of a schema.LedgerHead, JSON
);

-- How the newest keys of the hub replaced each other.
CREATE TABLE key_rotations (
    n        bigint PRIMARY KEY, -- increases with every rotation
    envelope bytea  NOT NULL -- schema.Envelope of a schema.KeyRotation, JSON
);

-- Each opening of the database begins an epoch of its log.
CREATE TABLE epochs (
    n        bigint PRIMARY KEY,
    id       text   NOT NULL, -- random
    head     bigint NOT NULL, -- the last sequence number before it
    timeline text   NOT NULL DEFAULT '' -- of the server's history, changes when a standby is promoted and when a backup is restored
);

-- The hubs that use the database. Times are those of the database's clock.
CREATE TABLE hubs (
    id         text   COLLATE "C" PRIMARY KEY, -- of the process, a UUIDv7
    name       text   NOT NULL, -- for people
    version    text   NOT NULL,
    started_at bigint NOT NULL,
    seen_at    bigint NOT NULL,
    facts      bytea  NOT NULL, -- what it tells the other hubs, JSON
    machine    text   NOT NULL DEFAULT '' -- a loopback address means an agent on it
);

-- Work that one hub at a time does.
CREATE TABLE leases (
    name  text   COLLATE "C" PRIMARY KEY,
    owner text   NOT NULL, -- hubs.id
    until bigint NOT NULL
);

CREATE TABLE people (
    name        text    COLLATE "C" PRIMARY KEY,
    role        text    NOT NULL, -- schema.Role
    owner       boolean NOT NULL, -- owner of the hub
    email       text    NOT NULL,
    subject     text    NOT NULL, -- issuer and sub at the OpenID Connect provider; empty: not linked
    created_at  bigint  NOT NULL,
    seen_at     bigint  NOT NULL,
    signed_in   boolean NOT NULL, -- has signed in since the account was created or reset
    reset_at    bigint  NOT NULL, -- last reset by an admin
    reset_by    text    NOT NULL,
    promoted_at bigint  NOT NULL, -- when another admin made this person an admin
    promoted_by text    NOT NULL
);

-- Signed-in browsers. Requests that change something need the cookie and the key.
CREATE TABLE sign_ins (
    id         text    COLLATE "C" PRIMARY KEY,
    person     text    NOT NULL, -- people.name
    way        text    NOT NULL, -- link, oidc
    user_agent text    NOT NULL,
    cookie     bytea   NOT NULL, -- hash
    page_key   bytea   NOT NULL, -- hash
    confirmed  boolean NOT NULL, -- of the code
    created_at bigint  NOT NULL,
    seen_at    bigint  NOT NULL
);

CREATE TABLE tokens (
    id         text   COLLATE "C" PRIMARY KEY,
    name       text   NOT NULL,
    prefix     text   NOT NULL, -- first characters, to recognize it
    hash       bytea  NOT NULL,
    person     text   NOT NULL, -- people.name; empty: a token for agents
    apps       text   NOT NULL, -- source_app patterns, a JSON array
    created_at bigint NOT NULL,
    used_at    bigint NOT NULL,
    expires_at bigint NOT NULL
);

-- One-time sign-in links.
CREATE TABLE sign_in_codes (
    hash       bytea   PRIMARY KEY,
    person     text    NOT NULL, -- people.name; empty: its user chooses a name and becomes the owner
    way        text    NOT NULL, -- method of the sign-in: link, oidc
    confirmed  boolean NOT NULL, -- the person confirmed it with a passkey
    created_at bigint  NOT NULL,
    expires_at bigint  NOT NULL
);

-- Sign-ins in several steps.
CREATE TABLE flows (
    id         bytea  PRIMARY KEY, -- hash of a secret
    kind       text   COLLATE "C" NOT NULL,
    data       bytea  NOT NULL,
    expires_at bigint NOT NULL
);

CREATE INDEX flows_by_kind ON flows (kind, expires_at);
CREATE INDEX flows_by_end ON flows (expires_at);

-- WebAuthn credentials, which sign answers. Only public keys are stored.
CREATE TABLE passkeys (
    id         text   COLLATE "C" PRIMARY KEY,
    person     text   NOT NULL, -- people.name
    name       text   NOT NULL, -- chosen by the person
    rp_id      text   NOT NULL, -- host name at which it works; empty: that of the hub's start
    credential bytea  NOT NULL UNIQUE, -- credential ID
    public_key bytea  NOT NULL, -- COSE key
    sign_count bigint NOT NULL, -- last value reported by the authenticator; 0: not supported
    flags      bigint NOT NULL, -- from the WebAuthn authenticator data
    transports text   NOT NULL, -- a JSON array
    created_at bigint NOT NULL,
    used_at    bigint NOT NULL
);

CREATE TABLE rules (
    id         bigint PRIMARY KEY, -- from 1; never reused, because rules are not deleted
    rule       bytea  NOT NULL, -- schema.Rule as created, JSON; mutable values are in the columns
    created_by text   COLLATE "C" NOT NULL,
    after      bigint NOT NULL, -- the log's head at its creation: the rule answers later questions
    since      bigint NOT NULL, -- creation time; adjusted when the clock is stepped
    scope      text   COLLATE "C" NOT NULL,
    app        text   COLLATE "C" NOT NULL, -- of the session that limits it; empty: none
    session    text   COLLATE "C" NOT NULL,
    expires_at bigint NOT NULL,
    revoked_at bigint NOT NULL,
    revoked_by text   NOT NULL,
    uses       bigint NOT NULL,
    used_at    bigint NOT NULL
);

CREATE TABLE channels (
    id         bigint  PRIMARY KEY,
    name       text    NOT NULL,
    kind       text    NOT NULL,
    url        text    NOT NULL, -- secret, encrypted
    secret     text    NOT NULL, -- of a webhook, encrypted; empty: none
    person     text    NOT NULL, -- owner; empty: shared by everyone
    is_brief   boolean NOT NULL, -- its messages show no details
    created_at bigint  NOT NULL,
    created_by text    COLLATE "C" NOT NULL
);

-- One row per notification. The unique constraint prevents duplicates.
CREATE TABLE notices (
    id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    question bigint NOT NULL, -- questions.seq
    channel  bigint NOT NULL, -- channels.id; 0: Web Push
    name     text   NOT NULL, -- of the channel, which may be removed later
    person   text   COLLATE "C" NOT NULL, -- empty: no named recipient
    kind     text   COLLATE "C" NOT NULL, -- schema.Notification.Kind
    n        bigint NOT NULL, -- number of the reminder; 0 otherwise
    state    text   COLLATE "C" NOT NULL, -- schema.Notification.State
    why      text   NOT NULL,
    error    text   NOT NULL,
    attempts bigint NOT NULL,
    due      bigint NOT NULL, -- next attempt, while queued
    leased   bigint NOT NULL, -- end of the lease of an attempt in progress
    made_at  bigint NOT NULL,
    at       bigint NOT NULL, -- last change
    UNIQUE (question, channel, person, kind, n)
);

CREATE INDEX notices_due ON notices (channel, due) WHERE state = 'queued';
CREATE INDEX notices_sent ON notices (channel, person, at) WHERE state = 'sent';

-- Which notifications of a question were planned, besides the first.
CREATE TABLE noticed (
    question  bigint  PRIMARY KEY,
    reminders bigint  NOT NULL, -- number of reminders
    escalated boolean NOT NULL
);

-- Notification preferences; person is empty for unauthenticated users.
CREATE TABLE notice_settings (
    person   text  COLLATE "C" PRIMARY KEY,
    settings bytea NOT NULL -- schema.NotificationSettings, JSON
);

CREATE TABLE notifier (
    one      boolean PRIMARY KEY DEFAULT true CHECK (one),
    cursor   bigint  NOT NULL DEFAULT 0, -- log position up to which notifications were planned
    channel  bigint  NOT NULL DEFAULT 0, -- last id assigned in channels
    push     text    NOT NULL DEFAULT '', -- private key for Web Push, encrypted; empty: not created yet
    push_key text    NOT NULL DEFAULT ''  -- public key
);

INSERT INTO notifier DEFAULT VALUES;

-- Web Push subscriptions.
CREATE TABLE browsers (
    endpoint text   COLLATE "C" PRIMARY KEY, -- secret: it suffices to send the person push messages
    p256dh   text   NOT NULL,
    auth     text   NOT NULL, -- secret
    person   text   COLLATE "C" NOT NULL, -- owner; empty: unauthenticated user
    made_at  bigint NOT NULL
);

CREATE INDEX browsers_by_person ON browsers (person);

-- Signed links that were used to vote.
CREATE TABLE links_used (
    question bigint NOT NULL,
    mac      bytea  NOT NULL, -- of the link's token
    at       bigint NOT NULL,
    PRIMARY KEY (question, mac)
);

-- Chat services in which people answer.
CREATE TABLE chat_offsets (
    channel  bigint PRIMARY KEY, -- channels.id
    position bigint NOT NULL -- of the next update to read
);

CREATE TABLE chat_accounts (
    kind      text   COLLATE "C" NOT NULL, -- of channel
    account   text   COLLATE "C" NOT NULL, -- number of the account at the service
    label     text   NOT NULL,
    person    text   COLLATE "C" NOT NULL,
    linked_at bigint NOT NULL,
    PRIMARY KEY (kind, account)
);

CREATE INDEX chat_accounts_by_person ON chat_accounts (person, kind, account);

CREATE TABLE chat_messages (
    channel  bigint  NOT NULL, -- channels.id
    chat     text    COLLATE "C" NOT NULL,
    message  text    COLLATE "C" NOT NULL,
    notice   bigint  NOT NULL, -- notices.id
    question bigint  NOT NULL, -- questions.seq
    revision bigint  NOT NULL,
    settled  boolean NOT NULL, -- the message shows the outcome
    PRIMARY KEY (channel, chat, message)
);

CREATE INDEX chat_messages_by_question ON chat_messages (question);
CREATE INDEX chat_messages_open ON chat_messages (channel, question) WHERE NOT settled;

-- What people send to running agents: grants for refused calls, messages, freezes.
CREATE TABLE grants (
    question   bigint PRIMARY KEY, -- questions.seq of the appeal
    app        text   COLLATE "C" NOT NULL,
    session    text   COLLATE "C" NOT NULL,
    digest     bytea  NOT NULL, -- of the call before redaction, with the hub's key
    granted_by text   NOT NULL, -- a JSON array; empty: not granted
    granted_at bigint NOT NULL,
    expires_at bigint NOT NULL,
    used_at    bigint NOT NULL,
    used_by    bigint NOT NULL -- events.seq of the call that ran; 0: not used
);

CREATE INDEX grants_by_use ON grants (used_by) WHERE used_by > 0;

CREATE TABLE messages (
    id        bigint PRIMARY KEY,
    app       text   COLLATE "C" NOT NULL,
    session   text   COLLATE "C" NOT NULL,
    agent_id  text   COLLATE "C" NOT NULL, -- a subagent; empty: the main agent
    sender    text   NOT NULL,
    text      text   NOT NULL,
    state     text   COLLATE "C" NOT NULL, -- control.MessageState
    sent_at   bigint NOT NULL,
    handed_at bigint NOT NULL,
    handed_by bigint NOT NULL, -- events.seq in whose response it was handed over; 0: not handed over
    key       bytea -- hash of the idempotency key; NULL: none
);

CREATE INDEX messages_by_session ON messages (session, app, id);
CREATE INDEX messages_by_event ON messages (handed_by) WHERE handed_by > 0;
CREATE INDEX messages_by_key ON messages (key) WHERE key IS NOT NULL;

CREATE TABLE freezes (
    id        bigint PRIMARY KEY,
    scope     text   COLLATE "C" NOT NULL, -- control.FreezeScope
    app       text   COLLATE "C" NOT NULL,
    session   text   COLLATE "C" NOT NULL,
    frozen_by text   NOT NULL,
    reason    text   NOT NULL,
    rule      text   COLLATE "C" NOT NULL, -- control.FreezeRule; empty: by a person or a program
    cost_usd  double precision NOT NULL, -- of the session when the rule spend froze it
    frozen_at bigint NOT NULL,
    lifted_by text   NOT NULL,
    lifted_at bigint NOT NULL -- 0: active
);

CREATE INDEX freezes_active ON freezes (id) WHERE lifted_at = 0;
CREATE INDEX freezes_by_rule ON freezes (id) WHERE rule <> '';

-- The calls whose hook got a freeze. The hook reports a call before it knows, so the event doesn't say.
CREATE TABLE frozen_calls (
    seq bigint PRIMARY KEY -- events.seq
);

CREATE TABLE hub_settings (
    name     text  COLLATE "C" PRIMARY KEY, -- safety, alerts, reach
    settings bytea NOT NULL -- JSON
);

-- The findings of alert rules. The rules are hub settings.
CREATE TABLE alerts (
    id        bigint PRIMARY KEY,
    rule      bigint NOT NULL,
    kind      text   NOT NULL, -- control.AlertKind
    app       text   COLLATE "C" NOT NULL,
    session   text   COLLATE "C" NOT NULL,
    person    text   COLLATE "C" NOT NULL,
    evidence  text   NOT NULL,
    opened_at bigint NOT NULL,
    closed_at bigint NOT NULL -- 0: open
);

CREATE UNIQUE INDEX alerts_open ON alerts (rule, app, session, person) WHERE closed_at = 0;

-- Which agents run the gate, by machine and account.
CREATE TABLE coverage (
    host        text   COLLATE "C" NOT NULL,
    account     text   COLLATE "C" NOT NULL,
    agent       text   COLLATE "C" NOT NULL,
    report      bytea  NOT NULL, -- JSON; empty: none
    reported_at bigint NOT NULL,
    proof       bytea  NOT NULL, -- JSON; empty: none
    proven_at   bigint NOT NULL,
    requester   text   COLLATE "C" NOT NULL DEFAULT '', -- that reported the agent first: limits are per requester
    PRIMARY KEY (host, account, agent)
);

-- Positions of the readers of the log.
CREATE TABLE cursors (
    name   text   COLLATE "C" PRIMARY KEY, -- projections, ratings
    cursor bigint NOT NULL -- log position up to which the tables below are complete
);

INSERT INTO cursors (name, cursor) VALUES ('projections', 0), ('ratings', 0);

CREATE TABLE trace_cursor (
    one    boolean PRIMARY KEY DEFAULT true CHECK (one),
    sent   bigint  NOT NULL, -- turns that ended up to here were sent
    resume bigint  NOT NULL  -- log position before the first row of the turns that were open then
);

-- Projections of the log. A quarter is Unix time divided by 15 minutes: in every time zone a day
-- begins with one. A bin is a bucket of a duration histogram.

CREATE TABLE sessions (
    app      text    COLLATE "C" NOT NULL,
    session  text    COLLATE "C" NOT NULL,
    person   text    COLLATE "C" NOT NULL, -- who ran it; empty: unknown
    first    bigint  NOT NULL, -- first event; unique per session
    last     bigint  NOT NULL, -- newest event
    active   bigint  NOT NULL, -- tables.ActiveKey
    imported boolean NOT NULL, -- known from a transcript only
    text     text    NOT NULL, -- searchable text, lower case
    facts    bytea   NOT NULL, -- the session summary, JSON
    PRIMARY KEY (app, session)
);

CREATE INDEX sessions_by_last ON sessions (last);
CREATE INDEX sessions_by_active ON sessions (active);
CREATE INDEX sessions_by_app ON sessions (app, active);
CREATE INDEX sessions_by_id ON sessions (session);
CREATE INDEX sessions_by_person ON sessions (person, active) WHERE person <> '';
CREATE INDEX sessions_imported ON sessions (active) WHERE imported;

-- The searchable text of the newest transcript of each session.
CREATE TABLE transcript_texts (
    seq   bigint PRIMARY KEY, -- events.seq of the event with the transcript
    first bigint NOT NULL, -- sessions.first
    text  text   NOT NULL  -- folded, one text per line
);

CREATE UNIQUE INDEX transcript_texts_by_session ON transcript_texts (first);

-- Links that show one session, read-only.
CREATE TABLE shares (
    id         text    COLLATE "C" PRIMARY KEY,
    hash       bytea   NOT NULL, -- SHA-256 of the secret
    app        text    COLLATE "C" NOT NULL,
    session    text    COLLATE "C" NOT NULL,
    person     text    COLLATE "C" NOT NULL, -- the author
    transcript boolean NOT NULL, -- also shows transcripts
    created_at bigint  NOT NULL,
    expires_at bigint  NOT NULL,
    opened_at  bigint  NOT NULL, -- last time; 0: never
    opens      bigint  NOT NULL
);

CREATE INDEX shares_by_session ON shares (app, session);

CREATE TABLE session_tools (
    first    bigint NOT NULL, -- sessions.first
    tool     text   COLLATE "C" NOT NULL,
    bin      bigint NOT NULL, -- of the duration; -1: unknown
    calls    bigint NOT NULL,
    failures bigint NOT NULL,
    total    bigint NOT NULL, -- ms
    PRIMARY KEY (first, tool, bin)
);

-- Resolved questions, by the time of the resolution.
CREATE TABLE decisions (
    quarter bigint  NOT NULL,
    app     text    COLLATE "C" NOT NULL,
    outcome text    COLLATE "C" NOT NULL, -- approved, denied, answered, timeout, cancelled, other
    person  boolean NOT NULL, -- decided by a person
    bin     bigint  NOT NULL, -- of the waiting time
    count   bigint  NOT NULL,
    PRIMARY KEY (quarter, app, outcome, person, bin)
);

-- The next two tables hold every value twice: by quarter, for the start of a period, and by UTC day
-- for the rest of it.

CREATE TABLE activity (
    span        bigint NOT NULL, -- bucket size in quarters: 1, or 96 for a day
    at          bigint NOT NULL, -- Unix time divided by span
    app         text   COLLATE "C" NOT NULL,
    events      bigint NOT NULL,
    tools       bigint NOT NULL, -- completed calls
    failures    bigint NOT NULL,
    asked       bigint NOT NULL,
    waited      bigint NOT NULL, -- ms of waiting for a person, counted when the wait ended
    input       bigint NOT NULL, -- tokens, like the next three
    output      bigint NOT NULL,
    cache_read  bigint NOT NULL,
    cache_write bigint NOT NULL,
    cost        double precision NOT NULL, -- USD
    PRIMARY KEY (span, at, app)
);

CREATE TABLE tool_histograms (
    span bigint NOT NULL,
    at   bigint NOT NULL,
    tool text   COLLATE "C" NOT NULL,
    bins text   NOT NULL, -- "bin calls failures total" for each duration, as in session_tools, separated by ";"
    PRIMARY KEY (span, at, tool)
);

-- A row keeps its application, its person and its project when retention removes the session.
CREATE TABLE spend (
    first       bigint NOT NULL, -- sessions.first
    quarter     bigint NOT NULL,
    model       text   COLLATE "C" NOT NULL, -- empty: unknown
    app         text   COLLATE "C" NOT NULL,
    person      text   COLLATE "C" NOT NULL,
    project     text   COLLATE "C" NOT NULL, -- the directory of the session; empty: unknown
    imported    boolean NOT NULL, -- by a transcript
    input       bigint NOT NULL,
    output      bigint NOT NULL,
    cache_read  bigint NOT NULL,
    cache_write bigint NOT NULL,
    cost        double precision NOT NULL, -- USD
    PRIMARY KEY (first, quarter, model)
);

CREATE INDEX spend_by_quarter ON spend (quarter);

-- Calls that may still change, as store.RatedCall.
CREATE TABLE open_calls (
    seq   bigint PRIMARY KEY, -- events.seq of the call's start
    facts bytea  NOT NULL -- JSON
);

-- Calls with a finding of medium risk or more, and refused calls.
CREATE TABLE risky_calls (
    seq         bigint PRIMARY KEY, -- events.seq of the call's start
    app         text   COLLATE "C" NOT NULL,
    session     text   COLLATE "C" NOT NULL,
    tool_use_id text   NOT NULL, -- empty: none
    digest      text   NOT NULL, -- of the tool and its arguments; empty: none
    tool        text   NOT NULL,
    risk        text   COLLATE "C" NOT NULL, -- empty: no finding
    codes       text   NOT NULL, -- of the findings, separated by spaces
    decided     text   COLLATE "C" NOT NULL, -- person, rule, policy, grant, agent
    outcome     text   COLLATE "C" NOT NULL  -- open, ran, failed, refused
);

CREATE INDEX risky_calls_by_session ON risky_calls (session, app, seq);

-- All calls, by the quarter-hour of their start.
CREATE TABLE machine_decisions (
    quarter  bigint NOT NULL,
    app      text   COLLATE "C" NOT NULL,
    agent    text   COLLATE "C" NOT NULL, -- the coding agent; empty: unknown
    decided  text   COLLATE "C" NOT NULL,
    risk     text   COLLATE "C" NOT NULL,
    outcome  text   COLLATE "C" NOT NULL,
    calls    bigint NOT NULL,
    appealed bigint NOT NULL, -- of calls
    PRIMARY KEY (quarter, app, agent, decided, risk, outcome)
);

-- The trigram index for text search. The log is divided into blocks of 1024 sequence
-- numbers, and a block into 16 segments of 64. For every trigram (three consecutive
-- bytes, hashed to 20 bits) a block stores the segments that contain it, so a search
-- reads only the segments that contain all trigrams of its text.
--
-- The hub that leads builds it in the background from full blocks. The rest of the log is
-- searched event by event.

CREATE TABLE search_blocks (
    block   bigint  PRIMARY KEY, -- block n is the range from n*1024 to n*1024+1023
    made    text    COLLATE "C" NOT NULL, -- filter.IndexVersion of the indexed text; empty: stale and without trigrams, because events were removed
    crowded integer NOT NULL -- bit mask of saturated segments: too many trigrams to list, always searched
);

CREATE INDEX search_blocks_stale ON search_blocks (block) WHERE made = '';

-- The trigrams of a block, in slices by the first 6 bits of the hash.
CREATE TABLE search_grams (
    place bigint PRIMARY KEY, -- search_blocks.block << 6 | first 6 bits
    grams bytea  NOT NULL -- the other 14 bits in ascending order, each as the delta to its predecessor (varint) and a bit mask of segments (2 bytes)
);

ALTER TABLE search_grams ALTER COLUMN grams SET STORAGE EXTERNAL; -- not compressed: a search reads many

-- Payloads are stored compressed. lz4 needs less of the server's CPU than its default, if it has it.

DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_settings WHERE name = 'default_toast_compression' AND 'lz4' = ANY (enumvals)) THEN
        ALTER TABLE events ALTER COLUMN payload SET COMPRESSION lz4, ALTER COLUMN envelope SET COMPRESSION lz4;
        ALTER TABLE chats ALTER COLUMN chat SET COMPRESSION lz4;
        ALTER TABLE questions ALTER COLUMN question SET COMPRESSION lz4;
    END IF;
END $$;
