// Made from schema/*.go by go run ./schema/gen. Do not edit.

/** Ack is what a version 2 listener sends back once its caller has the answer. */
export interface Ack {
  type: 'ack'
  answerId: string
  /**
   * Result is absent or accepted for an answer that was taken, duplicate for one already known, too_late
   * when nobody waits any more and mismatch for somebody else's answer.
   */
  result?: 'accepted' | 'duplicate' | 'too_late' | 'mismatch'
}

/** AgentApproval is the body of POST /api/agent/approve. */
export interface AgentApproval {
  approvalId: string
  approved: boolean
  /** of a denial: "User denied approval" unless told */
  reason?: string
}

/** AgentNode is one agent of a session: the main one, or a subagent below the one that started it. */
export interface AgentNode {
  /** empty: the main agent */
  agent_id: string
  agent_type?: string
  /** the agent_id of who started it; empty: the main agent */
  parent: string
  model?: string
  firstId: EventID
  lastId: EventID
  startedAt: Millis
  lastAt: Millis
  ended: boolean
  events: number
  /** calls that came to an end */
  tools: number
  failures: number
  asked: number
  pending: number
  /** time that its settled questions waited for a person */
  waitedMs: number
  /** to models */
  requests?: number
  /** its own, without its subagents' */
  tokens?: Tokens
  costUsd?: number
}

/** AgentStat is one application over the days of an Overview. */
export interface AgentStat {
  source_app: string
  events: number
  /** that were active within the days */
  sessions: number
  tools: number
  failures: number
  asked: number
  /** now */
  pending: number
  /** blocked: time that its questions waited for a person */
  waitedMs: number
  lastAt: Millis
  /** its latest session has ended */
  ended: boolean
  tokens?: Tokens
  costUsd?: number
}

/**
 * Answer is what the agent receives: one text frame on its own socket, or the body of GET
 * /events/:id/response.
 */
export interface Answer {
  /** always set for a permission */
  permission?: boolean
  response?: string
  choice?: string
  answers?: Record<string, unknown>
  reason?: string
  comment?: string
  modifiedArguments?: Record<string, unknown>
  remember?: unknown
  respondedAt: Millis
  respondedBy?: Responder
  outcome?: Outcome
  source?: EndedBy
  /** one sentence for a model */
  guidance?: string
  /**
   * Votes are all that counted, Awaiting who had not voted, requiredApprovals how many had to agree: of a
   * question that needed several.
   */
  votes?: Vote[]
  awaiting?: string[]
  requiredApprovals?: number
  /** the rule that answered */
  rule?: RuleRef
  /**
   * hookEvent is the hub's own stored event. hookEventTruncated: its payload was too big for a frame and
   * holds only agent_name and permission_type.
   */
  hookEvent?: Event
  hookEventTruncated?: boolean
  /** Version 2 listeners acknowledge answerId, and drop one they have seen. */
  answerId?: string
  attempt?: number
}

/** Approval is a pending permission as GET /api/approvals lists it. */
export interface Approval {
  id: string
  toolName: string
  arguments: Record<string, unknown>
  /** RFC 3339, the hub's clock */
  requestedAt: string
  sessionId: string
  userPrompt: string
}

/** Approvals is the body of POST /events/approve: exactly the permissions that a person saw in one list. */
export interface Approvals {
  /** 1 to MaxApprovals */
  requests: SeenRevision[]
  /** as in Response; 5,000 unless told */
  holdMs?: number
  reason?: string
}

/** ApproveCall is the body of POST /api/approvals/:id/approve. */
export interface ApproveCall {
  modifiedArguments?: Record<string, unknown>
  /** Proof is as in Response: of a Response with permission true and these arguments. */
  proof?: Record<string, unknown>
}

/** BatchResult is the result for one event of POST /events/batch: the saved event or why it was not saved. */
export interface BatchResult {
  event?: Event
  problem?: Problem
}

/**
 * CallReport is the body of POST /events/:id/execution, from an agent that runs no hooks: what became of
 * the call that was approved.
 */
export interface CallReport {
  state: 'succeeded' | 'failed' | 'interrupted'
  /** of the call itself */
  durationMs?: number
  error?: string
  /** the question's own */
  requestSecret: string
}

/**
 * Cancel is the body of POST /events/:id/cancel. With the question's own secret it is the agent's
 * withdrawal and nothing is sent; without, it is a person's.
 */
export interface Cancel {
  reason?: string
  requestSecret?: string
}

/**
 * ChallengeRequest is the body of POST /api/passkeys/challenge: the answer that is about to be given,
 * exactly as it will be, but for its proof. Another one needs another challenge.
 */
export interface ChallengeRequest {
  id: EventID
  response: Response
}

/**
 * Channel is a way by which people are told of questions while they are not looking. Its address is a
 * secret: it is given once, by whoever makes the channel, and never shown again.
 */
export interface Channel {
  id: number
  name: string
  /** Kind is slack, discord, telegram, ntfy, gotify, pushover, mattermost, smtp or webhook. */
  kind: string
  /** Address is the scheme of the address and, where that is no secret, the host. */
  address: string
  /**
   * Person whose channel it is; absent: everybody's. One of kind smtp that is everybody's writes to each
   * person at their own address.
   */
  person?: string
  createdAt: Millis
  createdBy: string
  /**
   * Secret of a webhook, whsec_…, shown once: what its receiver verifies the signature with (Standard
   * Webhooks).
   */
  secret?: string
  /** Paused is set while the channel fails: until then the hub leaves it alone. */
  paused?: Millis
}

