// Generated from schema/*.go by go run ./schema/gen. Do not edit.

export type Json = null | boolean | number | string | Json[] | JsonObject
export interface JsonObject {
  [key: string]: Json
}

/** AccountChange is a change of an account that everyone should notice. */
export interface AccountChange {
  change: 'reset' | 'promoted'
  person: string
  /** the admin who made it */
  by: string
  at: Millis
}

/** Ack is the acknowledgment that a version 2 listener sends once its caller has the answer. */
export interface Ack {
  type: 'ack'
  answerId: string
  /**
   * Result is absent or accepted if the answer was taken, duplicate if it was already known, too_late if
   * nothing waits for it any more, mismatch if it belongs to a different question or does not fit its own,
   * and untrusted if no hub that the agent trusts has signed it.
   */
  result?: 'accepted' | 'duplicate' | 'too_late' | 'mismatch' | 'untrusted'
}

/** AgentApproval is the body of POST /api/agent/approve: approved, or the same as decision_type. */
export interface AgentApproval {
  approvalId: ApprovalID
  approved?: boolean
  /** confirm is approve */
  decision_type?: 'approve' | 'confirm' | 'deny'
  /** reason of a denial; default "User denied approval" */
  reason?: string
}

/** AgentNode is one agent of a session: the main agent, or a subagent below the agent that started it. */
export interface AgentNode {
  /** empty for the main agent */
  agent_id: string
  agent_type?: string
  /** agent_id of the agent that started it; empty for the main agent */
  parent: string
  model?: string
  firstId: EventID
  lastId: EventID
  startedAt: Millis
  lastAt: Millis
  ended: boolean
  events: number
  /** completed tool calls */
  tools: number
  failures: number
  asked: number
  pending: number
  /**
   * waitedMs is the time in which at least one of its questions waited for a person, up to the last answer.
   * The pending ones wait since waitingSince.
   */
  waitedMs: number
  waitingSince?: Millis
  /** requests to models */
  requests?: number
  /** its own, excluding subagents */
  tokens?: Tokens
  costUsd?: number
}

/** AgentStat is the activity of one application over the days of an Overview. */
export interface AgentStat {
  source_app: string
  events: number
  /** active within the days */
  sessions: number
  tools: number
  failures: number
  asked: number
  /** at present */
  pending: number
  /** sum over its sessions of the time in which at least one question waited */
  waitedMs: number
  lastAt: Millis
  /** its latest session has ended */
  ended: boolean
  tokens?: Tokens
  costUsd?: number
}

/**
 * Alert is one finding of an alert rule. It is open until the condition ends; a rule has at most one open
 * alert per session, application or person.
 */
export interface Alert {
  id: number
  /** id of the rule */
  rule: number
  kind: string
  source_app?: string
  session_id?: string
  person?: string
  /** a sentence of the hub, such as "12 of the last 20 calls failed." */
  evidence: string
  opened_at: Millis
  closed_at?: Millis
}

/**
 * AlertList is the response of GET /api/alerts: the open alerts and the newest closed ones, the newest
 * first.
 */
export interface AlertList {
  open: Alert[]
  closed: Alert[]
}

/**
 * AlertRule is a condition that the hub watches. It informs people and stops nothing. Members that its kind
 * does not have are 0 or empty.
 */
export interface AlertRule {
  /** 0 in a request */
  id: number
  kind: 'stuck' | 'errors' | 'loop' | 'spend'
  /** source_app limits the rule to one application. */
  source_app?: string
  /** Minutes without an event (stuck, default 15), or the window (spend, default 1440). */
  minutes?: number
  /** Percent of the last Calls that failed (errors), default 50 of 20. */
  percent?: number
  /** Calls is the number of last calls (errors), or of equal calls in a row (loop, default 8). */
  calls?: number
  /** Failures is the number of equal failures in a row (loop), default 5. */
  failures?: number
  /** USD is the cost within the window (spend) of everything, of each application, or of each person. */
  usd?: number
  /** default all */
  per?: string
}

/** AlertRuleList is the response of the routes of alert rules: all rules, by id. */
export interface AlertRuleList {
  rules: AlertRule[]
}

/**
 * Answer is the result that the agent receives: a text frame on its listener, or the body of GET
 * /events/:id/response.
 */
export interface Answer {
  /** always set for a permission */
  permission?: boolean
  response?: string
  choice?: string
  answers?: JsonObject
  reason?: string
  comment?: string
  modifiedArguments?: JsonObject
  remember?: Json
  /** the agent must end its turn */
  interrupt?: boolean
  askBack?: string
  respondedAt: Millis
  respondedBy?: Responder
  outcome?: Outcome
  source?: EndedBy
  /** an instruction for the model */
  guidance?: string
  /**
   * Votes are the votes that counted, Awaiting the recipients who had not voted, and requiredApprovals the
   * quorum. They are set only for a question with several recipients.
   */
  votes?: Vote[]
  awaiting?: string[]
  requiredApprovals?: number
  /** the rule that answered */
  rule?: RuleRef
  /**
   * hookEvent is the hub's stored event. If hookEventTruncated is set, its payload exceeded the frame limit
   * and contains only agent_name and permission_type.
   */
  hookEvent?: Event
  hookEventTruncated?: boolean
  /**
   * answerId deduplicates deliveries: a version 2 listener acknowledges it and drops an answer that it
   * already has.
   */
  answerId?: string
  attempt?: number
  /**
   * Seal is the signed form of this answer, an envelope of type application/vnd.in-toto+json. It is present
   * for a version 2 question with a nonce. An agent that trusts a hub key takes every value from it and
   * none from the other members.
   */
  seal?: Envelope
}

/** Appeal is the refusal of a call by the agent's own reviewer. Both texts are the agent's. */
export interface Appeal {
  /** such as Claude Code auto mode */
  by: string
  reason?: string
  /**
   * Later is set if the policy leaves the call to a person and the agent continues without it. By is then
   * the policy. An approval lets the call run once in the next hour, and a message tells the agent.
   */
  later?: boolean
}

/** AppliedDefaults lists the members that the hub's settings added to a question. */
export interface AppliedDefaults {
  /** of timeout, recipients and requiredApprovals */
  members: string[]
  /** Reduced is set if a setting could not hold, because too few of its people may answer. */
  reduced?: boolean
}

/** Approval is a pending permission in GET /api/approvals. */
export interface Approval {
  /** the event's id, as text */
  id: string
  toolName: string
  arguments: JsonObject
  /** RFC 3339, by the hub's clock */
  requestedAt: string
  sessionId: string
  userPrompt: string
  /** the question, for the approver */
  message: string
}

/** ApprovalID is the id of an approval as text. A number is accepted too, because POST /events returns one. */
export type ApprovalID = string

/** Approvals is the body of POST /events/approve: the permissions that a person reviewed in one list. */
export interface Approvals {
  /** 1 to MaxApprovals (100) */
  requests: SeenRevision[]
  /** undo window as in Response; default 5000 */
  holdMs?: number
  reason?: string
}

/** ApproveCall is the body of POST /api/approvals/:id/approve. */
export interface ApproveCall {
  modifiedArguments?: JsonObject
  /** Proof is as in Response, for a Response with permission true and these arguments. */
  proof?: JsonObject
}

/** AutomaticAnswer is an answer that a rule of the hub gave. */
export interface AutomaticAnswer {
  event: EventID
  source_app: string
  session_id: string
  tool: string
  /** what the call does */
  title: string
  risk?: Risk
  rule: RuleRef
  /** who created the rule */
  author?: string
  /** the rule still answers, so it can be revoked */
  active?: boolean
  then: 'allow' | 'deny'
  at: Millis
}

/** AutomaticPage is a page of GET /api/automatic: the answers that rules of the hub gave, newest first. */
export interface AutomaticPage {
  answers: AutomaticAnswer[]
  /** before of the next page; absent: the last one */
  next?: EventID
}

/** BatchResult is the result for one event of POST /events/batch: the stored event, or the problem. */
export interface BatchResult {
  event?: Event
  problem?: Problem
}

/** CallCommand is a command at the place of its program, or of all of it if it has none. */
export interface CallCommand {
  at?: string
  from?: number
  to?: number
  /** without quotes; absent: it only assigns or redirects */
  program?: string
  /** where it runs, if that is known and not the directory of the call */
  dir?: string
}

/** CallFile is a path that a call touches, absolute if the directory is known. */
export interface CallFile {
  at?: string
  from?: number
  to?: number
  path: string
  /** Op is the operation. list includes searches, move names the old path, and use is an unknown operation. */
  op: 'read' | 'write' | 'delete' | 'move' | 'list' | 'use'
}

/** CallHost is a host that a call contacts. */
export interface CallHost {
  at?: string
  from?: number
  to?: number
  name: string
  /** of HTTP; absent: unknown */
  method?: string
}

/** CallLine is a command line. */
export interface CallLine {
  at?: string
  from?: number
  to?: number
  shell: 'sh' | 'powershell' | 'cmd'
  /** Text is the line if it is not the text at its place, such as the line of a list of words. */
  text?: string
}

/**
 * CallReport is the body of POST /events/:id/execution. An agent without hooks reports the start and the
 * outcome of an approved call with it.
 */
export interface CallReport {
  state: 'executing' | 'succeeded' | 'failed' | 'interrupted'
  /** duration of the call */
  durationMs?: number
  error?: string
  /** secret of the question */
  requestSecret: string
}

/**
 * CallResult is an agent's report of a call that a question was about. The texts are the agent's; they have
 * no characters that are not printable.
 */
export interface CallResult {
  /** the last lines of the output, at most MaxResultLines (20) */
  lines: string[]
  /** lines before them */
  moreLines?: number
  /** absent: not reported */
  exitStatus?: number
  /** changed by the call, at most MaxResultFiles (20) */
  files?: string[]
  moreFiles?: number
  /** Differs are sentences: effects of the call that its consequence (ToolCall) did not announce. */
  differs?: string[]
}

/** CallUnread is a part of a call that could not be read. */
export interface CallUnread {
  at?: string
  from?: number
  to?: number
  /** the end of the sentence "The call can't be read completely: …" */
  reason: string
}

/**
 * CallView is the hub's reading of a tool call: its programs and its files. It quotes the agent.
 *
 * Each entry has a place: at is a JSON pointer into the arguments; absent: the whole call, or a long
 * pointer. From and To are offsets in the decoded text there, in UTF-16 code units, as JavaScript counts
 * them; without To the place is the whole value.
 */
export interface CallView {
  /** command lines */
  lines?: CallLine[]
  /** all commands that can run, in order; absent: none, or too many */
  commands?: CallCommand[]
  files?: CallFile[]
  hosts?: CallHost[]
  /** what could not be read; empty: all of it was */
  unread?: CallUnread[]
  /**
   * Omitted is the number of entries that are left out, because a list would have more than 32 or more than
   * 4 KiB of text.
   */
  omitted?: number
  /**
   * Source is the arguments as the agent wrote them, if an object in them has a name twice: a JSON parser
   * of a page keeps one of the two. Absent above 16 KiB; then Unread has a reason.
   */
  source?: string
}

/**
 * Cancel is the body of POST /events/:id/cancel. With the request secret of the question, the agent
 * withdraws it and nothing is sent. Without it, a person cancels it.
 */
export interface Cancel {
  reason?: string
  requestSecret?: string
  /**
   * Revision is the status revision that the person saw. With it, the duplicates in the group at that
   * revision whose agents are not lost are canceled, too; without it, only this question.
   */
  revision?: number
}

/**
 * ChallengeRequest is the body of POST /api/passkeys/challenge: the exact answer to be given, without its
 * proof. A different answer requires a new challenge.
 */
export interface ChallengeRequest {
  id: EventID
  response: Response
}

/** ChangedFile is a file that tool calls changed. */
export interface ChangedFile {
  /** as the agent wrote it */
  path: string
  /** the last one */
  change: 'edited' | 'written' | 'deleted'
  /** lines, summed over all calls; a written file adds all of its lines */
  added: number
  /** lines */
  removed: number
  calls: number
  /** of the last calls with their arguments, newest first; at most MaxFileEdits (20) */
  events: EventID[]
  lastAt: Millis
}

/**
 * Channel is a configured destination for notifications. Its address is a secret that is never returned
 * after the channel was created.
 */
export interface Channel {
  id: number
  name: string
  /** Kind is slack, discord, telegram, ntfy, gotify, pushover, mattermost, smtp or webhook. */
  kind: string
  /** Address is the scheme of the address and, unless it is secret, the host. */
  address: string
  /**
   * Person is the owner of the channel; absent for a shared channel. A shared smtp channel sends to each
   * person's own address.
   */
  person?: string
  /** as in ChannelDraft; absent: full */
  detail?: 'brief'
  /** absent: every request */
  filter?: ChannelFilter
  createdAt: Millis
  createdBy: string
  /** Secret verifies the signatures of a webhook (Standard Webhooks, whsec_…). It is shown once. */
  secret?: string
  /** Paused is set while the circuit breaker of the channel is open: the hub sends nothing before this time. */
  paused?: Millis
  /** Bot is the user name of the bot that takes answers, once it is known. */
  bot?: string
  /**
   * noAnswers is why the bot takes no answers, as a sentence; absent: it takes them, or its kind never
   * does.
   */
  noAnswers?: string
}

/** ChannelDraft is the body of POST /api/channels. */
export interface ChannelDraft {
  name: string
  /**
   * URL is the address in shoutrrr notation (slack://, discord://, telegram://, ntfy://, gotify://,
   * pushover://, mattermost://); smtp://USER:PASSWORD@HOST:PORT/?from=ADDRESS or smtps:// for mail;
   * https:// or http:// for a webhook.
   */
  url: string
  /** as in Channel */
  person?: string
  /** default full; brief: no question, call and buttons */
  detail?: 'full' | 'brief'
}

/**
 * ChannelFilter selects the requests that a channel sends: those that match every member that is set. It
 * has no effect on other messages. A request that no channel selects waits for a person who looks at the
 * inbox.
 */
export interface ChannelFilter {
  /** globs of folders, such as shop, with everything below them */
  projects?: string[]
  /** globs of files of the call, as in a control.RequestDefault */
  paths?: string[]
  /** globs of names of agents */
  agents?: string[]
  /** Risk is the lowest risk, as the hub or the agent states it. */
  risk?: Risk
  /**
   * Owners are names in CODEOWNERS files or of accounts. A request that went to everyone, because its
   * owners could not decide or did not answer, matches.
   */
  owners?: string[]
}

/** ChannelTestResult is the result of a test message. */
export interface ChannelTestResult {
  state: 'sent' | 'failed'
  error?: string
}

/** ChatAccount is an account of a chat service with which a person answers. */
export interface ChatAccount {
  kind: 'telegram' | 'slack'
  /** the service's number of the account */
  account: string
  /** the name that the account shows */
  label: string
  linkedAt: Millis
}

/** ChatAccounts is the body of GET /api/chat-accounts. */
export interface ChatAccounts {
  accounts: ChatAccount[]
  /** that take answers */
  bots: ChatBot[]
}

/** ChatBot is a bot that takes answers. */
export interface ChatBot {
  kind: 'telegram' | 'slack'
  /** its user name */
  name: string
}

/** ChatCode is the body of POST /api/chat-accounts/codes: a code that links a chat account once. */
export interface ChatCode {
  /** sent to a bot: "/start CODE" in Telegram, CODE in Slack */
  code: string
  expiresAt: Millis
  /** that take answers */
  bots: ChatBot[]
}

/** Class is the hub's classification of a tool call. */
export type Class = 'harmless' | 'risky' | 'unknown'

/** Collision is a change of a file by another agent. */
export interface Collision {
  source_app: string
  session_id: string
  eventId: EventID
  path: string
  at: Millis
}

/**
 * Condition is a test of one argument of a tool call. A command (the argument of a shell tool) can only
 * match if it is a single simple command.
 */
export interface Condition {
  /** name of the argument; dotted for a nested one */
  argument: string
  is: 'equals' | 'starts_with' | 'contains' | 'glob' | 'at_most' | 'at_least' | 'under'
  /** a string, number or boolean */
  value: Json
}

/**
 * Confirmation is the body of a change of credentials. Proof is required if the caller has a passkey and
 * the hub uses passkeys.
 */
export interface Confirmation {
  proof?: JsonObject
}

/**
 * Consequence is the effect that a tool call will have, computed before a person is asked. The requester
 * computes it from the call and the files on its machine, and changes nothing. A number that was not
 * computed is absent, which is not 0.
 */
export interface Consequence {
  /** Sentences are for people, the most important first, at most MaxSentences (12). */
  sentences: string[]
  /** files that the call deletes, overwrites or changes */
  files?: number
  /** their size */
  bytes?: number
  /**
   * Unrecoverable counts the files whose content the call deletes or overwrites, and that git neither has
   * nor ignores: new files, and files with changes that are not committed.
   */
  unrecoverable?: number
  /** lines that change or, with uncommitted changes, are lost */
  lines?: number
  /** commits that a branch loses */
  commits?: number
  /** a changed path is outside the project, or leads there through a link */
  outside?: boolean
  /**
   * Partial is set if a limit ended the computation, a part of the call or of the files can't be read, or a
   * program in it may change more. The numbers are lower bounds then.
   */
  partial?: boolean
  /**
   * Changes are the files and directories that the call names and deletes, overwrites or changes, absolute
   * with slashes, at most MaxChanged (20). A directory stands for everything below it.
   */
  changes?: string[]
}

/** Context is background information that helps a person to decide a question. */
export interface Context {
  why?: string
  cwd?: string
  /** cwd in the main working tree, if it is in a linked git worktree */
  project?: string
  branch?: string
  /** Git commit that the call works on, 40 or 64 hex digits; people see it whole */
  commit?: string
  diff?: string
  userPrompt?: string
  /** of the agent's model, before the question */
  lastMessage?: string
  links?: string[]
  /**
   * Owners are the owners of the files that the call changes. They are a claim of the requester's machine:
   * they can only lessen who may answer (see Recipients.Owners).
   */
  owners?: FileOwners
}

/**
 * Control is a message to a version 2 listener that is not an answer. The hub sends it on a separate
 * connection, after the same proof. It is not acknowledged. A listener ignores unknown kinds.
 */
export interface Control {
  type: 'control'
  kind: 'deadline'
  /** the new deadline by the hub's clock; absent if there is none */
  expiresAt?: Millis
  /** inSeconds is the time until the new deadline. It does not depend on the listener's clock. */
  inSeconds?: number
}

/**
 * Coverage states whether an agent of an account on a machine runs the gate. Machines report it, so nothing
 * in it is verified.
 */
export interface Coverage {
  host: string
  account: string
  agent: string
  state: 'proven' | 'not proven' | 'changed' | 'observe only' | 'not loaded' | 'off'
  /** the reason for a state that the hub derived */
  detail?: string
  /** the command that mends it, or the step that proves the gate */
  remedy?: string
  /** Reported is the reason for the state in the machine's words, which are not verified. */
  reported?: string
  /** of the agent */
  version?: string
  /** version of the hook that sent the newest event */
  client?: string
  /** of the machine's newest report */
  reportedAt?: Millis
  /** of the newest event */
  provenAt?: Millis
}

/**
 * CoverageList is the result of GET and POST /api/coverage. A POST returns the agents of its machine and
 * account only.
 */
export interface CoverageList {
  agents: Coverage[]
}

/**
 * CredentialAction is a change of credentials that the caller confirms with a passkey. It is the body of
 * POST /api/passkeys/confirm; the assertion is the proof of the request that makes the change.
 */
export interface CredentialAction {
  do: 'link' | 'reset' | 'promote' | 'pair' | 'add_passkey' | 'remove_passkey' | 'chat'
  /** the name of the person, or the id of the passkey to remove */
  target: string
}

/** DayCount counts the outcomes of the questions that were resolved on one day. */
export interface DayCount {
  /** 2026-11-21 */
  day: string
  approved: number
  denied: number
  /** texts and choices */
  answered: number
  timeout: number
  /** by a person, withdrawn, or settled at the agent */
  cancelled: number
  /** in the agent */
  dismissed: number
  /** the agent or its session had ended */
  gone: number
  other: number
}

/**
 * DeadlineExtension is a change of a question's deadline by a person. Agent shows whether the waiting agent
 * received it. An agent that has not received it stops waiting at the old deadline.
 */
export interface DeadlineExtension {
  by: string
  at: Millis
  /**
   * Agent is the delivery of the new deadline: queued while the hub connects, delivered, unreachable (see
   * Error; the hub retried), or none if the agent polls.
   */
  agent: DeliveryState
  error?: string
}

/** Delivery is the delivery of an answer to the agent. */
export interface Delivery {
  state: DeliveryState
  attempts: number
  /** how a version 1 listener confirmed it */
  confirmed?: 'close' | 'write'
  lastError?: string
  /**
   * deliveredAt and nextAttemptAt are by the hub's clock. An unreachable or refused delivery is retried as
   * long as nextAttemptAt is set.
   */
  deliveredAt?: Millis
  nextAttemptAt?: Millis
  /** handledAt is the time at which a person marked an undelivered answer as handled. */
  handledAt?: Millis
}

/** DeliveryState is the progress of an answer on its way to the agent. */
export type DeliveryState =
  | 'none'
  | 'queued'
  | 'sending'
  | 'delivered'
  | 'acked'
  | 'pulled'
  | 'fetched'
  | 'unconfirmed'
  | 'refused'
  | 'unreachable'
  | 'too_late'
  | 'blocked'

/**
 * EarlierOutcomes counts the outcomes of earlier questions about the same call: same application, tool and
 * arguments. Last is the newest of them.
 */
export interface EarlierOutcomes {
  approved: number
  denied: number
  /** timed out or cancelled */
  other: number
  last?: Event
}

/**
 * EditedCall is a tool call that a voter edited. An edit drops the earlier votes, because they were about a
 * different call. The ledger keeps them.
 */
export interface EditedCall {
  /** the complete arguments */
  arguments: JsonObject
  by: string
  at: Millis
  /**
   * Revision is the first status revision with these arguments. A vote for them names this revision or a
   * later one.
   */
  revision: number
}

/** EndedBy is the cause of a question's resolution. */
export type EndedBy =
  | 'human'
  | 'rule'
  | 'timeout'
  | 'cancel'
  | 'agent'
  | 'dismissed'
  | 'session_end'
  | 'orphaned'
  | 'quorum'
  | 'superseded'
  | 'freeze'

/**
 * Envelope is a DSSE envelope: a payload with signatures over exactly its bytes. The signatures are Ed25519
 * over "DSSEv1 LEN(payloadType) payloadType LEN(payload) payload", with decimal lengths in bytes. See
 * https://github.com/secure-systems-lab/dsse.
 */
export interface Envelope {
  payloadType: string
  /** base64 */
  payload: string
  signatures: Signature[]
}

/**
 * Event is one message from an agent's hook: something that the agent did or is about to do. With
 * HumanInTheLoop it asks a question.
 *
 * source_app, session_id, hook_event_type and Payload are required. ID, UID and humanInTheLoopStatus are
 * set by the hub and ignored if a client sends them. The hub replaces the source_app of an event with an
 * Agent, if that is only the name of a directory in the payload, by the one of the session's first event.
 */
export interface Event {
  id: EventID
  /** UUIDv7 that identifies the event across hubs */
  uid?: string
  source_app: string
  session_id: string
  hook_event_type: string
  /** a JSON object, kept byte for byte */
  payload: JsonObject
  /** by the agent's clock; for display only */
  timestamp?: Millis
  summary?: string
  model_name?: string
  /** the transcript; returned only by GET /events/:id */
  chat?: Json
  /**
   * payloadSanitized is set if the event differs from the agent's input: invalid UTF-8 or the escape of
   * half a character became U+FFFD, or a member that can't be read became a text.
   */
  payloadSanitized?: boolean
  /**
   * Agent is the coding agent whose hook sent the event, such as claude-code, codex or gemini (see
   * agentclient/hook). Other programs leave it out.
   */
  agent?: string
  /**
   * OSUser and user_email name the person that runs the agent, as reported by its hook or its telemetry:
   * facts for display, which prove nothing. tokenOwner is set by the hub: the person whose token sent the
   * event.
   */
  os_user?: string
  user_email?: string
  tokenOwner?: string
  /**
   * ModelUsage is the usage of the session so far, by model. The hook of Claude Code reads it from the
   * transcript at the end of a turn and of the session. A hub counts it only if it is more than telemetry
   * reports.
   */
  modelUsage?: ModelUsage[]
  /** Hook fields that clients copy from the payload. */
  tool_name?: string
  tool_use_id?: string
  agent_id?: string
  agent_type?: string
  parent_session_id?: string
  error?: string
  is_interrupt?: boolean
  permission_suggestions?: Json
  agent_transcript_path?: string
  stop_hook_active?: boolean
  notification_type?: string
  custom_instructions?: string
  source?: string
  reason?: string
  /**
   * idempotency_key makes a repeated POST return the first event. A question is only returned for the same
   * body, or for the same question with its requestSecret; anything else is ErrKeyConflict.
   */
  idempotency_key?: string
  humanInTheLoop?: HumanInTheLoop
  humanInTheLoopStatus?: Status
  /**
   * payloadTruncated marks an event in a list or stream whose payload exceeded the size limit. payloadBytes
   * is the full size. GET /events/:id returns the payload.
   */
  payloadTruncated?: boolean
  payloadBytes?: number
  /**
   * questionTruncated marks a question that a list with summary=1 shortened: the texts and arguments of
   * HumanInTheLoop are cut or missing. GET /events/:id returns the question.
   */
  questionTruncated?: boolean
  /**
   * requestSecret is returned only to the sender of a question without an own request secret. With it the
   * agent can withdraw the question and fetch its answer.
   */
  requestSecret?: string
  /**
   * Watching is returned only to the sender of a question: the number of open streams at that moment. With
   * 0, there may be no one to see the question in time.
   */
  watching?: number
}

/**
 * EventID identifies an event. The hub assigns 1, 2, 3 … in commit order. It is also the event's sequence
 * number on the stream.
 */
export type EventID = number

/**
 * Execution is the outcome of an approved call. It comes from a later event of the session with the same
 * tool_use_id, or from a CallReport.
 */
export interface Execution {
  state: 'executing' | 'succeeded' | 'failed' | 'interrupted'
  /** from the approval to that event, or as reported by the agent */
  durationMs?: number
  error?: string
  /** the event with the outcome; absent for a CallReport */
  eventId?: EventID
}

/** Extend is the body of POST /events/:id/extend, which extends or removes the deadline. */
export interface Extend {
  /**
   * Seconds is added to the deadline, which can be at most MaxTimeout (30 days) from now. 0 removes the
   * deadline.
   */
  seconds: number
}