/** ChannelDraft is the body of POST /api/channels. */
export interface ChannelDraft {
  name: string
  /**
   * URL is the address, in the notation of shoutrrr (slack://, discord://, telegram://, ntfy://, gotify://,
   * pushover://, mattermost://); smtp://USER:PASSWORD@HOST:PORT/?from=ADDRESS or smtps:// for mail;
   * https:// or http:// for a webhook.
   */
  url: string
  /** as in Channel */
  person?: string
}

/** ChannelTestResult says what became of a message that was sent to try a channel. */
export interface ChannelTestResult {
  state: 'sent' | 'failed'
  error?: string
}

/**
 * Condition is one thing that must hold for an argument of a tool call. A command (the argument of a shell
 * tool) only meets one when it is a single simple command.
 */
export interface Condition {
  /** its name; dotted for one inside another */
  argument: string
  is: 'equals' | 'starts_with' | 'contains' | 'glob' | 'at_most' | 'at_least' | 'under'
  /** a string, a number, true or false */
  value: unknown
}

/** Context is what a person needs to see beside the question to decide it. */
export interface Context {
  why?: string
  cwd?: string
  branch?: string
  diff?: string
  userPrompt?: string
  links?: string[]
}

/**
 * Control tells a version 2 listener something that is no answer, on a connection of its own, after the
 * same proof. It is not acknowledged. A listener ignores kinds it does not know.
 */
export interface Control {
  type: 'control'
  kind: 'deadline'
  /** the new deadline, the hub's clock; absent: none */
  expiresAt?: Millis
  /** inSeconds is how far away that is: the listener's clock may be another one. */
  inSeconds?: number
}

/** DayCount is how the questions ended that ended on one day. */
export interface DayCount {
  /** 2026-11-21 */
  day: string
  approved: number
  denied: number
  /** texts and choices */
  answered: number
  timeout: number
  /** and withdrawn */
  cancelled: number
  other: number
}

/**
 * DeadlineExtension says who moved a question's deadline, and whether its agent knows: that was not told
 * waits no longer than it meant to.
 */
export interface DeadlineExtension {
  by: string
  at: Millis
  /**
   * Agent is how it is told: queued while it is dialled, delivered, unreachable (Error says why; it was
   * tried several times), or none where it asks by itself.
   */
  agent: DeliveryState
  error?: string
}

/** Delivery is how an answer got to the agent. */
export interface Delivery {
  state: DeliveryState
  attempts: number
  /** how a version 1 listener showed it */
  confirmed?: 'close' | 'write'
  lastError?: string
  /**
   * deliveredAt and nextAttemptAt are the hub's clock. An unreachable delivery with nextAttemptAt is still
   * being tried; without it the hub gave up.
   */
  deliveredAt?: Millis
  nextAttemptAt?: Millis
  /** handledAt is set when a person took care of an undelivered answer. */
  handledAt?: Millis
}

/** DeliveryState is how far an answer got on its way to the agent. */
export type DeliveryState =
  | 'none'
  | 'queued'
  | 'sending'
  | 'delivered'
  | 'acked'
  | 'pulled'
  | 'unconfirmed'
  | 'refused'
  | 'unreachable'
  | 'too_late'
  | 'blocked'

/**
 * EarlierOutcomes counts how questions about the same call (same application, same tool, same arguments)
 * ended before, and names the newest of them.
 */
export interface EarlierOutcomes {
  approved: number
  denied: number
  /** timed out, cancelled */
  other: number
  last?: Event
}

/**
 * EditedCall is a call that a voter changed. The votes before it were about something else and are gone
 * from Votes; the ledger keeps them.
 */
export interface EditedCall {
  /** whole */
  arguments: Record<string, unknown>
  by: string
  at: Millis
  /**
   * Revision is the first revision of the status with these arguments: a vote for them names it or a later
   * one.
   */
  revision: number
}

/** EndedBy says what ended a question. */
export type EndedBy =
  | 'human'
  | 'rule'
  | 'timeout'
  | 'cancel'
  | 'agent'
  | 'session_end'
  | 'orphaned'
  | 'quorum'

/**
 * Event is what a hook tells the hub: something an agent did or is about to do, and, with HumanInTheLoop, a
 * question to a person.
 *
 * source_app, session_id, hook_event_type and Payload are required. ID, UID and humanInTheLoopStatus belong
 * to the hub; sent by a client they are ignored.
 */