/** FileOwners are the owners of the files of a call, from a CODEOWNERS file. */
export interface FileOwners {
  /** grouped by equal owners, at most 50 groups */
  files?: OwnedFiles[]
  /** such as .github/CODEOWNERS of origin/main */
  from?: string
  /** why there are no files, as a sentence */
  problem?: string
}

/** FilterOptions lists the values that a filter can offer, from GET /events/filter-options. */
export interface FilterOptions {
  source_apps: string[]
  /** the newest 300 */
  session_ids: string[]
  hook_event_types: string[]
  tool_names: string[]
}

/** Finding is a statement about a tool call that an approver should read. */
export interface Finding {
  /** name of the rule, such as recursive_delete */
  code: string
  risk: Risk
  /** one plain sentence */
  text: string
  /**
   * At is a JSON pointer into the arguments of the tool call. Excerpt is the text there that the finding is
   * about, verbatim.
   */
  at?: string
  excerpt?: string
}

/** FormQuestion is one of several questions in a request. */
export interface FormQuestion {
  id: string
  question: string
  header?: string
  /** empty: takes a text */
  options?: Option[]
  multiple?: boolean
  /** also accepts a text that is not among the options */
  allowOther?: boolean
}

/** Frame is one message of /stream. A version 2 message can also be a JSON array of frames. */
export type Frame =
  | { type: 'initial'; data: Event[]; seq?: number }
  | { type: 'event'; data: Event; seq?: number }
  | { type: 'hello'; data: Hello; seq?: number }
  | { type: 'status'; data: StatusChange; seq?: number }
  | { type: 'resync'; data: Hello; seq?: number }
  | { type: 'presence'; data: Presence; seq?: number }
  | { type: 'message'; data: MessagesChanged; seq?: number }
  | { type: 'freeze'; data: Freeze[]; seq?: number }
  | { type: 'risk'; data: RiskyCall; seq?: number }
  | { type: 'alert'; data: Alert[]; seq?: number }
  | { type: 'allowance'; data: Rule[]; seq?: number }
  | { type: 'heartbeat'; data: Heartbeat; seq?: number }

/** FrameType is the type of a message on /stream. */
export type FrameType =
  | 'initial'
  | 'event'
  | 'hello'
  | 'status'
  | 'resync'
  | 'presence'
  | 'message'
  | 'freeze'
  | 'heartbeat'
  | 'risk'
  | 'alert'
  | 'allowance'

/** Freeze stops the agents of its scope at their next tool call until a person lifts it. */
export interface Freeze {
  id: number
  scope: 'all' | 'app' | 'session'
  source_app?: string
  session_id?: string
  by?: string
  reason?: string
  /** of an automatic freeze */
  rule?: 'failures' | 'spend'
  /** of the session when the rule spend froze it */
  cost_usd?: number
  created_at: Millis
  lifted_at?: Millis
  lifted_by?: string
}

/** FreezeDraft is the body of POST /api/freezes. */
export interface FreezeDraft {
  scope: 'all' | 'app' | 'session'
  source_app?: string
  session_id?: string
  /** at most MaxFreezeReason bytes */
  reason?: string
}

/**
 * FreezeList is the body of GET /api/freezes: the active freezes, and the state of their agents. It counts
 * the sessions that were at work when the freeze began, or have been since.
 */
export interface FreezeList {
  /** the oldest first */
  freezes: Freeze[]
  stopped: number
  /** a call that had begun still runs */
  finishing: number
  /** no hook that can stop the agent: observe mode, or an older hook */
  uncontrolled: number
  /** calls, not sessions, that ran because their hook could not reach the hub */
  unchecked: number
  /** the freezes of a session that has ended */
  ended?: number[]
}

/**
 * GateFacts are the member "gate" of an event: facts about the hook that an agent ran. Only an event at the
 * start or the end of a session or a turn has more than Client and Host, so that calls do not wait for it.
 */
export interface GateFacts {
  /** the hook's version */
  client: string
  /** the machine's name */
  host?: string
  /** hash of the account's policy */
  policy?: string
  /** hash of the agent's entries for hooks */
  settings?: string
  /** of the agent */
  version?: string
  /** appChosen states that --app named the event's application. Otherwise its name is that of a directory. */
  appChosen?: boolean
  /** Agents are the installations of the account, this one included. */
  agents?: Installation[]
}

/** Health is the body of GET /healthz and GET /readyz. */
export interface Health {
  /** ok, starting, degraded, draining or stopping */
  status: string
  detail?: string
  version: string
}

/** Heartbeat is the data of a heartbeat. */
export interface Heartbeat {
  serverTime: Millis
  /** Poll ends each response to GET /stream?v=2&poll=…: the parameter of the next request. */
  poll?: string
}

/** Hello is the first message of a version 2 stream. */
export interface Hello {
  /** id of the database; a different id means a different history */
  hubId: string
  /** the last assigned sequence number */
  seq: number
  /**
   * Epoch goes with a position that was received on this stream: after a restored backup, the same number
   * can be another event.
   */
  epoch?: string
  serverTime: Millis
  /** of the hub program */
  version: string
  /**
   * Page is a content hash of the dashboard that the hub serves. If it differs from the one in a page's
   * first hello, the page is outdated.
   */
  page?: string
}

/** HitlCancel is the body of POST /hitl/requests/:id/cancel. */
export interface HitlCancel {
  reason?: string
  /** as in Cancel */
  revision?: number
}

/** HitlCounts is the number of requests in each status. */
export interface HitlCounts {
  pending: number
  decided: number
  expired: number
  cancelled: number
}

/** HitlDay is the current status counts of the requests created on one day. */
export interface HitlDay {
  /** 2026-11-21 */
  day: string
  pending: number
  decided: number
  expired: number
  cancelled: number
}

/** HitlPage is a page of GET /hitl/requests, newest first. */
export interface HitlPage {
  requests: HitlRequest[]
  /** absent on the last page */
  next_cursor?: string
}

/** HitlRequest is a question in the inbox under /hitl. GET /events/:id returns the whole event. */
export interface HitlRequest {
  request_id: EventID
  status: HitlStatus
  type: Kind
  prompt: string
  /** the choices of a vote; empty: takes a text */
  choices: string[]
  /** allowOther is set if a vote can also be a text that is not among the choices. */
  allow_other?: boolean
  /** the source_app */
  agent: string
  agent_path?: string[]
  session_id: string
  /** this and the next two: as in the Event */
  agent_id?: string
  agent_type?: string
  model_name?: string
  tool_call?: ToolCall
  risk?: Risk
  created_at: Millis
  /** absent if there is no deadline */
  expires_at?: Millis
  /** time of the resolution */
  decided_at?: Millis
  /** a vote and a cancellation can name it */
  revision: number
  required_approvals: number
  /** absent: everyone with the right to answer */
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
  /** answers of a form */
  answers?: JsonObject
  reason?: string
  comment?: string
  cancellation_reason?: string
  /** delivery of the answer to the agent */
  delivery?: DeliveryState
}

/** HitlStats is the result of GET /hitl/stats. */
export interface HitlStats {
  pendingCount: number
  /** pending requests whose agent is known to wait */
  resolversCount: number
  /** decided requests in the database */
  responsesCount: number
  /** pending requests that the caller may vote on and has not */
  waitingOnMe: number
  /** all agents that ever sent a request, by name */
  agents: string[]
  /** Counts covers the requests created within the days. Days has the same counts per day. */
  counts: HitlCounts
  days: HitlDay[]
}

/** HitlStatus is the status of a request in the inbox. */
export type HitlStatus = 'pending' | 'decided' | 'expired' | 'cancelled'

/** HitlVote is the body of POST /hitl/requests/:id/vote. */
export interface HitlVote {
  /**
   * Choice is approve or deny for a permission, a label for a choice, and the text for a question or for a
   * choice with allowOther.
   */
  choice: string
  /** for a form, in place of Choice */
  answers?: JsonObject
  comment?: string
  reason?: string
  modified_arguments?: JsonObject
  revision?: number
  /** Proof is as in Response, for the Response that is equivalent to this vote. */
  proof?: JsonObject
}

/** HubHello is the payload with which a hub proves that it holds its key now. */
export interface HubHello {
  hubId: string
  keyId: string
  /** of the request */
  nonce: string
}

/** HubKey is the body of GET /api/hub: the hub's identity. */
export interface HubKey {
  hubId: string
  keyId: string
  /** base64 of the 32 bytes of an Ed25519 key */
  publicKey: string
  /**
   * Rotations leads from an earlier key to this one, oldest first, at most MaxRotations envelopes of type
   * application/vnd.hookback.key-rotation+json, each signed by the key that it replaces.
   */
  rotations?: Envelope[]
  /**
   * Proof is an envelope of type application/vnd.hookback.hello+json over the nonce of the request, signed
   * by this key; absent without a nonce.
   */
  proof?: Envelope
}

/**
 * HumanInTheLoop is a question to a person, carried by an event.
 *
 * Its members are camelCase. The snake_case names are accepted too.
 */
export interface HumanInTheLoop {
  question: string
  type: Kind
  /**
   * Choices are labels; the form __…__ is reserved. A version 1 choice without them becomes a question
   * with a text.
   */
  choices?: string[]
  /** allowOther lets a person answer a choice with a text, as Response.Response. */
  allowOther?: boolean
  /**
   * responseWebSocketUrl is the listener that the hub calls back with the answer. Without it the agent
   * polls. It is a secret: the hub returns it only to the sender.
   */
  responseWebSocketUrl?: string
  /** Timeout is in seconds. If absent, it is DefaultTimeout (300 s); 0 means no deadline. */
  timeout?: number
  /** false: for information only, without reminders */
  requiresResponse?: boolean
  /** protocolVersion 2 announces a listener that acknowledges answers. */
  protocolVersion?: number
  /**
   * listenerKey lets the listener prove its identity before the hub sends it anything (see listenerProof).
   * It is a secret like the address.
   */
  listenerKey?: string
  /**
   * Nonce is chosen by the client, 32 random bytes in base64url or hex: 32 to 128 printable ASCII
   * characters. It makes askDigest unique, and opts a version 2 question in to signed answers (see
   * Answer.Seal). The hub never returns it.
   */
  nonce?: string
  /**
   * requestSecret is chosen by the client like Nonce. With it the agent withdraws the question and fetches
   * its answer. The hub stores its hash and never returns it. If absent, the hub makes one and returns it
   * with the first response to the POST.
   */
  requestSecret?: string
  /**
   * Lifeline makes the hub watch the listener's liveness. If the version 2 listener disconnects, the hub
   * resolves the question as cancelled, source orphaned, because its agent can't come back.
   */
  lifeline?: boolean
  /**
   * alsoAsked is set if the agent's own prompt is open at the same time. Its user can answer there, and the
   * first answer wins.
   */
  alsoAsked?: boolean
  /**
   * promptAfter is the time in seconds after which the agent's own prompt opens, if no one has answered by
   * then.
   */
  promptAfter?: number
  /** Interruptible is set if the agent can end its turn with a denial (see Response.Interrupt). */
  interruptible?: boolean
  /**
   * Appeal is set if the agent's own reviewer refused the call. An approval lets exactly this call run
   * once.
   */
  appeal?: Appeal
  toolCall?: ToolCall
  questions?: FormQuestion[]
  context?: Context
  risk?: Risk
  /** from the root agent to the requester */
  agentPath?: string[]
  requiredApprovals?: number
  recipients?: Recipients
  reminderIntervalSeconds?: number
  reminderMaxCount?: number
  onTimeout?: 'emit_timeout' | 'fail_run'
  reasonRequired?: 'never' | 'deny' | 'always'
  /**
   * escalateAfterSeconds is the time after creation at which a pending question is also addressed to
   * escalateTo. The quorum does not change.
   */
  escalateAfterSeconds?: number
  escalateTo?: Recipients
  /** excludeRequester excludes the person whose token sent the question from voting. The default is true. */
  excludeRequester?: boolean
  /**
   * Suggestions are "always allow" options of the agent's own permission system. An answer can return one
   * of them as remember.
   */
  suggestions?: Json[]
}

/** ImportedSession is a session as its transcript records it. */
export interface ImportedSession {
  /** of the transcript; it changes if the session continues */
  hash: string
  title?: string
  cwd?: string
  git_branch?: string
  /** the latest */
  model?: string
  started_at: Millis
  ended_at: Millis
  /** number of subagents */
  subagents?: number
  usage?: ImportedUsage[]
  /** most used first */
  tools?: ImportedTool[]
  /** the last changed first, without events */
  files?: ChangedFile[]
  moreFiles?: number
  /** of the transcript */
  lines: number
  /** not counted in anything else */
  unreadableLines?: number
  /** the chat leaves out the oldest lines, or lines that are too long */
  chatCut?: boolean
}

/** ImportedTool counts the ended calls of a tool. */
export interface ImportedTool {
  tool: string
  calls: number
  failures?: number
}

/** ImportedUsage is the usage of a model in a quarter-hour. */
export interface ImportedUsage {
  at: Millis
  /** empty: unknown */
  model?: string
  requests?: number
  tokens: Tokens
  /** as the transcript states it, never estimated */
  costUsd?: number
}

/** Installation is the present effect of an agent's settings, as its machine reports it. */
export interface Installation {
  /** such as claude-code */
  agent: string
  /** of the agent's program; absent: unknown */
  version?: string
  policy?: string
  settings?: string
  /** State is changed, observe only, not loaded or off. It is absent if the agent should run the gate. */
  state?: 'changed' | 'observe only' | 'not loaded' | 'off'
  /** the reason for the state */
  detail?: string
}

/**
 * Intent is a tool call as one line: "Edit", "internal/order/list.go", "+4 −3". Object and Change quote
 * the agent, with U+FFFD in place of hidden characters, and are shortened.
 */
export interface Intent {
  verb: string
  object?: string
  change?: string
}

/** KeyRotation is the payload with which a key announces its successor. */
export interface KeyRotation {
  hubId: string
  /** keyId of the signing key */
  from: string
  /** the new key, base64 */
  publicKey: string
  at: Millis
}

/** Kind is the kind of answer that a question takes. */
export type Kind = 'permission' | 'question' | 'choice'

/**
 * LatencyBucket counts the answers that took less than belowMs, and at least the bound of the previous
 * bucket.
 */
export interface LatencyBucket {
  belowMs: number
  count: number
}

/**
 * LedgerEntry is one record of the audit log: a vote, a resolution, a rule, a sign-in, or a change of
 * people or settings. Entries are numbered without gaps and form a hash chain: each contains the hash of
 * the previous one. Changing, removing or inserting an entry invalidates every later hash.
 */
export interface LedgerEntry {
  n: number
  /** by the hub's clock */
  at: Millis
  /** such as question.voted, question.ended, rule.made, person.signed_in */
  act: string
  /** a person, an agent's token, a rule or the hub */
  who: string
  /** id of the question */
  of?: EventID
  data?: JsonObject
  /** Hash of entry N-1 in hex; 64 zeros for the first */
  prev: string
  /** hides the entry's own hash */
  hash: string
}

/** LedgerHead is the payload of a signed ledger head: the newest entry at a point in time. */
export interface LedgerHead {
  /** hubId */
  hub: string
  /** number of the entry */
  n: number
  hash: string
  at: Millis
}

/** Link is the body of POST /hitl/:id/link: the token in the fragment of a signed link. */
export interface Link {
  token: string
}

/** LinkPreview is the request behind a signed link. */
export interface LinkPreview {
  /** recipient of the link */
  person: string
  expiresAt: Millis
  event: Event
}

/**
 * LinkVote is the body of POST /hitl/:id/vote: an answer by the recipient of a signed link. Exactly one of
 * Permission, Response, Choice and Answers is set.
 */
export interface LinkVote {
  token: string
  permission?: boolean
  response?: string
  choice?: string
  answers?: JsonObject
  reason?: string
  comment?: string
  /**
   * Revision is the status revision that the person saw. With it, the answer also applies to the duplicates
   * in the group at that revision; without it, only to this request.
   */
  revision?: number
}

/** LockState is the body of POST /api/lock. */
export interface LockState {
  locked: boolean
}

/**
 * MachineReport is the body of POST /api/coverage: all installations of an account on a machine. An agent
 * that was reported before and is missing is off.
 */
export interface MachineReport {
  host: string
  account: string
  /** at most MaxInstallations (64) */
  agents: Installation[]
}

/** Me is the identity and permissions of the caller, from GET /api/me. */
export interface Me {
  /** "local user" for an unauthenticated caller */
  name: string
  role?: string
  /** the name is verified by a credential */
  verified: boolean
  /** the first person to sign in, who owns the hub */
  owner?: boolean
  /** id of this browser's sign-in */
  signIn?: string
  /** number of registered passkeys */
  passkeys?: number
  /** a paired device, which has at most the role operator */
  paired?: boolean
  /**
   * needsYou is the number of pending requests that the caller may answer and whose agent still listens,
   * equal calls counted once. The response to a sign-in has none.
   */
  needsYou?: number
  /** Locked is set if the hub accepts answers only from signed-in operators. */
  locked: boolean
  canAnswer: boolean
  canAdmin: boolean
  /** passkeyFor states which approvals require a passkey; absent if none does. */
  passkeyFor?: PasskeyThreshold
  /** passkeyAt is the origin at which passkeys work, because they are bound to a host name. */
  passkeyAt?: string
  /** Owned is set if the hub has an owner. */
  owned?: boolean
  /** Changes are resets and promotions of people in the last 24 hours. */
  changes?: AccountChange[]
  /** Ways lists the sign-in methods in addition to a link: oidc. */
  ways?: string[]
}

/** Message is a message from a person to a running session. */
export interface Message {
  id: number
  state: 'saved' | 'handed_over' | 'acted_on' | 'expired' | 'withdrawn'
  source_app: string
  session_id: string
  agent_id?: string
  from: string
  text: string
  created_at: Millis
  handed_at?: Millis
  /** the event in whose response the message was handed over */
  event?: EventID
}

/** MessageDraft is the body of POST /api/session/messages. */
export interface MessageDraft {
  source_app: string
  session_id: string
  /** a subagent; empty: the main agent */
  agent_id?: string
  /** 1 to 2,000 characters */
  text: string
}

/**
 * MessagesChanged is the data of the frame message of a version 2 stream: the messages to this session have
 * changed.
 */
export interface MessagesChanged {
  source_app: string
  session_id: string
}

/** Millis is a point in time: Unix time in milliseconds. Fractions are truncated. */
export type Millis = number

/** ModelUsage is what a session has used of one model since its start, as its transcript states it. */
export interface ModelUsage {
  /** empty: unknown */
  model?: string
  tokens: Tokens
  /** 0: not stated */
  costUsd?: number
}

/**
 * ModelUse is the usage of one model. Metrics do not report the number of requests, so usage known only
 * from metrics does not count in Requests.
 */
export interface ModelUse {
  /** empty for the remaining models, if there are too many to list */
  model: string
  requests?: number
  tookMs?: number
  tokens: Tokens
  costUsd?: number
}

/** Notification is one message about a question through one channel, to one person or to a shared channel. */
export interface Notification {
  /** name of the channel in the settings */
  channel: string
  kind: 'asked' | 'reminder' | 'escalated'
  person?: string
  /** State is queued, sent, failed (see Error; the hub retried) or suppressed (see Why). */
  state: 'queued' | 'sent' | 'suppressed' | 'failed'
  why?: 'cooldown' | 'quiet_hours' | 'watching' | 'answered' | 'no_address' | 'gone'
  /** without the channel's secrets */
  error?: string
  attempts?: number
  at: Millis
}

/**
 * NotificationCounts counts the notifications of a question by state, if there are more than a status
 * lists.
 */
export interface NotificationCounts {
  queued?: number
  sent?: number
  suppressed?: number
  failed?: number
}

/** NotificationSettings are one person's settings for notifications. */
export interface NotificationSettings {
  /** cooldownMinutes is the minimum time between two messages through the same channel. */
  cooldownMinutes?: number
  /**
   * quietFrom and quietTo, such as 22:00 and 07:30, delimit quiet hours in timeZone (an IANA name). In
   * quiet hours only questions of critical risk are sent. Set both or neither.
   */
  quietFrom?: string
  quietTo?: string
  timeZone?: string
  /**
   * reportAt, such as 07:30, is when the report of the last 24 hours (GET /api/report) is sent, in
   * timeZone: by Web Push, by mail, and through the channels of this person and the shared ones that this
   * person added. Absent: never.
   */
  reportAt?: string
  /** reportedAt is when it was last sent, or the settings were saved. It is read-only. */
  reportedAt?: Millis
  /**
   * Email is the address for mail. An admin sets it with POST /api/people/:name before the person signs in;
   * later only the person changes it. If empty, it stays unchanged.
   */
  email?: string
  /**
   * answerByPush adds the request and buttons to Web Push messages, at low and medium risk only. A browser
   * answers only while this person is signed in there.
   */
  answerByPush?: boolean
  /** Browsers is the number of this person's browsers with Web Push. It is read-only. */
  browsers?: number
}

/** NowEvent is the last event of a session. */
export interface NowEvent {
  id: EventID
  hook_event_type: string
  tool_name?: string
  at: Millis
}

/** NowLane is a session that was active in the last 30 minutes or has an open request. */
export interface NowLane {
  source_app: string
  session_id: string
  /** the first prompt, shortened */
  title?: string
  state: 'needs_you' | 'failing' | 'terminal' | 'working' | 'idle' | 'frozen' | 'gone' | 'ended'
  /** absent: no tool call runs */
  step?: NowStep
  /** open, oldest first; at most 20 */
  requests?: EventID[]
  failing?: boolean
  phase?: 'no_turn' | 'turn_ended' | 'terminal'
  ended?: boolean
  startedAt: Millis
  lastAt: Millis
  /** the last event; absent: before knownFrom */
  last?: NowEvent
  /** time in which at least one question waited for a person */
  blockedMs: number
  costUsd?: number
  failures: number
  /** numbers of events, oldest first; absent: no events */
  buckets?: number[]
  /** disjoint, oldest first */
  waits?: NowWait[]
}

/**
 * NowReport is the result of GET /api/now: the agents that run now. Figures are of all sessions, also of
 * those without a lane.
 */
export interface NowReport {
  /** when the report was made */
  at: Millis
  /**
   * upTo is the position in the log up to which the lanes are complete. Events with a greater id are not in
   * them.
   */
  upTo: EventID
  /** open requests that the caller may answer and whose agent still listens */
  needsYou: number
  /** sessions in state working */
  working: number
  /** reported today */
  costUsd: number
  /** by state, then the latest activity first; at most 200 */
  lanes: NowLane[]
  moreLanes: number
  /** start of the first bucket of NowLane.Buckets */
  stripFrom: Millis
  /**
   * knownFrom is the time from which the strips are complete. It is after stripFrom if there are more
   * events than the hub reads for one request.
   */
  knownFrom: Millis
  bucketMs: number
  /** how old costs, failures and titles are; absent: current */
  lagMs?: number
}

/** NowStep is the tool call that runs, or the request that waits. */
export interface NowStep {
  /** such as: Edit internal/order/list.go */
  text: string
  since: Millis
  tool_use_id?: string
}

/** NowWait is an interval in which the session waited for a person. */
export interface NowWait {
  from: Millis
  /** absent: it still waits */
  to?: Millis
}

/**
 * OTLPResponse is the response to an OTLP request. As OpenTelemetry requires, records that the hub does not
 * use count as accepted. A record without a session is rejected.
 */
export interface OTLPResponse {
  partialSuccess: PartialSuccess
}

/** Option is a label that a person can pick. */
export interface Option {
  label: string
  description?: string
}

/** Outcome is the label of a question's resolution. A choice resolves to the chosen label. */
export type Outcome = string

/** Overview is the result of GET /api/overview: statistics of people and agents over some days. */
export interface Overview {
  from: Millis
  to: Millis
  /** at present */
  pending: number
  /** answers of people that did not reach their agents, at present */
  undelivered: number
  /** by a person, within the days */
  answered: number
  /** of the time to answer, accurate to 5 % */
  medianMs: number
  p95Ms: number
  /** one per day, in the requested time zone */
  days: DayCount[]
  /** histogram of the time to answer, shortest first */
  waits: LatencyBucket[]
  /** sorted by name */
  agents: AgentStat[]
  /** most used first, at most 50 */
  tools: ToolStat[]
  /** how old the statistics are; absent: current */
  lagMs?: number
  /** the tool calls about which no person was asked */
  unasked?: UnaskedCalls
}

/** OwnedFiles are files with the same owners. */
export interface OwnedFiles {
  /** in the repository; at most 5 of them are listed */
  paths: string[]
  /** @user, @org/team or mail address; at most 50 */
  owners: string[]
}

/**
 * OwnerMatch is whether the owners of the files decide. If not, everyone else who would have been asked may
 * answer.
 */
export interface OwnerMatch {
  /**
   * State is matched: the recipients are owners; unstated: the requester named none; unknown: none of them
   * has an account that may answer; or too_few: fewer may answer than have to agree.
   */
  state: 'matched' | 'unstated' | 'unknown' | 'too_few'
  /** fallbackAt is when everyone else may answer, because the owners have quiet hours now. */
  fallbackAt?: Millis
}

/** PairingCode is the response to POST /api/pairing. */
export interface PairingCode {
  /** URL signs in one device as the caller, with at most the role operator. It is shown once. */
  url: string
  /** the URL as a QR code, an SVG image */
  qr: string
  expiresAt: Millis
}

/**
 * PartialSuccess reports the number of permanently rejected records and the reason. It is empty if none was
 * rejected.
 */
export interface PartialSuccess {
  rejectedLogRecords?: number
  rejectedDataPoints?: number
  errorMessage?: string
}

/** Passkey is a WebAuthn credential on a person's device. It verifies the person and signs one exact answer. */
export interface Passkey {
  id: string
  /** chosen by the person */
  name: string
  /** host name at which it works */
  at: string
  createdAt: Millis
  lastUsedAt?: Millis
}

/**
 * PasskeyDraft is the body of POST /api/passkeys: the credential that the browser created with the options
 * of POST /api/passkeys/new.
 */
export interface PasskeyDraft {
  name: string
  credential: JsonObject
}

/** PasskeyOptions are the options for navigator.credentials.create or get in WebAuthn JSON. */
export interface PasskeyOptions {
  publicKey: JsonObject
}

/** PasskeyProof is a WebAuthn assertion of a person's passkey for their answer or vote. */
export interface PasskeyProof {
  person: string
  /** base64url */
  credentialId: string
  /** publicKey is the credential's key in PKIX form, base64. That it belongs to Person is the hub's word. */
  publicKey: string
  /** base64url */
  authenticatorData: string
  /** base64url */
  clientDataJSON: string
  /** base64url */
  signature: string
  /**
   * Signed is the text that the challenge covers: a JSON array of the hubId, the event's uid, the revision
   * of an edit or 0, the SHA-256 of the arguments in hex, and the Response without its proof. See
   * PasskeyChallenge.
   */
  signed: string
  /** of the challenge, base64url */
  nonce: string
}