export interface Event {
  id?: EventID
  /** UUIDv7, the same event in links and audits of any hub */
  uid?: string
  source_app: string
  session_id: string
  hook_event_type: string
  /** a JSON object, kept byte for byte */
  payload: Record<string, unknown>
  /** the agent's clock; for display only */
  timestamp?: Millis
  summary?: string
  model_name?: string
  /** a transcript; only GET /events/:id returns it */
  chat?: unknown
  /**
   * Agent is the coding agent whose hook posted the event: claude-code, codex, gemini and so on (see
   * agentclient/hook). Other programs leave it out.
   */
  agent?: string
  /** Copies of hook fields that clients lift out of the payload. */
  tool_name?: string
  tool_use_id?: string
  agent_id?: string
  agent_type?: string
  parent_session_id?: string
  error?: string
  is_interrupt?: boolean
  permission_suggestions?: unknown
  agent_transcript_path?: string
  stop_hook_active?: boolean
  notification_type?: string
  custom_instructions?: string
  source?: string
  reason?: string
  /** idempotency_key makes a repeated POST return the first event. */
  idempotency_key?: string
  humanInTheLoop?: HumanInTheLoop
  humanInTheLoopStatus?: Status
  /**
   * payloadTruncated marks an event of a list or a stream whose payload was too big to carry along;
   * payloadBytes is its size. GET /events/:id has it.
   */
  payloadTruncated?: boolean
  payloadBytes?: number
  /**
   * requestSecret is returned to the poster of a question, to nobody else. It lets the agent withdraw its
   * question and pull its answer.
   */
  requestSecret?: string
  /**
   * Watching is returned to the poster of a question, too: how many streams follow the hub at that moment.
   * With none, nobody may see the question in time.
   */
  watching?: number
}

/**
 * EventID numbers an event. The hub gives it out: 1, 2, 3 … in the order of commit; it is also the
 * event's sequence number on the stream.
 */
export type EventID = number

/**
 * Execution is what became of an approved call, as a later event of the same session with the same
 * tool_use_id tells it, or the agent itself (CallReport).
 */
export interface Execution {
  state: 'succeeded' | 'failed' | 'interrupted'
  /** from the approval to that event, or as the agent says */
  durationMs?: number
  error?: string
  /** the event that told; absent: the agent did */
  eventId?: EventID
}

/** Extend is the body of POST /events/:id/extend: more time for people. */
export interface Extend {
  /** Seconds are added to the deadline, at most MaxTimeout from now; 0 takes the deadline away. */
  seconds: number
}

/** FilterOptions are the values a filter can offer, from GET /events/filter-options. */
export interface FilterOptions {
  source_apps: string[]
  /** the newest 300 */
  session_ids: string[]
  hook_event_types: string[]
  tool_names: string[]
}

/** Finding is one thing in a tool call that a person should know before saying yes. */
export interface Finding {
  /** names the rule, such as recursive_delete */
  code: string
  risk: Risk
  /** one sentence in plain words */
  text: string
  /**
   * At is a JSON pointer into the arguments of the tool call, and Excerpt the part of the text there that
   * the finding is about, exactly as it stands.
   */
  at?: string
  excerpt?: string
}

/** FormQuestion is one of several questions in one request. */
export interface FormQuestion {
  id: string
  question: string
  header?: string
  /** none: a text is wanted */
  options?: Option[]
  multiple?: boolean
  /** a text of the person's own is welcome too */
  allowOther?: boolean
}

/** Frame is one message of /stream. A version 2 message may also be a JSON array of frames. */
export type Frame =
  | { type: 'initial'; data: Event[]; seq?: number }
  | { type: 'event'; data: Event; seq?: number }
  | { type: 'hello'; data: Hello; seq?: number }
  | { type: 'status'; data: StatusChange; seq?: number }
  | { type: 'resync'; data: Hello; seq?: number }
  | { type: 'presence'; data: Presence; seq?: number }

/** FrameType is the type of a message on /stream. */
export type FrameType = 'initial' | 'event' | 'hello' | 'status' | 'resync' | 'presence'

/** Health is the body of GET /healthz and GET /readyz. */
export interface Health {
  /** ok, starting, degraded, stopping */
  status: string
  detail?: string
  version: string
}

/** Hello opens a version 2 stream. */
export interface Hello {
  /** of the database: another one means another history */
  hubId: string
  /** the last number given out */
  seq: number
  serverTime: Millis
  /** of the hub program */
  version: string
  /**
   * Page names the dashboard that the hub serves, by its content. A page that sees another one than at its
   * first hello is out of date.
   */
  page?: string
}

/** HitlCancel is the body of POST /hitl/requests/:id/cancel. */
export interface HitlCancel {
  reason?: string
}

/** HitlCounts is how many requests there are in each status. */
export interface HitlCounts {
  pending: number
  decided: number
  expired: number
  cancelled: number
}

/** HitlDay is what became by now of the requests that were asked on one day. */
export interface HitlDay {
  /** 2026-11-21 */
  day: string
  pending: number
  decided: number
  expired: number
  cancelled: number
}

/** HitlPage is a page of GET /hitl/requests, the newest first. */
export interface HitlPage {
  requests: HitlRequest[]
  /** absent: nothing is behind it */
  next_cursor?: string
}

/**
 * HitlRequest is a question as the inbox under /hitl shows it. Its id is the event's: GET /events/:id has
 * the rest.
 */