/** PasskeyThreshold states which approvals require a passkey. */
export type PasskeyThreshold = 'unknown' | 'high' | 'critical'

/** PendingUndo is an answer within its undo window. */
export interface PendingUndo {
  /** end of the undo window by the hub's clock */
  until: Millis
  outcome: Outcome
  by?: Responder
  /**
   * Revision is the status revision that was answered. The answer also applies to the duplicates that had
   * joined the group by then.
   */
  revision?: number
}

/** Person is a person with an account. */
export interface Person {
  name: string
  role: string
  owner?: boolean
  /** address for notifications by mail */
  email?: string
  /**
   * Handles are the names of the person in CODEOWNERS files: @user, @org/team, mail addresses. An admin
   * sets them; the account name counts too. Email does not: people change it themselves.
   */
  handles?: string[]
  createdAt: Millis
  lastSeenAt?: Millis
  passkeys?: number
  /** has signed in since the account was created or reset */
  signedIn?: boolean
  /**
   * Chats lists the kinds of chat accounts that the person linked, such as telegram. Only admins and the
   * person see them.
   */
  chats?: string[]
  /**
   * signInUrl signs this person in once, within 15 minutes. It is shown once, to the admin who requested
   * it. A token gets none.
   */
  signInUrl?: string
}

/**
 * PersonDraft is the body of POST /api/people and POST /api/people/:name. Absent members are left
 * unchanged.
 */
export interface PersonDraft {
  /** name of a new person; it can't be changed */
  name?: string
  /** default for a new person: operator */
  role?: string
  email?: string
  /** Handles replaces Person.Handles, at most 20. */
  handles?: string[]
  /** Proof confirms the role admin with the caller's passkey, if the hub uses passkeys. */
  proof?: JsonObject
}

/** PolicyDraft has the members of a schema.RuleDraft from scratch that a call determines. */
export interface PolicyDraft {
  /** as the agent names it */
  tool: string
  /** absent: no condition matches the call reliably */
  when?: Condition[]
  source_app: string
  session_id: string
  cwd?: string
}

/** PolicyFile is a policy file in a PolicyReport. */
export interface PolicyFile {
  origin: 'user' | 'project'
  path: string
  /** of the file, in hexadecimal; absent: it can't be read */
  sha256?: string
  /** the file; absent if it does not fit in the report */
  text?: string
  /** why there is no text */
  problem?: string
}

/**
 * PolicyLine is a rule for hookback.json about calls such as one that ran, from GET /api/policy-line, with
 * its effect on the history.
 */
export interface PolicyLine {
  /** JSON */
  rule: string
  /** for a shell: hookback policy add '…' */
  command: string
  /** the rule as a sentence */
  text: string
  /** of history that were read */
  days: number
  /** calls that the rule would have asked about */
  asks: number
  /** the part of Asks that ran without failure */
  ran: number
  /**
   * Draft is the start of a rule of the hub about such calls: its tool, its conditions and where the call
   * came from. A person chooses the rest.
   */
  draft: PolicyDraft
  /** Complete is false if there was more history than the hub reads for one request. */
  complete: boolean
}

/**
 * PolicyList is the result of GET /api/policies: the policy files that hooks reported as in force, user
 * files before project files.
 */
export interface PolicyList {
  /** at most 100 */
  policies: ReportedPolicy[]
  /**
   * Complete is false if there was more history than the hub reads for one request: then files can be
   * missing, and hits are too low.
   */
  complete: boolean
}

/** PolicyProblem is a mistake in a policy, or the reason why it can't be read. */
export interface PolicyProblem {
  /** from 1; absent: the whole file */
  line?: number
  /** from 1, in characters */
  column?: number
  text: string
}

/**
 * PolicyReport is the payload of an event of type HookbackPolicy. A hook sends it when a session starts,
 * and again only if a file changed: its idempotency key has the hash of the report.
 */
export interface PolicyReport {
  /** the machine's name */
  host?: string
  /** the agent's directory */
  cwd?: string
  /** in the order of evaluation */
  files: PolicyFile[]
}

/** PolicyRule is a rule of a policy file, and its effect on the calls of the last 30 days. */
export interface PolicyRule {
  /** from 0 */
  index: number
  then: 'allow' | 'ask' | 'deny'
  sentence: string
  /** the rule itself, for hookback policy add */
  json: string
  /** calls that the rule decides */
  hits: number
  opposed: number
}

/** Presence reports how many pages follow the hub, including the receiver, and which requests they show. */
export interface Presence {
  screens: number
  looking: ViewedRequest[]
}

/** Problem is the body of every error response (RFC 9457, application/problem+json). */
export interface Problem {
  /** always about:blank; use Code to distinguish problems */
  type: string
  title: string
  status: number
  detail?: string
  code: string
  /** the member at fault */
  field?: string
  /** same as Detail, for version 1 clients */
  error: string
  /** what to do next */
  hint?: string
  /**
   * humanInTheLoopStatus is the current status of the question. It is set for the codes decided, expired,
   * stale, held, not_held, too_risky, undecided, no_retry and frozen.
   */
  humanInTheLoopStatus?: Status
}

/** PushKey is the hub's public key, with which browsers subscribe to Web Push. */
export interface PushKey {
  /** P-256, uncompressed, base64url */
  key: string
}

/** PushKeys are the keys of a browser for Web Push. */
export interface PushKeys {
  p256dh?: string
  auth?: string
}

/**
 * PushMessage is the message to a browser's service worker. It contains only the title and the request's
 * id, unless the person chose answerByPush.
 */
export interface PushMessage {
  id: EventID
  title: string
  /** equal for all messages about one question */
  tag: string
  /** the complete permission request, with Token */
  text?: string
  /** of a signed link that answers it while the person is signed in */
  token?: string
  /** see Me; the badge of an installed page. absent: unknown */
  needsYou?: number
  /** Settled is set once the question is resolved, so that the notification can be cleared. */
  settled?: boolean
}

/**
 * PushSubscription is a browser's subscription, as encoded by PushSubscription.toJSON(). Its endpoint alone
 * is enough to unsubscribe.
 */
export interface PushSubscription {
  endpoint: string
  expirationTime?: number
  keys: PushKeys
}

/**
 * QuestionContext is the result of GET /events/:id/context: the events before a question, and the outcomes
 * of earlier questions about the same call.
 */
export interface QuestionContext {
  /** the session's last events before the question, oldest first, at most 8 */
  before: Event[]
  earlier: EarlierOutcomes
  /** Result is the result of the call in the event that shows its end; absent before that. */
  result?: CallResult
  /**
   * Collisions are changes by other agents of the files that the call changes, from 10 minutes before the
   * question on: the newest per session and file, at most 5, among the last 500 results of tools.
   */
  collisions?: Collision[]
}

/** RPC is a JSON-RPC 2.0 message: a request with Method, or a response with Result or Error. */
export interface RPC {
  jsonrpc: '2.0'
  id?: Json
  method?: string
  params?: JsonObject
  result?: Json
  error?: RPCError
}

/** RPCError is the error of a JSON-RPC response. */
export interface RPCError {
  code: number
  message: string
  data?: Json
}

/** Reach is the body of GET /api/reach, and the response to PUT. */
export interface Reach {
  /** base of links, as applied */
  publicUrl: string
  state: string
  /** why the state is failed, one sentence */
  reason?: string
  /**
   * Flag is the flag that the hub was started with, such as -public-url https://hub.example.com. It
   * overrules the setting. Absent: none.
   */
  flag?: string
  /** Machine is the name of the hub's machine. */
  machine: string
}

/** ReachSettings is the body of PUT /api/reach. */
export interface ReachSettings {
  /**
   * publicUrl is the address at which people reach the hub from other devices, such as
   * https://hub.example.com. Links start with it. Empty: the address that the hub listens on.
   */
  publicUrl: string
}

/** Receipt is the body of GET /events/:id/receipt: the proof of who decided. */
export interface Receipt {
  /** of type application/vnd.in-toto+json */
  envelope: Envelope
  /**
   * Question is the text of the question. It counts only if it has the digest of the subject question: a
   * frame has no room for a second copy of a long text.
   */
  question?: string
  /** Consequence counts only if it has the digest of the subject consequence. */
  consequence?: Consequence
  proofs?: PasskeyProof[]
  /** the entry question.ended */
  ledgerEntry?: LedgerEntry
}

/** Recipients selects the people who may answer. */
export interface Recipients {
  mode?: 'anyone' | 'owner' | 'owner_admins' | 'selected_members'
  members?: string[]
  /**
   * Owners leaves the question to the owners of its files (Context.Owners) among these people. If none of
   * them may answer, or fewer than have to agree, all of these people are asked, and Status.Owners has the
   * reason.
   */
  owners?: boolean
}

/** RejectCall is the body of POST /api/approvals/:id/reject. */
export interface RejectCall {
  reason?: string
}

/**
 * Replay is the result of POST /api/policies/replay: the effect that a draft would have had. A policy is
 * compared with tool calls, a rule of the hub with permissions that were requested.
 */
export interface Replay {
  days: number
  /** calls or permissions that were compared */
  looked: number
  allowed: number
  denied: number
  asked: number
  /** left to the agent, or for a rule to people */
  unmatched: number
  /** Opposed counts the calls that the draft would allow and a person denied, or the reverse. */
  opposed: number
  /** Complete is false if the hub did not compare all calls of these days. */
  complete: boolean
  /** probable mistakes */
  problems: PolicyProblem[]
  /** at most 50; opposed first, then the newest */
  examples: ReplayExample[]
  /** the rule of ReplayDraft.Add */
  sentence?: string
  /**
   * Policy is the text of the file with this rule, as hookback policy add writes it. Absent: the text has
   * no list of rules.
   */
  policy?: string
}

/**
 * ReplayDraft is the body of POST /api/policies/replay: either the text of a hookback.json, a further rule
 * for it, or a rule of the hub.
 */
export interface ReplayDraft {
  /** at most MaxPolicyText (32 KiB) */
  policy?: string
  /** default user */
  origin?: 'user' | 'project'
  /** Add is a rule for hookback.json, as JSON: only it is compared, and Policy is the file that it is for. */
  add?: string
  rule?: RuleDraft
}

/** ReplayExample is a call that a draft decides. */
export interface ReplayExample {
  event: EventID
  source_app: string
  tool: string
  /** what the call does */
  title: string
  effect: 'allow' | 'deny' | 'ask'
  /** index of the rule, from 0 */
  rule: number
  sentence: string
  /** at the time */
  decided: 'person' | 'rule' | 'policy' | 'grant' | 'agent'
  outcome: 'open' | 'ran' | 'failed' | 'refused'
  opposed?: boolean
  at: Millis
}

/** Report is the response of GET /api/report: what happened from Since up to Until. */
export interface Report {
  since: Millis
  /** exclusive */
  until: Millis
  /** knownFrom is set if the hub has removed events of the range: the time of the oldest that it keeps. */
  knownFrom?: Millis
  /** at most 8; a line without rows is left out */
  lines: ReportLine[]
  /** each line was counted a second time */
  checked?: boolean
}

/**
 * ReportLine is a number and the rows that it counts. Number and Text together are a sentence without its
 * period.
 */
export interface ReportLine {
  kind: 'waiting' | 'expired' | 'finished' | 'refused' | 'unasked' | 'failed' | 'loops' | 'cost'
  /** rows of the list at Link; absent for a cost */
  count?: number
  /** the sum of the rows of the list at Link */
  costUsd?: number
  /** there is more history than the hub reads for one request */
  atLeast?: boolean
  /** such as: 3 requests */
  number: string
  /** such as: wait for an answer: api, docs; the oldest for 3 h 12 min */
  text: string
  /** path and query of a screen of the dashboard */
  link: string
  /** Oldest is when the oldest of the waiting requests was asked. */
  oldest?: Millis
  /** Differs is the result of the second count, if it is not this number. */
  differs?: string
}

/**
 * ReportedPolicy is the newest report about a policy file on a host. The agent's machine reported it, so
 * nothing in it is verified.
 */
export interface ReportedPolicy {
  origin: 'user' | 'project'
  path: string
  /** the directory of the agent that reported it */
  cwd?: string
  /** the machine's name */
  host?: string
  /** who ran the agent, see Session */
  person?: string
  /** SHA-256 of the file, in hexadecimal; empty: it can't be read */
  hash: string
  reportedAt: Millis
  /** the report */
  event: EventID
  /** of the last 30 days that reported the file in any version */
  sessions: number
  /**
   * Text is the file as reported, without secrets. It is absent if the file can't be read or is larger than
   * a report.
   */
  text?: string
  /** why the rules are not known; otherwise empty */
  problems: PolicyProblem[]
  /** in the order of evaluation */
  rules: PolicyRule[]
}

/** RequestDefault holds the defaults of new questions of a kind and a risk. */
export interface RequestDefault {
  /** Kind is the kind of question; absent: every kind. A plan of an agent is no other permission. */
  kind?: 'permission' | 'plan' | 'choice' | 'question'
  /**
   * Risk is the hub's estimate; absent: every risk. low: the call is known to be harmless. unknown: nothing
   * is known, or there is no call.
   */
  risk?: 'low' | 'unknown' | 'medium' | 'high' | 'critical'
  /**
   * Paths are globs of files, such as payments/*, in any folder; absent: every question. * is any text. The
   * hub reads the files from the call.
   */
  paths?: string[]
  /** timeoutSeconds is the time to answer, 10 to 604800; 0: no deadline; absent: 300. */
  timeoutSeconds?: number
  /** Recipients with owners and without a mode are the owners of the files; see schema.Recipients. */
  recipients?: Recipients
  /** requiredApprovals applies to questions that require fewer, 2 to 20. Absent: none. */
  requiredApprovals?: number
}

/**
 * RequestDefaults is the body of GET and PUT /api/settings/requests. For each of the three settings, the
 * first entry that matches the question and has the setting counts.
 */
export interface RequestDefaults {
  /** at most 20 */
  defaults: RequestDefault[]
}

/** Responder identifies the person or rule that answered a question. */
export interface Responder {
  name: string
  /** false if any program on the hub's machine could have sent the answer */
  verified: boolean
  /**
   * Via is the proof of the name: session (signed-in browser), token, proxy, link (signed link sent only to
   * this person), telegram or slack (chat account that this person linked) or rule. It is empty if the name
   * is not verified.
   */
  via?: 'session' | 'token' | 'proxy' | 'link' | 'telegram' | 'slack' | 'rule'
  /** Passkey is set if a passkey assertion verified this exact answer. */
  passkey?: boolean
  /**
   * possibleSelfApproval is set if the answering process is a descendant of the asking process. The audit
   * log names it.
   */
  possibleSelfApproval?: boolean
}

/**
 * Response is the body of POST /events/:id/respond. Exactly one of Permission, Response, Choice and Answers
 * is set, depending on the kind of question.
 */
export interface Response {
  permission?: boolean
  response?: string
  choice?: string
  /** form question id → label, [labels] or text */
  answers?: JsonObject
  reason?: string
  comment?: string
  /** modifiedArguments replaces all arguments of an editable tool call. */
  modifiedArguments?: JsonObject
  /** one of the question's suggestions */
  remember?: Json
  /** Interrupt ends the agent's turn with a denial. The question must be interruptible. */
  interrupt?: boolean
  /**
   * askBack denies the call with a question for the agent, which should answer it and try the same call
   * again. Permission is false or absent. It is not possible for votes and appeals.
   */
  askBack?: string
  /**
   * Revision is the status revision that the person saw, for optimistic concurrency. The hub rejects a
   * revision that it never issued, because it belongs to a different database.
   */
  revision?: number
  /**
   * Proof is a passkey assertion for exactly this answer, if the hub requires one (see POST
   * /api/passkeys/challenge).
   */
  proof?: JsonObject
  /**
   * holdMs is the undo window in milliseconds, at most MaxHold (30 s). Within it POST /events/:id/undo
   * drops the answer.
   */
  holdMs?: number
}

/** Risk is the risk level of a request. */
export type Risk = 'low' | 'medium' | 'high' | 'critical'

/**
 * RiskyCall is the hub's rating of a tool call, from GET /api/risky-calls and in a frame of type risk: a
 * call with a finding of medium risk or more, or one that was refused.
 */
export interface RiskyCall {
  /** the event of the call's start */
  id: EventID
  source_app: string
  session_id: string
  tool_name: string
  /** the highest of the findings */
  risk?: Risk
  /** the names of the findings, most severe first */
  codes?: string[]
  decided: 'person' | 'rule' | 'policy' | 'grant' | 'agent'
  outcome: 'open' | 'ran' | 'failed' | 'refused'
}

/** RiskyCalls is the body of GET /api/risky-calls, oldest first. */
export interface RiskyCalls {
  calls: RiskyCall[]
}

/**
 * Rule is a stored decision of a person that answers matching questions. Each answer it gives is an
 * ordinary event that names the rule.
 */
export interface Rule {
  id: number
  then: 'allow' | 'deny'
  /** the whole rule as a plain sentence, written by the hub */
  text: string
  /**
   * Scope is session for an allowance: the rule answers the harmless and the unknown calls of its session,
   * of every tool. Tool is empty then. Other rules have none.
   */
  scope?: 'session'
  /**
   * Scope of the rule: with Call, exactly this call of the tool; otherwise every call of Tool whose
   * arguments meet all conditions of When.
   */
  tool: string
  /** hash of tool and arguments, and of the directory unless the scope is arguments */
  call?: string
  when?: Condition[]
  /**
   * Command is the command that an allow rule was created from, as words. A command that is not known to be
   * harmless may only have options that are in it or in When.
   */
  command?: string[]
  /** Reach of the rule: an absent member does not restrict it. */
  source_app?: string
  session_id?: string
  /** the project: this directory and everything below it */
  cwd?: string
  /** sent to the agent with the answer */
  reason?: string
  /** the question it was created from */
  from?: EventID
  createdAt: Millis
  createdBy: string
  /** absent: valid until revoked */
  expiresAt?: Millis
  revokedAt?: Millis
  revokedBy?: string
  uses: number
  lastUseAt?: Millis
}

/**
 * RuleDraft is the body of POST /api/rules and POST /api/rules/preview: a rule that a person creates from a
 * stored question, whose call it takes over, or from scratch. The question itself is not answered unless
 * applyNow is set.
 */
export interface RuleDraft {
  /** absent: from scratch, with the scope when or tool */
  from?: EventID
  /**
   * The calls of a rule from scratch: Tool and, according to the reach, the application, the session and
   * the absolute path of the project.
   */
  tool?: string
  source_app?: string
  session_id?: string
  cwd?: string
  then: 'allow' | 'deny'
  scope: 'call' | 'arguments' | 'when' | 'tool' | 'session'
  /** 1 to MaxConditions (20); only for the scope when */
  when?: Condition[]
  reach: 'session' | 'project' | 'agent' | 'everywhere'
  /**
   * TTLSeconds is the lifetime of the rule. If absent, it is DefaultRuleTTL (8 hours); 0 means until
   * revoked. A rule with the reach session ends with the session at the latest. With the scope session it
   * is always AllowanceTTL (15 minutes).
   */
  ttlSeconds?: number
  /** sent to the agent */
  reason?: string
  /**
   * applyNow also applies the rule to matching pending questions. Otherwise it answers only later
   * questions.
   */
  applyNow?: boolean
}

/**
 * RulePreview describes a rule before it is created: its sentence, and how it would have answered the
 * questions that people decided.
 */
export interface RulePreview {
  rule: Rule
  /** why the rule can't be created */
  refused?: string
  /**
   * Exact is present if a rule that allows must name this call exactly: with the scope call, or for command
   * with a condition that equals the whole command.
   */
  exact?: 'call' | 'command'
  /** number of stored questions compared, newest first */
  looked: number
  /** questions it would have answered */
  matched: number
  /** same decision as the person */
  agreed: number
  /** opposite decision; see Examples */
  opposed: number
  /** questions without an answer */
  undecided: number
  /** matched questions, opposed ones first, at most 5 */
  examples: Event[]
}

/** RuleRef names the rule that answered. */
export interface RuleRef {
  id: number
  text: string
}

/** Safety is the body of GET /api/settings/safety, and the response to PUT. */
export interface Safety {
  /** as stored */
  settings: SafetySettings
  /** as applied; the flag overrules the settings */
  active: SafetySettings
  /**
   * Flag is the flag that the hub was started with, such as -freeze-after 5. It overrules equalFailures.
   * Absent: none.
   */
  flag?: string
  /** the last automatic freezes, lifted ones too; the newest first */
  freezes: Freeze[]
}

/**
 * SafetySettings is the body of PUT /api/settings/safety: the limits at which the hub freezes a session. A
 * missing member turns its rule off.
 */
export interface SafetySettings {
  /**
   * equalFailures is the number of failures of tool calls in a row with the same tool, arguments and error.
   * 0: the rule is off.
   */
  equalFailures: number
  /** spendUsd is the cost of a session within spendMinutes. 0: the rule is off. */
  spendUsd: number
  /** 15 to 1440; 0 only while spendUsd is 0 */
  spendMinutes: number
}

/**
 * SearchResult is one page of GET /events/search: the matching events, oldest first. Each request searches
 * a bounded part of the log. If Complete is false, continue with before=searchedTo (or after=searchedTo
 * when paging forward), even if Events is empty.
 */
export interface SearchResult {
  events: Event[]
  searchedTo: EventID
  /** no further event matches in this direction */
  complete: boolean
}

/** SeenRevision is a request in the revision that a person saw. */
export interface SeenRevision {
  id: EventID
  revision: number
}

/**
 * Session is the summary of the events with the same source_app and session_id. Times are by the hub's
 * clock.
 */
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
  /**
   * Person ran the session, according to the strongest known source. Only the owner of a token is verified;
   * the other sources are reports of the agent's machine.
   */
  person?: string
  personSource?: 'token' | 'email' | 'os'
  startedAt: Millis
  lastAt: Millis
  /** the last event is a SessionEnd */
  ended: boolean
  firstId: EventID
  lastId: EventID
  /** status is waiting_human while a question is pending, then ended or processing. */
  status?: 'processing' | 'waiting_human' | 'ended'
  events: number
  /** completed tool calls */
  tools: number
  /** of tools and of the agent */
  failures: number
  /** number of subagents */
  agents: number
  asked: number
  pending: number
  /**
   * humanWaitMs is the time between startedAt and lastAt in which at least one question waited for a
   * person. The rest is the time that the agent ran.
   */
  humanWaitMs?: number
  /** if events or transcripts report them */
  tokens?: Tokens
  /** as reported by the agent, never estimated */
  costUsd?: number
  /** the newest event with a transcript */
  transcript?: EventID
  /**
   * Imported is set for a session that is known only from its transcript: the hash of the transcript that
   * hookback import sent last.
   */
  imported?: string
}

/** SessionDetail is the result of GET /api/session: a session and its tools, models and agents. */
export interface SessionDetail {
  session: Session
  /** most used first */
  tools: ToolStat[]
  /** highest cost first; only if the agent sends telemetry */
  models: ModelUse[]
  /** main agent first, then by start time; at most 501 */
  agents: AgentNode[]
  /** how old the state is; absent: current */
  lagMs?: number
}

/**
 * SessionFiles are the files that the tool calls of a session changed, the last changed first. Calls that
 * failed, were denied or interrupted do not count, and neither do changes by commands, except for patches.
 */
export interface SessionFiles {
  /** at most MaxFiles (500) */
  files: ChangedFile[]
  /** number of further files */
  more?: number
}

/**
 * SessionPage is a page of GET /api/sessions, most recently active first. Pagination is by cursor. With q,
 * a page can be short or empty and still have a next page.
 */
export interface SessionPage {
  sessions: Session[]
  /** cursor of the next page */
  next?: string
  /** how old the state is; absent: current */
  lagMs?: number
}

/**
 * Share is a link that shows one session to people who are not signed in, read-only. It ends at its expiry,
 * when it is revoked, when its author is no longer an operator, and when the session is deleted.
 */
export interface Share {
  id: string
  source_app: string
  session_id: string
  /** its author */
  person: string
  createdAt: Millis
  expiresAt: Millis
  /** Transcript is set if the link also shows the transcripts of the session. */
  transcript?: boolean
  /** lastOpenedAt is when the link was last opened, and Opens how often, counted at most once per minute. */
  lastOpenedAt?: Millis
  opens?: number
  /** URL is the link itself. It is shown once, to its author. */
  url?: string
}

/** ShareDraft is the body of POST /api/shares. */
export interface ShareDraft {
  source_app: string
  session_id: string
  /** Hours is the life of the link: 1, 24 or 168; default 24. */
  hours?: number
  /** also show the transcripts */
  transcript?: boolean
}

/** SharedSession describes a share link to the page that opens it. */
export interface SharedSession {
  source_app: string
  session_id: string
  /** the author of the link */
  person: string
  expiresAt: Millis
  transcript?: boolean
}

/** SignIn is a signed-in browser. */
export interface SignIn {
  id: string
  person: string
  userAgent?: string
  way: 'link' | 'oidc' | 'token' | 'pair'
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
  /** the code is that of a pairing, whose fragment is #pair=CODE */
  pair?: boolean
  /**
   * Name is the name that the first person to sign in chooses as the owner of the hub. Without it the hub
   * returns 400 for the member name, and the code stays valid.
   */
  name?: string
}

/**
 * SignInResult is a new sign-in. The response sets its cookie. Every request must also send Key in the
 * header Hookback-Key. The page stores the key per origin, because cookies are shared between the ports of
 * a host.
 */
export interface SignInResult {
  key: string
  me: Me
}

/** Signature is one signature of an Envelope. */
export interface Signature {
  /** see keyId; a hint, the key decides */
  keyid: string
  /** base64 */
  sig: string
}

/** SignedAnswer is the content of an answer, whole. See Answer for its members. */
export interface SignedAnswer {
  permission?: boolean
  response?: string
  choice?: string
  answers?: JsonObject
  reason?: string
  comment?: string
  modifiedArguments?: JsonObject
  remember?: Json
  interrupt?: boolean
  askBack?: string
}

/**
 * SignedDecision is the predicate of a Statement: the resolution of a question. An agent takes every value
 * of its decision from it.
 */
export interface SignedDecision {
  /** hubId */
  hub: string
  /** uid of the event */
  event: string
  eventId: EventID
  answerId: string
  app: string
  session: string
  /**
   * Requester sent the question: a person with their own token, or agent:NAME. It is empty if the question
   * came without a token, and in a statement without the subject question.
   */
  requester?: string
  tool?: string
  answer: SignedAnswer
  outcome: Outcome
  source: EndedBy
  respondedAt: Millis
  respondedBy?: Responder
  votes?: Vote[]
  awaiting?: string[]
  requiredApprovals?: number
  rule?: RuleRef
  guidance?: string
  class?: Class
  risk?: Risk
}