export interface HitlRequest {
  request_id: EventID
  status: HitlStatus
  type: Kind
  prompt: string
  /** what a vote can be; none: a text is wanted */
  choices: string[]
  /** its source_app */
  agent: string
  agent_path?: string[]
  session_id: string
  tool_call?: ToolCall
  risk?: Risk
  created_at: Millis
  /** absent: it waits without a limit */
  expires_at?: Millis
  /** when it ended, however */
  decided_at?: Millis
  /** a vote may name it */
  revision: number
  required_approvals: number
  /** absent: everyone who may answer */
  recipients?: string[]
  /** recipients who have not voted */
  awaiting: string[]
  votes: Vote[]
  /** the caller may vote and has not */
  waiting_on_me: boolean
  reminders?: number
  escalated_at?: Millis
  outcome?: Outcome
  source?: EndedBy
  decided_by?: string
  /** a text answer */
  response?: string
  /** of several questions */
  answers?: Record<string, unknown>
  reason?: string
  comment?: string
  cancellation_reason?: string
  /** of the answer to the agent */
  delivery?: DeliveryState
}

/** HitlStats is GET /hitl/stats. */
export interface HitlStats {
  pendingCount: number
  /** pending ones whose agent is known to wait */
  resolversCount: number
  /** decided ones that are kept */
  responsesCount: number
  /** pending ones that the caller may vote on and has not */
  waitingOnMe: number
  /** all that ever asked, by name */
  agents: string[]
  /** Counts are of the requests that were asked within the days, Days the same of each. */
  counts: HitlCounts
  days: HitlDay[]
}

/** HitlStatus is where a request is, as its inbox sorts it. */
export type HitlStatus = 'pending' | 'decided' | 'expired' | 'cancelled'

/** HitlVote is the body of POST /hitl/requests/:id/vote. */
export interface HitlVote {
  /** Choice is approve or deny for a permission, a label for a choice, and the text itself for a question. */
  choice: string
  /** in the place of Choice, of several questions */
  answers?: Record<string, unknown>
  comment?: string
  reason?: string
  modified_arguments?: Record<string, unknown>
  revision?: number
  /** Proof is as in Response: of the Response that this vote stands for. */
  proof?: Record<string, unknown>
}

/**
 * HumanInTheLoop is a question to a person, carried by an event.
 *
 * Members are camelCase on the wire; snake_case names are accepted too.
 */
export interface HumanInTheLoop {
  question: string
  type: Kind
  /** labels; those of the form __…__ are reserved */
  choices?: string[]
  /**
   * responseWebSocketUrl is where the hub dials the answer to. Without it the agent pulls its answer. It is
   * a secret: only the poster ever sees it again.
   */
  responseWebSocketUrl?: string
  /** Timeout in seconds: absent means DefaultTimeout, 0 means never. */
  timeout?: number
  /** false: for information, nobody is reminded */
  requiresResponse?: boolean
  /** protocolVersion 2 announces a listener that acknowledges answers. */
  protocolVersion?: number
  /**
   * listenerKey lets the listener prove that it is the one that asked, before the hub sends it anything
   * (see ListenerProof). A secret, like the address.
   */
  listenerKey?: string
  /**
   * Lifeline says that the asker can't come back: once its version 2 listener is gone, the hub ends the
   * question (cancelled, orphaned) instead of waiting for it.
   */
  lifeline?: boolean
  /**
   * alsoAsked says that the agent's own prompt is open meanwhile: its user can answer there, and the first
   * answer wins.
   */
  alsoAsked?: boolean
  toolCall?: ToolCall
  questions?: FormQuestion[]
  context?: Context
  risk?: Risk
  /** from the root agent to the one that asks */
  agentPath?: string[]
  requiredApprovals?: number
  recipients?: Recipients
  reminderIntervalSeconds?: number
  reminderMaxCount?: number
  onTimeout?: 'emit_timeout' | 'fail_run'
  reasonRequired?: 'never' | 'deny' | 'always'
  /**
   * escalateAfterSeconds after it was asked, a question that is still pending is put to escalateTo as well.
   * How many have to agree does not change.
   */
  escalateAfterSeconds?: number
  escalateTo?: Recipients
  /** excludeRequester keeps a person whose own token asked from voting: so unless false. */
  excludeRequester?: boolean
  /**
   * Suggestions are "always allow" offers of the agent's own permission system. One of them may come back
   * in the answer as remember.
   */
  suggestions?: unknown[]
}

/** Kind says what sort of answer a question wants. */
export type Kind = 'permission' | 'question' | 'choice'

/** LatencyBucket counts the answers that took less than belowMs and at least the bin before it. */
export interface LatencyBucket {
  belowMs: number
  count: number
}

/**
 * LedgerEntry is one act that decided something: a vote, an end, a rule, a sign-in, a change of people or
 * settings. Entries are numbered without holes and each holds the hash of the one before it, so that none
 * can be changed, taken out or put in between without every later hash being wrong.
 */
export interface LedgerEntry {
  n: number
  /** the hub's clock */
  at: Millis
  /** such as question.voted, question.ended, rule.made, person.signed_in */
  act: string
  /** a person, an agent's token, a rule, or the hub */
  who: string
  /** the question */
  of?: EventID
  data?: Record<string, unknown>
  /** Hash of entry N-1, hex; 64 zeros for the first */
  prev: string
  /** shadows the entry's own */
  hash: string
}

/** Link is the body of POST /hitl/:id/link: the token of a signed link, from the fragment of its address. */
export interface Link {
  token: string
}

/** LinkPreview is what a signed link shows. */
export interface LinkPreview {
  /** whose link it is */
  person: string
  expiresAt: Millis
  event: Event
}

/**
 * LinkVote is the body of POST /hitl/:id/vote: an answer by a signed link, in the name of the person it was
 * sent to. Exactly one of Permission, Response, Choice and Answers.
 */
export interface LinkVote {
  token: string
  permission?: boolean
  response?: string
  choice?: string
  answers?: Record<string, unknown>
  reason?: string
  comment?: string
  /**
   * Revision is that of the status that the person saw: their answer is for whoever asked the same by then,
   * too. Without it, for the one request alone.
   */
  revision?: number
}

/** LockState is the body of POST /api/lock. */
export interface LockState {
  locked: boolean
}

/** Me is who the caller is to the hub: GET /api/me. */
export interface Me {
  /** "local user" for whoever has shown nothing */
  name: string
  role?: string
  /** the hub knows the name by something only they have */
  verified: boolean
  /** who signed in first: the hub is theirs */
  owner?: boolean
  /** the id of this browser's sign-in */
  signIn?: string
  /** how many they registered */
  passkeys?: number
  /** Locked: the hub takes answers of signed-in operators only. */
  locked: boolean
  canAnswer: boolean
  canAdmin: boolean
  /** passkeyFor is the risk from which an answer needs a passkey; absent: none does. */
  passkeyFor?: Risk
  /** passkeyAt is the origin at which passkeys work: they belong to a name. */
  passkeyAt?: string
  /** Ways are how one can sign in here, beside a link: oidc. */
  ways?: string[]
}

/** Millis is a point in time on the wire: Unix time in milliseconds. A fraction sent by a client is cut off. */
export type Millis = number

/**
 * ModelUse is what requests to one model took. Of what is only known from metrics the requests are not
 * counted.
 */
export interface ModelUse {
  /** empty: those that are too many to be named */
  model: string
  requests?: number
  tookMs?: number
  tokens: Tokens
  costUsd?: number
}

/**
 * Notification is one message about a question to one person by one channel, or to a channel that many
 * read.
 */
export interface Notification {
  /** its name in the settings */
  channel: string
  kind: 'asked' | 'reminder' | 'escalated'
  person?: string
  /** State: queued, sent, failed (Error says why; it was retried), or suppressed (Why). */
  state: 'queued' | 'sent' | 'suppressed' | 'failed'
  why?: 'cooldown' | 'quiet_hours' | 'watching' | 'answered' | 'no_address' | 'gone'
  /** without the channel's secrets */
  error?: string
  attempts?: number
  at: Millis
}

/** NotificationCounts says what became of a question's notices when there are more than a status lists. */
export interface NotificationCounts {
  queued?: number
  sent?: number
  suppressed?: number
  failed?: number
}

/** NotificationSettings are a person's own: when they want to hear of questions, and where. */
export interface NotificationSettings {
  /** cooldownMinutes: after one message no further one by the same channel for so long. */
  cooldownMinutes?: number
  /**
   * quietFrom and quietTo, such as 22:00 and 07:30, in timeZone (an IANA name): then only questions of
   * critical risk are told. Both or none.
   */
  quietFrom?: string
  quietTo?: string
  timeZone?: string
  /** Email is where mail goes; an admin sets it (POST /api/people/:name). */
  email?: string
  /** Browsers is how many of this person's get Web Push; it can't be set. */
  browsers?: number
}

/**
 * OTLPResponse answers an OTLP request, as OpenTelemetry has it: what is not kept is accepted all the same.
 * A record is rejected when it names no session.
 */
export interface OTLPResponse {
  partialSuccess: PartialSuccess
}

/** Option is one label a person can pick. */
export interface Option {
  label: string
  description?: string
}

/** Outcome says how a question ended. A choice ends with the chosen label. */
export type Outcome = string

/** Overview is GET /api/overview: how people and agents did over some days. */
export interface Overview {
  from: Millis
  to: Millis
  /** now */
  pending: number
  /** now */
  undelivered: number
  /** by a person, within the days */
  answered: number
  /** of the time to answer, within 5 % */
  medianMs: number
  p95Ms: number
  /** one for each day, in the time zone asked for */
  days: DayCount[]
  /** of the time to answer, shortest first */
  waits: LatencyBucket[]
  /** by name */
  agents: AgentStat[]
  /** the most used first, at most 50 */
  tools: ToolStat[]
}

/** PartialSuccess says how many records were rejected, for good, and why. It is empty where none was. */
export interface PartialSuccess {
  rejectedLogRecords?: number
  rejectedDataPoints?: number
  errorMessage?: string
}

/**
 * Passkey is a credential of a person's own device, which signs for exactly one answer after it has seen
 * that it is them.
 */
export interface Passkey {
  id: string
  /** that the person gave it */
  name: string
  createdAt: Millis
  lastUsedAt?: Millis
}

/**
 * PasskeyDraft is the body of POST /api/passkeys: what the browser made of the options of POST
 * /api/passkeys/new.
 */
export interface PasskeyDraft {
  name: string
  credential: Record<string, unknown>
}

/** PasskeyOptions are for navigator.credentials.create or get, in the JSON of WebAuthn. */
export interface PasskeyOptions {
  publicKey: Record<string, unknown>
}