/**
 * SpendReport is the result of GET /api/spend: the tokens and the cost that agents reported. Every grouping
 * has the same total.
 */
export interface SpendReport {
  from: Millis
  to: Millis
  /** by day, then the highest cost first */
  rows: SpendRow[]
  tokens: Tokens
  /** without the sessions that report only tokens */
  costUsd: number
  /** how old the figures are; absent: current */
  lagMs?: number
}

/**
 * SpendRow is a group of a SpendReport. It has the members that the request groups by; an empty one is
 * unknown.
 */
export interface SpendRow {
  /** 2026-11-21 */
  day?: string
  source_app?: string
  model?: string
  person?: string
  /** the working directory of the sessions */
  project?: string
  tokens: Tokens
  costUsd: number
}

/** State is the protocol version 1 state of a question. */
export type State = 'pending' | 'responded' | 'timeout' | 'error'

/**
 * Statement is an in-toto statement that a hub signs when a question ends: the decision, and the digests of
 * the question that it answers. See https://in-toto.io/Statement/v1.
 */
export interface Statement {
  /** https://in-toto.io/Statement/v1 */
  _type: string
  subject: Subject[]
  /** https://github.com/hookback/hookback/decision/v1 */
  predicateType: string
  predicate: SignedDecision
}

/** Status is the state of a question: its answer, its votes, and the delivery of the answer to the agent. */
export interface Status {
  status: State
  respondedAt?: Millis
  /** without hookEvent, because the event contains this status */
  response?: Answer
  outcome?: Outcome
  source?: EndedBy
  reason?: string
  respondedBy?: Responder
  /** deadline by the hub's clock; absent if there is none */
  expiresAt?: Millis
  /** increases with every change of this status */
  revision?: number
  requiredApprovals?: number
  votes?: Vote[]
  awaiting?: string[]
  waiter?: Waiter
  delivery?: Delivery
  execution?: Execution
  /** a test request: nothing runs, whatever the answer is */
  test?: boolean
  /** a test request of hookback doctor, which can only be denied */
  probe?: boolean
  /**
   * Recipients are the people who may answer, resolved when the question was created. Escalation adds more.
   * If absent, everyone with the right to answer may. Awaiting lists the recipients who have not voted.
   */
  recipients?: string[]
  /** Owners is the result of Recipients.Owners. */
  owners?: OwnerMatch
  /** Edited is the call that the votes apply to, if a voter has edited it. */
  edited?: EditedCall
  /**
   * Reminders is the number of reminders that were due. escalatedAt is the time at which escalateTo was
   * added to the recipients, by the hub's clock.
   */
  reminders?: number
  escalatedAt?: Millis
  /** Extended is the latest extension of the deadline. */
  extended?: DeadlineExtension
  /** Rule is the rule that answered the question. */
  rule?: RuleRef
  /**
   * Waiters is the size of the duplicate group: the number of pending questions of the session with equal
   * content, including this one. It is absent for a single question. sameAs is the leader of the group, the
   * first of its questions; the leader itself has none.
   */
  waiters?: number
  sameAs?: EventID
  /**
   * Follows is the question of the same session about the same call that a person answered with askBack, at
   * most AskBackWindow earlier.
   */
  follows?: EventID
  /** supersededBy is the question that ended this one, source superseded. */
  supersededBy?: EventID
  /**
   * Notifications lists the newest MaxNotifications (50) notifications about the question: their recipient,
   * channel and state. If there are more, noticeCounts counts all of them.
   */
  notices?: Notification[]
  noticeCounts?: NotificationCounts
  /** Risk is the hub's estimate: the higher of the agent's own estimate and the risks of Findings. */
  risk?: Risk
  /**
   * Class is the hub's class of the tool call; absent, and to be treated as unknown, if the question is
   * about none.
   */
  class?: Class
  /** Findings are the hub's findings about the tool call, most severe first. */
  findings?: Finding[]
  /**
   * Intent summarizes the tool call that an approval allows; absent if the question is no permission for a
   * call.
   */
  intent?: Intent
  /**
   * View is the hub's reading of the tool call, with the arguments of Edited if there are any; absent if
   * the question is about none.
   */
  view?: CallView
  /** Defaults lists the additions of the hub's settings to the question; absent: none. */
  defaults?: AppliedDefaults
  /**
   * Held is an answer within its undo window. Until held.until the question stays pending and nothing is
   * sent to the agent.
   */
  held?: PendingUndo
}

/** StatusChange reports a new status of a question on a version 2 stream. */
export interface StatusChange {
  id: EventID
  humanInTheLoopStatus: Status
}

/** Subject names one thing that a Statement is about by its digest. */
export interface Subject {
  name: string
  /** algorithm (sha256, gitCommit) → hex */
  digest: Record<string, string>
}

/** TestDenial is the body of POST /api/test-requests/deny. */
export interface TestDenial {
  reason?: string
}

/** TestRequest is the response to POST /api/test-requests. */
export interface TestRequest {
  id: EventID
}

/** TestTicket is the response to POST /api/test-requests/tickets. */
export interface TestTicket {
  /** Ticket works once, within 60 seconds. It is also the request secret of its question. */
  ticket: string
}

/** Token is a credential for programs. The hub stores only its hash. */
export interface Token {
  id: string
  name: string
  /** the first characters, for display */
  prefix: string
  /**
   * Person is the owner of a personal token, which has that person's permissions. An agent's token has no
   * owner: it can post events, read, and withdraw its own questions, but never answer.
   */
  person?: string
  /**
   * Apps are the source_app names that an agent's token may post as, with * as a wildcard; empty for every
   * name.
   */
  apps?: string[]
  createdAt: Millis
  lastUsedAt?: Millis
  expiresAt?: Millis
  /** Secret is the token itself, shown once: hubop_… for a person, hubin_… for an agent. */
  secret?: string
}

/** TokenDraft is the body of POST /api/tokens. */
export interface TokenDraft {
  name: string
  /** the caller; empty for an agent's token */
  person?: string
  apps?: string[]
  /**
   * expiresAt is at most one year ahead for the token of a person; default: in 90 days. An agent's token
   * needs none.
   */
  expiresAt?: Millis
}

/** Tokens counts the tokens that a model read and wrote. */
export interface Tokens {
  input: number
  output: number
  cacheRead?: number
  cacheWrite?: number
}

/** ToolCall is the call that runs if a person approves it. */
export interface ToolCall {
  name: string
  arguments?: Json
  /**
   * argumentsRef is a JSON Pointer to the arguments in the event's payload, such as /tool_input, for
   * arguments that would not fit into a request twice. It excludes Arguments and Editable. The hub checks
   * that it resolves; readers resolve it as well. Name can then be absent: it is the event's tool_name.
   * Hubs that do not support argumentsRef reject such a question.
   */
  argumentsRef?: string
  id?: string
  /** can be approved with changed arguments */
  editable?: boolean
  /**
   * Consequence is the effect that the call will have. People see it with the call, and the receipt of
   * their decision proves it. It is the requester's word.
   */
  consequence?: Consequence
}

/**
 * ToolStat is the use of one tool. Durations run from PreToolUse to PostToolUse without the time that a
 * person was waited for. Percentiles are accurate to 5 %.
 */
export interface ToolStat {
  tool: string
  calls: number
  failures: number
  totalMs: number
  medianMs: number
  p95Ms: number
}

/**
 * UnaskedCalls counts the tool calls that began within the days of an Overview and about which no person
 * was asked. The risk of a call without a finding is unknown, not low.
 */
export interface UnaskedCalls {
  /** by the agent's own decision; including failed ones */
  ran: number
  /** the part of Ran with a finding of medium risk or more */
  risky: number
  /** by the agent's own reviewer */
  refused: number
  /** of Refused */
  appealed: number
  /** by policy */
  denied: number
  /** Complete is false while the hub still rates older events, for example after an upgrade. */
  complete: boolean
}

/** ViewedRequest is a request that at least one page shows. */
export interface ViewedRequest {
  id: EventID
  screens: number
  /**
   * People lists the signed-in people among the viewers, at most MaxNamedViewers. Only signed-in receivers
   * get names.
   */
  people?: string[]
}

/**
 * ViewingMessage is the only message that a version 2 page sends on its stream: the request that it shows.
 * The hub drops it when the socket closes.
 */
export interface ViewingMessage {
  type: 'looking'
  /** 0 for none */
  id?: EventID
  /**
   * Focused is set if the page is visible and has the keyboard focus. The signed-in person then needs no
   * notifications. It is valid for ViewingTimeout (1 minute) and must be repeated.
   */
  focused?: boolean
}

/** Vote is one person's vote on a question that requires several approvals. */
export interface Vote {
  user: string
  choice: string
  comment?: string
  at: Millis
  /** see Responder */
  passkey?: boolean
}

/** WaitStatus is the response to GET /api/session/messages/wait. */
export interface WaitStatus {
  /** a message waits for the session */
  waiting: boolean
  /**
   * Ended means that the caller has no more to wait for: the session got a prompt or ended, or another
   * caller waits for it.
   */
  ended: boolean
  /** for the next call */
  after: number
}

/**
 * Waiter is the liveness of the agent that waits for the answer. It is unknown for a version 1 listener,
 * which the hub does not connect to before it has the answer, and for one that the hub may not connect to.
 */
export type Waiter = 'listening' | 'lost' | 'unknown'