/** PendingUndo is an answer within its undo window. */
export interface PendingUndo {
  /** the hub's clock */
  until: Millis
  outcome: Outcome
  by?: Responder
  /** Revision is the one that was answered: who asked the same by then is answered with it. */
  revision?: number
}

/** Person is somebody the hub knows by name. */
export interface Person {
  name: string
  role: string
  owner?: boolean
  /** where notices by mail go */
  email?: string
  createdAt: Millis
  lastSeenAt?: Millis
  passkeys?: number
  /** signInUrl signs this person in once, within 15 minutes: shown once, to the admin who asked for it. */
  signInUrl?: string
}

/** PersonDraft is the body of POST /api/people and POST /api/people/:name: what is left out stays as it is. */
export interface PersonDraft {
  /** of a new person; nobody is renamed */
  name?: string
  /** operator for a new person unless told */
  role?: string
  email?: string
}

/** Presence is how many pages follow the hub, the receiver among them, and which requests they show. */
export interface Presence {
  screens: number
  looking: ViewedRequest[]
}

/** Problem is the body of every error response: RFC 9457, media type application/problem+json. */
export interface Problem {
  /** always about:blank: Code tells the problems apart */
  type: string
  title: string
  status: number
  detail?: string
  code: string
  /** the member at fault */
  field?: string
  /** Detail again, for version 1 clients */
  error: string
  /** what to do */
  hint?: string
  /**
   * humanInTheLoopStatus is the question's status now, with decided, expired, stale, held, not_held,
   * too_risky, undecided and no_retry.
   */
  humanInTheLoopStatus?: Status
}

/** Process names a program on the hub's machine. */
export interface Process {
  pid: number
  exe?: string
  /** the nearest first, as "exe (pid)" */
  ancestors?: string[]
}

/** PushKey is the hub's public key for Web Push, which a browser subscribes with. */
export interface PushKey {
  /** P-256, uncompressed, base64url */
  key: string
}

/** PushKeys are a browser's keys for Web Push. */
export interface PushKeys {
  p256dh?: string
  auth?: string
}

/**
 * PushMessage is what a browser's service worker is sent: no more than it takes to show that something
 * waits and to open it.
 */
export interface PushMessage {
  id: EventID
  title: string
  /** the same for every message about one question */
  tag: string
  /** Settled: the question is over, and what was shown of it goes away. */
  settled?: boolean
}

/**
 * PushSubscription is a browser's, as PushSubscription.toJSON() writes it. To take one back its endpoint is
 * enough.
 */
export interface PushSubscription {
  endpoint: string
  expirationTime?: number
  keys: PushKeys
}

/** QuestionContext is what led to a question, from GET /events/:id/context. */
export interface QuestionContext {
  /** the session's last events before it, oldest first, at most 8 */
  before: Event[]
  earlier: EarlierOutcomes
}

/** RPC is a message of JSON-RPC 2.0: a request has a Method, a response Result or Error. */
export interface RPC {
  jsonrpc: '2.0'
  id?: unknown
  method?: string
  params?: Record<string, unknown>
  result?: unknown
  error?: RPCError
}

/** RPCError says why a request of JSON-RPC failed. */
export interface RPCError {
  code: number
  message: string
  data?: unknown
}

/** Recipients says who may answer. */
export interface Recipients {
  mode?: 'anyone' | 'owner' | 'owner_admins' | 'selected_members'
  members?: string[]
}

/** RejectCall is the body of POST /api/approvals/:id/reject. */
export interface RejectCall {
  reason?: string
}

/** Responder is who answered, as far as the hub can tell. */
export interface Responder {
  name: string
  /** false: anyone on the hub's machine could have sent it */
  verified: boolean
  /** Process is the program on the other end of the connection, where the operating system tells (Linux). */
  process?: Process
  /**
   * Via is how the hub knows the name: session (a signed-in page), token, proxy, link (a signed link that
   * only this person was sent) or rule; empty: it does not.
   */
  via?: 'session' | 'token' | 'proxy' | 'link' | 'rule'
  /** Passkey is set when the person touched a passkey for exactly this answer. */
  passkey?: boolean
  /** possibleSelfApproval is set when the answering process descends from the asking one. */
  possibleSelfApproval?: boolean
}

/**
 * Response is the body of POST /events/:id/respond: exactly one of Permission, Response, Choice and
 * Answers, as the question wants it.
 */
export interface Response {
  permission?: boolean
  response?: string
  choice?: string
  /** question id → label, [labels] or text */
  answers?: Record<string, unknown>
  reason?: string
  comment?: string
  /** modifiedArguments replaces the arguments of an editable tool call, whole. */
  modifiedArguments?: Record<string, unknown>
  /** one of the question's suggestions */
  remember?: unknown
  /**
   * Revision, when given, is the revision of the status the person was looking at. One that the hub never
   * gave out is refused: it is another history's.
   */
  revision?: number
  /**
   * Proof is the assertion of a passkey for exactly this answer, where the hub wants one (see POST
   * /api/passkeys/challenge).
   */
  proof?: Record<string, unknown>
  /**
   * holdMs keeps the answer back this long, at most MaxHold, so that POST /events/:id/undo can take it
   * back.
   */
  holdMs?: number
}

/** Risk is the agent's own estimate of what can go wrong. */
export type Risk = 'low' | 'medium' | 'high' | 'critical'

/**
 * Rule answers questions in the place of a person who said so once, in so many words. Every answer it gives
 * is an event like any other, with its name on it.
 */
export interface Rule {
  id: number
  then: 'allow' | 'deny'
  /** the whole rule in plain words, made by the hub */
  text: string
  /**
   * What it covers: with Call, exactly this call of this tool (its arguments too); else the Tool whose
   * arguments meet every condition of When.
   */
  tool: string
  /** hash of tool and arguments, and of the directory unless any will do */
  call?: string
  when?: Condition[]
  /** Where: the narrower ones are absent when the rule reaches further. */
  source_app?: string
  session_id?: string
  /** the project: this directory and all below */
  cwd?: string
  /** given to the agent with its answer */
  reason?: string
  /** the question it was made at */
  from?: EventID
  createdAt: Millis
  createdBy: string
  /** absent: until it is revoked */
  expiresAt?: Millis
  revokedAt?: Millis
  revokedBy?: string
  uses: number
  lastUseAt?: Millis
}

/**
 * RuleDraft is the body of POST /api/rules, and of /api/rules/preview: a rule as a person makes it at a
 * question that is stored. What it covers is taken from there. Answering that question is something else,
 * unless applyNow.
 */
export interface RuleDraft {
  from: EventID
  then: 'allow' | 'deny'
  scope: 'call' | 'arguments' | 'when' | 'tool'
  /** with the scope when: 1 to MaxConditions */
  when?: Condition[]
  reach: 'session' | 'project' | 'agent' | 'everywhere'
  /**
   * TTLSeconds is how long it holds: absent, DefaultRuleTTL; 0, until it is revoked. One that reaches no
   * further than a session ends with the session at the latest.
   */
  ttlSeconds?: number
  /** given to the agent */
  reason?: string
  /**
   * applyNow has it answer what is pending and covered by it, too: otherwise it answers only what is asked
   * from now on.
   */
  applyNow?: boolean
}

/**
 * RulePreview says what a rule would do before it is made: the words it would be shown with, and how it
 * would have answered what people decided.
 */
export interface RulePreview {
  rule: Rule
  /** why it can't be made */
  refused?: string
  /** questions it was held against, the newest first */
  looked: number
  /** it would have answered */
  matched: number
  /** as the person did */
  agreed: number
  /** the other way round: look at Examples */
  opposed: number
  /** nobody had answered */
  undecided: number
  /** of those it would have answered, opposed ones first, at most 5 */
  examples: Event[]
}

/** RuleRef names the rule that answered. */
export interface RuleRef {
  id: number
  text: string
}

/**
 * SearchResult is one page of GET /events/search: the matching events, oldest first. A search looks at a
 * bounded stretch of the log at a time. When Complete is false, ask again with before=searchedTo
 * (after=searchedTo when searching upwards), even when Events is empty.
 */
export interface SearchResult {
  events: Event[]
  searchedTo: EventID
  /** nothing more matches in that direction */
  complete: boolean
}

/** SeenRevision is a request as a person saw it. */
export interface SeenRevision {
  id: EventID
  revision: number
}

/** Session sums up the events with the same source_app and session_id. Times are the hub's clock. */
export interface Session {
  source_app: string
  session_id: string
  parent_session_id?: string
  /** the first prompt, shortened */
  title?: string
  cwd?: string
  branch?: string
  /** the latest */
  model?: string
  startedAt: Millis
  lastAt: Millis
  /** a SessionEnd, and nothing after it */
  ended: boolean
  firstId: EventID
  lastId: EventID
  events: number
  /** calls that came to an end */
  tools: number
  /** of tools and of the agent itself */
  failures: number
  /** subagents */
  agents: number
  asked: number
  pending: number
  /** time that settled questions waited for a person */
  waitedMs: number
  /**
   * humanWaitMs is the time between startedAt and lastAt in which any question waited for a person, each
   * moment once: what is left is how long the agent ran.
   */
  humanWaitMs?: number
  /** where events or transcripts carry them */
  tokens?: Tokens
  /** as the agent reported it, never estimated */
  costUsd?: number
  /** contextPercent is how much of its context window is in use, by its status line. */
  contextPercent?: number
  /** the newest event with a chat */
  transcript?: EventID
}

/** SessionDetail is GET /api/session: a session and the tools, models and agents in it. */
export interface SessionDetail {
  session: Session
  /** the most used first */
  tools: ToolStat[]
  /** the dearest first; where the agent's telemetry tells */
  models: ModelUse[]
  /** the main one first, then as they began; at most 501 */
  agents: AgentNode[]
}

/**
 * SessionPage is a page of GET /api/sessions, the latest active first. With q it can be short, or even
 * empty, and still have a page behind it.
 */
export interface SessionPage {
  sessions: Session[]
  /** cursor of the page behind this one */
  next?: string
}

/** SignIn is a browser that somebody signed in with. */
export interface SignIn {
  id: string
  person: string
  userAgent?: string
  way: 'link' | 'oidc' | 'token'
  createdAt: Millis
  lastSeenAt: Millis
  expiresAt: Millis
  /** the caller's own */
  current?: boolean
}

/**
 * SignInRequest is the body of POST /api/sign-in: the code of a sign-in link, whose fragment is
 * #sign-in=CODE.
 */