/** The routes of the hub by method and path, with their parameters and bodies. */
export interface Routes {
  GET: {
    /** List the newest events */
    '/events/recent': {
      params: {
        limit?: number
        summary?: number
      }
      response: Event[]
    }
    /** List events by filter */
    '/events': {
      params: {
        source_app?: string | readonly string[]
        session_id?: string | readonly string[]
        hook_event_type?: string | readonly string[]
        tool_name?: string | readonly string[]
        status?: string | readonly string[]
        q?: string | readonly string[]
        from?: number
        to?: number
        before?: number
        after?: number
        limit?: number
        summary?: number
      }
      response: Event[]
    }
    /** List filter values */
    '/events/filter-options': {
      response: FilterOptions
    }
    /** Search the history */
    '/events/search': {
      params: {
        filter?: string | readonly string[]
        q?: string | readonly string[]
        from?: number
        to?: number
        before?: number
        after?: number
        limit?: number
      }
      response: SearchResult
    }
    /** Read an event */
    '/events/:id': {
      params: {
        id: string | number
      }
      response: Event
    }
    /** Read a question's context */
    '/events/:id/context': {
      params: {
        id: string | number
      }
      response: QuestionContext
    }
    /** Read a question's receipt */
    '/events/:id/receipt': {
      params: {
        id: string | number
      }
      response: Receipt
    }
    /** Wait for an answer */
    '/events/:id/response': {
      params: {
        id: string | number
        wait?: number
        rejected?: string | readonly string[]
      }
      response: Answer
    }
    /** Follow the log */
    '/stream': {
      params: {
        v?: number
        after?: number
        hub?: string | readonly string[]
        epoch?: string | readonly string[]
        poll?: string | readonly string[]
      }
    }
    /** List requests */
    '/hitl/requests': {
      params: {
        status?: string | readonly string[]
        agent?: string | readonly string[]
        waiting_on_me?: string | readonly string[]
        from?: number
        to?: number
        cursor?: string | readonly string[]
        limit?: number
      }
      response: HitlPage
    }
    /** Read a request */
    '/hitl/requests/:id': {
      params: {
        id: string | number
      }
      response: HitlRequest
    }
    /** Count requests */
    '/hitl/stats': {
      params: {
        days?: number
        tz?: string | readonly string[]
        from?: number
        to?: number
        agent?: string | readonly string[]
      }
      response: HitlStats
    }
    /** List requests (authenticated) */
    '/authenticated/hitl/requests': {
      params: {
        status?: string | readonly string[]
        agent?: string | readonly string[]
        waiting_on_me?: string | readonly string[]
        from?: number
        to?: number
        cursor?: string | readonly string[]
        limit?: number
      }
      response: HitlPage
    }
    /** Read a request (authenticated) */
    '/authenticated/hitl/requests/:id': {
      params: {
        id: string | number
      }
      response: HitlRequest
    }
    /** Count requests (authenticated) */
    '/authenticated/hitl/stats': {
      params: {
        days?: number
        tz?: string | readonly string[]
        from?: number
        to?: number
        agent?: string | readonly string[]
      }
      response: HitlStats
    }
    /** List approvals */
    '/api/approvals': {
      response: Approval[]
    }
    /** Follow approvals */
    '/api/approvals/stream': {
    }
    /** Read an approval */
    '/api/approvals/:id': {
      params: {
        id: string | number
      }
      response: Approval
    }
    /** Who am I */
    '/api/me': {
      response: Me
    }
    /** Sign in with OpenID Connect */
    '/sign-in/oidc': {
    }
    /** Return from OpenID Connect */
    '/sign-in/oidc/back': {
      params: {
        state?: string | readonly string[]
        code?: string | readonly string[]
        error?: string | readonly string[]
      }
    }
    /** List people */
    '/api/people': {
      response: Person[]
    }
    /** List sign-ins */
    '/api/sign-ins': {
      response: SignIn[]
    }
    /** List tokens */
    '/api/tokens': {
      response: Token[]
    }
    /** List passkeys */
    '/api/passkeys': {
      response: Passkey[]
    }
    /** List share links */
    '/api/shares': {
      params: {
        source_app?: string | readonly string[]
        session_id?: string | readonly string[]
      }
      response: Share[]
    }
    /** Open a share link */
    '/api/shared': {
      response: SharedSession
    }
    /** List alerts */
    '/api/alerts': {
      response: AlertList
    }
    /** List alert rules */
    '/api/alert-rules': {
      response: AlertRuleList
    }
    /** List which agents run the gate */
    '/api/coverage': {
      response: CoverageList
    }
    /** List rules */
    '/api/rules': {
      response: Rule[]
    }
    /** List automatic answers */
    '/api/automatic': {
      params: {
        before?: number
        limit?: number
      }
      response: AutomaticPage
    }
    /** List the policies in force */
    '/api/policies': {
      response: PolicyList
    }
    /** List freezes */
    '/api/freezes': {
      response: FreezeList
    }
    /** Read the limits of automatic freezes */
    '/api/settings/safety': {
      response: Safety
    }
    /** Read the defaults of requests */
    '/api/settings/requests': {
      response: RequestDefaults
    }
    /** Read the public address */
    '/api/reach': {
      response: Reach
    }
    /** List channels */
    '/api/channels': {
      response: Channel[]
    }
    /** List chat accounts */
    '/api/chat-accounts': {
      response: ChatAccounts
    }
    /** Read notification settings */
    '/api/channels/mine': {
      response: NotificationSettings
    }
    /** Read the Web Push key */
    '/api/push/key': {
      response: PushKey
    }
    /** List sessions */
    '/api/sessions': {
      params: {
        source_app?: string | readonly string[]
        person?: string | readonly string[]
        q?: string | readonly string[]
        limit?: number
        cursor?: string | readonly string[]
      }
      response: SessionPage
    }
    /** Read a session */
    '/api/session': {
      params: {
        source_app?: string | readonly string[]
        session_id?: string | readonly string[]
      }
      response: SessionDetail
    }
    /** List the files that a session changed */
    '/api/session/files': {
      params: {
        source_app?: string | readonly string[]
        session_id?: string | readonly string[]
      }
      response: SessionFiles
    }
    /** Download a session */
    '/api/session/export': {
      params: {
        source_app?: string | readonly string[]
        session_id?: string | readonly string[]
        format?: string | readonly string[]
      }
    }
    /** List risky and refused tool calls */
    '/api/risky-calls': {
      params: {
        source_app?: string | readonly string[]
        session_id?: string | readonly string[]
        before?: number
        after?: number
        limit?: number
      }
      response: RiskyCalls
    }
    /** Propose a policy rule for a tool call */
    '/api/policy-line': {
      params: {
        event?: number
      }
      response: PolicyLine
    }
    /** Read statistics */
    '/api/overview': {
      params: {
        days?: number
        tz?: string | readonly string[]
      }
      response: Overview
    }
    /** Read what agents spent */
    '/api/spend': {
      params: {
        by?: string | readonly string[]
        days?: number
        tz?: string | readonly string[]
        from?: number
        format?: string | readonly string[]
      }
      response: SpendReport
    }
    /** Read what agents do now */
    '/api/now': {
      params: {
        tz?: string | readonly string[]
      }
      response: NowReport
    }
    /** Read what happened since a time */
    '/api/report': {
      params: {
        since?: string | readonly string[]
        check?: string | readonly string[]
      }
      response: Report
    }
    /** Read the head of the audit log */
    '/api/ledger/head': {
      response: Envelope
    }
    /** Read the audit log */
    '/api/ledger': {
      params: {
        after?: number
        before?: number
        of?: number
        limit?: number
        format?: string | readonly string[]
      }
      response: LedgerEntry[]
    }
    /** List messages to a session */
    '/api/session/messages': {
      params: {
        source_app?: string | readonly string[]
        session_id?: string | readonly string[]
      }
      response: Message[]
    }
    /** Wait for a message */
    '/api/session/messages/wait': {
      params: {
        source_app?: string | readonly string[]
        session_id?: string | readonly string[]
        wait?: number
        after?: number
        waiter?: string | readonly string[]
      }
      response: WaitStatus
    }
    /** Read the hub's key */
    '/api/hub': {
      params: {
        nonce?: string | readonly string[]
      }
      response: HubKey
    }
    /** Liveness */
    '/healthz': {
      response: Health
    }
    /** Readiness */
    '/readyz': {
      response: Health
    }
    /** Read metrics */
    '/metrics': {
    }
    /** Read this document */
    '/openapi.json': {
    }
    /** Read the licenses */
    '/licenses': {
    }
  }
  POST: {
    /** Store an event */
    '/events': {
      request: Event
      response: Event
    }
    /** Store several events */
    '/events/batch': {
      request: Event[]
      response: BatchResult[]
    }
    /** Answer a question */
    '/events/:id/respond': {
      params: {
        id: string | number
      }
      request: Response
      response: Event
    }
    /** Undo an answer */
    '/events/:id/undo': {
      params: {
        id: string | number
      }
      response: Event
    }
    /** Approve several permissions */
    '/events/approve': {
      request: Approvals
      response: BatchResult[]
    }
    /** Retry a delivery */
    '/events/:id/redeliver': {
      params: {
        id: string | number
      }
      response: Event
    }
    /** Mark an answer as handled */
    '/events/:id/handled': {
      params: {
        id: string | number
      }
      response: Event
    }
    /** Cancel a question */
    '/events/:id/cancel': {
      params: {
        id: string | number
      }
      request: Cancel
      response: Event
    }
    /** Extend a deadline */
    '/events/:id/extend': {
      params: {
        id: string | number
      }
      request: Extend
      response: Event
    }
    /** Report the execution of a call */
    '/events/:id/execution': {
      params: {
        id: string | number
      }
      request: CallReport
      response: Event
    }
    /** Vote on a request */
    '/hitl/requests/:id/vote': {
      params: {
        id: string | number
      }
      request: HitlVote
      response: HitlRequest
    }
    /** Cancel a request */
    '/hitl/requests/:id/cancel': {
      params: {
        id: string | number
      }
      request: HitlCancel
      response: HitlRequest
    }
    /** Vote on a request (authenticated) */
    '/authenticated/hitl/requests/:id/vote': {
      params: {
        id: string | number
      }
      request: HitlVote
      response: HitlRequest
    }
    /** Cancel a request (authenticated) */
    '/authenticated/hitl/requests/:id/cancel': {
      params: {
        id: string | number
      }
      request: HitlCancel
      response: HitlRequest
    }
    /** Approve a call */
    '/api/approvals/:id/approve': {
      params: {
        id: string | number
      }
      request: ApproveCall
      response: Event
    }
    /** Reject a call */
    '/api/approvals/:id/reject': {
      params: {
        id: string | number
      }
      request: RejectCall
      response: Event
    }
    /** Approve or deny by approval id */
    '/api/agent/approve': {
      request: AgentApproval
      response: Event
    }
    /** Sign in */
    '/api/sign-in': {
      request: SignInRequest
      response: SignInResult
    }
    /** Sign out */
    '/api/sign-out': {
      response: Me
    }
    /** Lock or unlock the hub */
    '/api/lock': {
      request: LockState
      response: Me
    }
    /** Add a person */
    '/api/people': {
      request: PersonDraft
      response: Person
    }
    /** Change a person */
    '/api/people/:name': {
      params: {
        name: string | number
      }
      request: PersonDraft
      response: Person
    }
    /** Create a sign-in link */
    '/api/people/:name/link': {
      params: {
        name: string | number
      }
      request: Confirmation
      response: Person
    }
    /** Reset a person */
    '/api/people/:name/reset': {
      params: {
        name: string | number
      }
      request: Confirmation
      response: Person
    }
    /** Create a token */
    '/api/tokens': {
      request: TokenDraft
      response: Token
    }
    /** Start registering a passkey */
    '/api/passkeys/new': {
      request: Confirmation
      response: PasskeyOptions
    }
    /** Register a passkey */
    '/api/passkeys': {
      request: PasskeyDraft
      response: Passkey
    }
    /** Start confirming a change */
    '/api/passkeys/confirm': {
      request: CredentialAction
      response: PasskeyOptions
    }
    /** Start verifying an answer */
    '/api/passkeys/challenge': {
      request: ChallengeRequest
      response: PasskeyOptions
    }
    /** Share a session */
    '/api/shares': {
      request: ShareDraft
      response: Share
    }
    /** Create an alert rule */
    '/api/alert-rules': {
      request: AlertRule
      response: AlertRuleList
    }
    /** Report the agents of a machine */
    '/api/coverage': {
      request: MachineReport
      response: CoverageList
    }
    /** Create a rule */
    '/api/rules': {
      request: RuleDraft
      response: Rule
    }
    /** Preview a rule */
    '/api/rules/preview': {
      request: RuleDraft
      response: RulePreview
    }
    /** Replay a policy or a rule */
    '/api/policies/replay': {
      request: ReplayDraft
      response: Replay
    }
    /** Freeze agents */
    '/api/freezes': {
      request: FreezeDraft
      response: Freeze
    }
    /** Check the public address */
    '/api/reach/check': {
      response: Reach
    }
    /** Create a pairing code */
    '/api/pairing': {
      request: Confirmation
      response: PairingCode
    }
    /** Create a channel */
    '/api/channels': {
      request: ChannelDraft
      response: Channel
    }
    /** Create a code for a chat account */
    '/api/chat-accounts/codes': {
      request: Confirmation
      response: ChatCode
    }
    /** Replace notification settings */
    '/api/channels/mine': {
      request: NotificationSettings
      response: NotificationSettings
    }
    /** Subscribe to Web Push */
    '/api/push': {
      request: PushSubscription
      response: NotificationSettings
    }
    /** Preview a signed link */
    '/hitl/:id/link': {
      params: {
        id: string | number
      }
      request: Link
      response: LinkPreview
    }
    /** Answer by signed link */
    '/hitl/:id/vote': {
      params: {
        id: string | number
      }
      request: LinkVote
      response: Event
    }
    /** Test a channel */
    '/api/channels/:id/test': {
      params: {
        id: string | number
      }
      response: ChannelTestResult
    }
    /** Send a message to a session */
    '/api/session/messages': {
      request: MessageDraft
      response: Message
    }
    /** Receive OpenTelemetry logs */
    '/v1/logs': {
      response: OTLPResponse
    }
    /** Receive OpenTelemetry metrics */
    '/v1/metrics': {
      response: OTLPResponse
    }
    /** Count OpenTelemetry spans */
    '/v1/traces': {
      response: OTLPResponse
    }
    /** Receive Claude Code's hooks */
    '/hooks/claude-code': {
    }
    /** Ask and wait for the answer */
    '/ask': {
      response: Answer
    }
    /** Model Context Protocol */
    '/mcp': {
      request: RPC
      response: RPC
    }
    /** Send a test request */
    '/api/test-requests': {
      response: TestRequest
    }
    /** Create a ticket for a check */
    '/api/test-requests/tickets': {
      response: TestTicket
    }
    /** Deny the question of a check */
    '/api/test-requests/deny': {
      request: TestDenial
      response: Event
    }
  }
  PUT: {
    /** Change an alert rule */
    '/api/alert-rules/:id': {
      params: {
        id: string | number
      }
      request: AlertRule
      response: AlertRuleList
    }
    /** Set the limits of automatic freezes */
    '/api/settings/safety': {
      request: SafetySettings
      response: Safety
    }
    /** Set the defaults of requests */
    '/api/settings/requests': {
      request: RequestDefaults
      response: RequestDefaults
    }
    /** Set the public address */
    '/api/reach': {
      request: ReachSettings
      response: Reach
    }
    /** Replace the filter of a channel */
    '/api/channels/:id/filter': {
      params: {
        id: string | number
      }
      request: ChannelFilter
      response: Channel[]
    }
  }
  DELETE: {
    /** Remove a person */
    '/api/people/:name': {
      params: {
        name: string | number
      }
      response: Person[]
    }
    /** End a sign-in */
    '/api/sign-ins/:id': {
      params: {
        id: string | number
      }
      response: SignIn[]
    }
    /** Revoke a token */
    '/api/tokens/:id': {
      params: {
        id: string | number
      }
      response: Token[]
    }
    /** Remove a passkey */
    '/api/passkeys/:id': {
      params: {
        id: string | number
      }
      request: Confirmation
      response: Passkey[]
    }
    /** Revoke a share link */
    '/api/shares/:id': {
      params: {
        id: string | number
      }
      response: Share[]
    }
    /** Remove an alert rule */
    '/api/alert-rules/:id': {
      params: {
        id: string | number
      }
      response: AlertRuleList
    }
    /** Revoke a rule */
    '/api/rules/:id': {
      params: {
        id: string | number
      }
      response: Rule
    }
    /** Lift a freeze */
    '/api/freezes/:id': {
      params: {
        id: string | number
      }
      response: Freeze
    }
    /** Unlink a chat account */
    '/api/chat-accounts/:kind/:account': {
      params: {
        kind: string | number
        account: string | number
      }
      response: ChatAccounts
    }
    /** Remove a channel */
    '/api/channels/:id': {
      params: {
        id: string | number
      }
      response: Channel[]
    }
    /** Unsubscribe from Web Push */
    '/api/push': {
      request: PushSubscription
      response: NotificationSettings
    }
    /** Withdraw a message */
    '/api/session/messages/:id': {
      params: {
        id: string | number
      }
      response: Message
    }
  }
}