export interface SignInRequest {
  code: string
  /**
   * Name is what the first one to sign in calls themselves: the hub becomes theirs. Without one they get
   * 400 for the member name, and the code still counts.
   */
  name?: string
}

/**
 * SignInResult is a new sign-in. Its cookie came with the response; Key goes with every request in the
 * header Hookback-Key. The page keeps it where only its own origin reads it: cookies don't tell the ports
 * of a host apart.
 */
export interface SignInResult {
  key: string
  me: Me
}

/** State is the version 1 state of a question. */
export type State = 'pending' | 'responded' | 'timeout' | 'error'

/**
 * Status is what the hub knows of a question: its state, its answer, and whether the answer reached the
 * agent.
 */
export interface Status {
  status: State
  respondedAt?: Millis
  /** without hookEvent: the event around it is the one */
  response?: Answer
  outcome?: Outcome
  source?: EndedBy
  reason?: string
  respondedBy?: Responder
  /** the deadline, the hub's clock; absent: none */
  expiresAt?: Millis
  /** grows with every change of this status */
  revision?: number
  requiredApprovals?: number
  votes?: Vote[]
  awaiting?: string[]
  waiter?: Waiter
  delivery?: Delivery
  execution?: Execution
  /**
   * Recipients are the people who may answer, as they were when it was asked; who was made one later
   * (escalation) is added. Absent: everyone who may answer at all. Awaiting are those of them who have not
   * voted.
   */
  recipients?: string[]
  /** Edited is the call that the votes are about, once a voter changed it. */
  edited?: EditedCall
  /**
   * Reminders counts the reminders that were due; escalated_at is when Escalation.To was asked too, the
   * hub's clock.
   */
  reminders?: number
  escalatedAt?: Millis
  /** Extended is the last time that a person gave the question more time. */
  extended?: DeadlineExtension
  /** Rule answered the question. */
  rule?: RuleRef
  /**
   * Waiters is how many pending questions of the same session ask exactly this, this one included, when
   * there are several; sameAs is the first of them, in the others.
   */
  waiters?: number
  sameAs?: EventID
  /**
   * Notifications say who was told of the question, by which channel, and whether it went out. The newest
   * MaxNotifications of them; when there are more, NotificationCounts counts all.
   */
  notices?: Notification[]
  noticeCounts?: NotificationCounts
  /** Risk is the hub's estimate: the higher one of the agent's own and of what Findings say. */
  risk?: Risk
  /** Findings are what the hub's rules see in the tool call, the worst first. */
  findings?: Finding[]
  /**
   * Held is an answer that is given but can still be undone: the question is pending until Held.Until, and
   * the agent hears nothing before.
   */
  held?: PendingUndo
}

/** StatusChange tells a version 2 stream how a question's status is now. */
export interface StatusChange {
  id: EventID
  humanInTheLoopStatus: Status
}

/** Token is a credential for programs. The hub keeps only its hash. */
export interface Token {
  id: string
  name: string
  /** how it begins, to tell it apart */
  prefix: string
  /**
   * Person whose token it is: it may what they may. Without one it is an agent's, which can post events,
   * read, and take back its own questions, never answer.
   */
  person?: string
  /**
   * Apps are the source_app names that an agent's token may post as, * for any characters; none: every
   * name.
   */
  apps?: string[]
  createdAt: Millis
  lastUsedAt?: Millis
  expiresAt?: Millis
  /** Secret is the token itself, shown once: hubop_… a person's, hubin_… an agent's. */
  secret?: string
}

/** TokenDraft is the body of POST /api/tokens. */
export interface TokenDraft {
  name: string
  /** whose it is; empty: an agent's */
  person?: string
  apps?: string[]
  expiresAt?: Millis
}

/** Tokens counts what a model read and wrote. */
export interface Tokens {
  input: number
  output: number
  cacheRead?: number
  cacheWrite?: number
}

/** ToolCall is what will run when a person says yes. */
export interface ToolCall {
  name: string
  arguments?: unknown
  id?: string
  /** may be approved with changed arguments */
  editable?: boolean
}

/**
 * ToolStat is how often a tool was used and how long it took. Durations are between PreToolUse and
 * PostToolUse without the time a person was waited for; percentiles are within 5 %.
 */
export interface ToolStat {
  tool: string
  calls: number
  failures: number
  totalMs: number
  medianMs: number
  p95Ms: number
}

/** ViewedRequest is a request that pages show right now. */
export interface ViewedRequest {
  id: EventID
  screens: number
}

/**
 * ViewingMessage is the one message that a version 2 page sends on its stream: which request it shows. The
 * hub forgets it when the socket closes.
 */
export interface ViewingMessage {
  type: 'looking'
  /** 0: none */
  id?: EventID
  /**
   * Focused: the page can be seen and has the keyboard. Whose sign-in it is need not be told otherwise of
   * what is asked. It holds for ViewingTimeout, and is said anew.
   */
  focused?: boolean
}

/** Vote is one person's vote on a question that needs several. */
export interface Vote {
  user: string
  choice: string
  comment?: string
  at: Millis
  /** as in Responder */
  passkey?: boolean
}

/** Waiter says whether the agent still waits. */
export type Waiter = 'listening' | 'lost' | 'unknown'
