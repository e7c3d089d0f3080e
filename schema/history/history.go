// Package history has the messages about the past: searches, the context of a question, sessions and
// statistics.
package history

import "github.com/hookback/hookback/schema"

// SearchResult is one page of GET /events/search: the matching events, oldest first. Each request
// searches a bounded part of the log. If Complete is false, continue with before=SearchedTo (or
// after=SearchedTo when paging forward), even if Events is empty.
type SearchResult struct {
	Events     []schema.Event `json:"events"`
	SearchedTo schema.EventID `json:"searchedTo"`
	Complete   bool           `json:"complete"` // no further event matches in this direction
}

// QuestionContext is the result of GET /events/:id/context: the events before a question, and the
// outcomes of earlier questions about the same call.
type QuestionContext struct {
	Before  []schema.Event  `json:"before"` // the session's last events before the question, oldest first, at most 8
	Earlier EarlierOutcomes `json:"earlier"`
	// Result is the result of the call in the event that shows its end; absent before that.
	Result *CallResult `json:"result,omitempty"`
	// Collisions are changes by other agents of the files that the call changes, from 10 minutes before the question
	// on: the newest per session and file, at most 5, among the last 500 results of tools.
	Collisions []Collision `json:"collisions,omitempty"`
}

// Collision is a change of a file by another agent.
type Collision struct {
	SourceApp string         `json:"source_app"`
	SessionID string         `json:"session_id"`
	EventID   schema.EventID `json:"eventId"`
	Path      string         `json:"path"`
	At        schema.Millis  `json:"at"`
}

// Limits of a CallResult.
const (
	MaxResultLines = 20
	MaxResultFiles = 20
)

// CallResult is an agent's report of a call that a question was about. The texts are the agent's; they have no
// characters that are not printable.
type CallResult struct {
	Lines      []string `json:"lines"`                // the last lines of the output, at most MaxResultLines (20)
	MoreLines  int64    `json:"moreLines,omitempty"`  // lines before them
	ExitStatus *int64   `json:"exitStatus,omitempty"` // absent: not reported
	Files      []string `json:"files,omitempty"`      // changed by the call, at most MaxResultFiles (20)
	MoreFiles  int64    `json:"moreFiles,omitempty"`
	// Differs are sentences: effects of the call that its consequence (ToolCall) did not announce.
	Differs []string `json:"differs,omitempty"`
}

// EarlierOutcomes counts the outcomes of earlier questions about the same call: same application,
// tool and arguments. Last is the newest of them.
type EarlierOutcomes struct {
	Approved int           `json:"approved"`
	Denied   int           `json:"denied"`
	Other    int           `json:"other"` // timed out or cancelled
	Last     *schema.Event `json:"last,omitempty"`
}

// Tokens counts the tokens that a model read and wrote.
type Tokens = schema.Tokens

// Session is the summary of the events with the same source_app and session_id. Times are by the
// hub's clock.
type Session struct {
	SourceApp       string `json:"source_app"`
	SessionID       string `json:"session_id"`
	ParentSessionID string `json:"parent_session_id,omitempty"`

	Title  string `json:"title,omitempty"` // the first prompt, shortened
	Cwd    string `json:"cwd,omitempty"`
	Branch string `json:"branch,omitempty"`
	Model  string `json:"model,omitempty"` // the latest

	// Person ran the session, according to the strongest known source. Only the owner of a token is
	// verified; the other sources are reports of the agent's machine.
	Person       string       `json:"person,omitempty"`
	PersonSource PersonSource `json:"personSource,omitempty" jsonschema:"enum=token,enum=email,enum=os"`

	StartedAt schema.Millis  `json:"startedAt"`
	LastAt    schema.Millis  `json:"lastAt"`
	Ended     bool           `json:"ended"` // the last event is a SessionEnd
	FirstID   schema.EventID `json:"firstId"`
	LastID    schema.EventID `json:"lastId"`
	// RunStatus is waiting_human while a question is pending, then ended or processing.
	RunStatus string `json:"status,omitempty" jsonschema:"enum=processing,enum=waiting_human,enum=ended"`

	Events    int64 `json:"events"`
	Tools     int64 `json:"tools"`    // completed tool calls
	Failures  int64 `json:"failures"` // of tools and of the agent
	Agents    int64 `json:"agents"`   // number of subagents
	Questions int64 `json:"asked"`
	Pending   int64 `json:"pending"`
	// HumanWaitMS is the time between StartedAt and LastAt in which at least one question waited
	// for a person. The rest is the time that the agent ran.
	HumanWaitMS int64 `json:"humanWaitMs,omitempty"`

	Tokens     *Tokens        `json:"tokens,omitempty"`     // if events or transcripts report them
	CostUSD    float64        `json:"costUsd,omitempty"`    // as reported by the agent, never estimated
	Transcript schema.EventID `json:"transcript,omitempty"` // the newest event with a transcript
	// Imported is set for a session that is known only from its transcript: the hash of the transcript
	// that hookback import sent last.
	Imported string `json:"imported,omitempty"`
}

// PathSpend is the path of GET /api/spend.
const PathSpend = "/api/spend"

// SpendReport is the result of GET /api/spend: the tokens and the cost that agents reported. Every
// grouping has the same total.
type SpendReport struct {
	From    schema.Millis `json:"from"`
	To      schema.Millis `json:"to"`
	Rows    []SpendRow    `json:"rows"` // by day, then the highest cost first
	Tokens  Tokens        `json:"tokens"`
	CostUSD float64       `json:"costUsd"`         // without the sessions that report only tokens
	LagMS   int64         `json:"lagMs,omitempty"` // how old the figures are; absent: current
}

// SpendRow is a group of a SpendReport. It has the members that the request groups by; an empty one
// is unknown.
type SpendRow struct {
	Day     *string `json:"day,omitempty"` // 2026-11-21
	App     *string `json:"source_app,omitempty"`
	Model   *string `json:"model,omitempty"`
	Person  *string `json:"person,omitempty"`
	Project *string `json:"project,omitempty"` // the working directory of the sessions
	Tokens  Tokens  `json:"tokens"`
	CostUSD float64 `json:"costUsd"`
}

// PersonSource is the origin of the name of the person that ran a session.
type PersonSource string

// The sources of a person.
const (
	PersonOfToken  PersonSource = "token" // the owner of the token that sent the events
	PersonOfEmail  PersonSource = "email" // reported by the agent's telemetry
	PersonOfSystem PersonSource = "os"    // the account of the agent's process, reported by its hook
)

// SetPending sets the number of pending questions, and the status of the run, which follows from it.
func (s *Session) SetPending(n int64) {
	switch s.Pending = n; {
	case n > 0:
		s.RunStatus = "waiting_human"
	case s.Ended:
		s.RunStatus = "ended"
	default:
		s.RunStatus = "processing"
	}
}

// MaxSessions is the maximum number of sessions on a page.
const MaxSessions = 200

// SessionPage is a page of GET /api/sessions, most recently active first. Pagination is by cursor.
// With q, a page can be short or empty and still have a next page.
type SessionPage struct {
	Sessions []Session `json:"sessions"`
	Next     string    `json:"next,omitempty"`  // cursor of the next page
	LagMS    int64     `json:"lagMs,omitempty"` // how old the state is; absent: current
}

// SessionDetail is the result of GET /api/session: a session and its tools, models and agents.
type SessionDetail struct {
	Session Session     `json:"session"`
	Tools   []ToolStat  `json:"tools"`           // most used first
	Models  []ModelUse  `json:"models"`          // highest cost first; only if the agent sends telemetry
	Agents  []AgentNode `json:"agents"`          // main agent first, then by start time; at most 501
	LagMS   int64       `json:"lagMs,omitempty"` // how old the state is; absent: current
}

// PathSessionFiles is the path of GET /api/session/files.
const PathSessionFiles = "/api/session/files"

// Limits of SessionFiles.
const (
	MaxFiles     = 500
	MaxFileEdits = 20
)

// SessionFiles are the files that the tool calls of a session changed, the last changed first. Calls that
// failed, were denied or interrupted do not count, and neither do changes by commands, except for
// patches.
type SessionFiles struct {
	Files []ChangedFile `json:"files"`          // at most MaxFiles (500)
	More  int64         `json:"more,omitempty"` // number of further files
}

// ChangedFile is a file that tool calls changed.
type ChangedFile struct {
	Path    string           `json:"path"`                                                      // as the agent wrote it
	Change  string           `json:"change" jsonschema:"enum=edited,enum=written,enum=deleted"` // the last one
	Added   int64            `json:"added"`                                                     // lines, summed over all calls; a written file adds all of its lines
	Removed int64            `json:"removed"`                                                   // lines
	Calls   int64            `json:"calls"`
	Events  []schema.EventID `json:"events"` // of the last calls with their arguments, newest first; at most MaxFileEdits (20)
	LastAt  schema.Millis    `json:"lastAt"`
}

// ModelUse is the usage of one model. Metrics do not report the number of requests, so usage known
// only from metrics does not count in Requests.
type ModelUse struct {
	Model      string  `json:"model"` // empty for the remaining models, if there are too many to list
	Requests   int64   `json:"requests,omitempty"`
	DurationMS int64   `json:"tookMs,omitempty"`
	Tokens     Tokens  `json:"tokens"`
	CostUSD    float64 `json:"costUsd,omitempty"`
}

// AgentNode is one agent of a session: the main agent, or a subagent below the agent that started
// it.
type AgentNode struct {
	AgentID   string `json:"agent_id"` // empty for the main agent
	AgentType string `json:"agent_type,omitempty"`
	Parent    string `json:"parent"` // agent_id of the agent that started it; empty for the main agent
	Model     string `json:"model,omitempty"`

	FirstID   schema.EventID `json:"firstId"`
	LastID    schema.EventID `json:"lastId"`
	StartedAt schema.Millis  `json:"startedAt"`
	LastAt    schema.Millis  `json:"lastAt"`
	Ended     bool           `json:"ended"`

	Events    int64 `json:"events"`
	Tools     int64 `json:"tools"` // completed tool calls
	Failures  int64 `json:"failures"`
	Questions int64 `json:"asked"`
	Pending   int64 `json:"pending"`
	// WaitedMS is the time in which at least one of its questions waited for a person, up to the last answer. The
	// pending ones wait since WaitingSince.
	WaitedMS     int64         `json:"waitedMs"`
	WaitingSince schema.Millis `json:"waitingSince,omitempty"`

	Requests int64   `json:"requests,omitempty"` // requests to models
	Tokens   *Tokens `json:"tokens,omitempty"`   // its own, excluding subagents
	CostUSD  float64 `json:"costUsd,omitempty"`
}

// ToolStat is the use of one tool. Durations run from PreToolUse to PostToolUse without the time
// that a person was waited for. Percentiles are accurate to 5 %.
type ToolStat struct {
	Tool     string `json:"tool"`
	Calls    int64  `json:"calls"`
	Failures int64  `json:"failures"`
	TotalMS  int64  `json:"totalMs"`
	MedianMS int64  `json:"medianMs"`
	P95MS    int64  `json:"p95Ms"`
}

// MaxDays is the maximum number of days in an Overview.
const MaxDays = 90

// Overview is the result of GET /api/overview: statistics of people and agents over some days.
type Overview struct {
	From schema.Millis `json:"from"`
	To   schema.Millis `json:"to"`

	Pending     int64 `json:"pending"`     // at present
	Undelivered int64 `json:"undelivered"` // answers of people that did not reach their agents, at present
	Answered    int64 `json:"answered"`    // by a person, within the days
	MedianMS    int64 `json:"medianMs"`    // of the time to answer, accurate to 5 %
	P95MS       int64 `json:"p95Ms"`

	Days   []DayCount      `json:"days"`   // one per day, in the requested time zone
	Waits  []LatencyBucket `json:"waits"`  // histogram of the time to answer, shortest first
	Agents []AgentStat     `json:"agents"` // sorted by name
	Tools  []ToolStat      `json:"tools"`  // most used first, at most 50

	LagMS int64 `json:"lagMs,omitempty"` // how old the statistics are; absent: current

	Unasked *UnaskedCalls `json:"unasked,omitempty"` // the tool calls about which no person was asked
}

// UnaskedCalls counts the tool calls that began within the days of an Overview and about which no
// person was asked. The risk of a call without a finding is unknown, not low.
type UnaskedCalls struct {
	Ran      int64 `json:"ran"`      // by the agent's own decision; including failed ones
	Risky    int64 `json:"risky"`    // the part of Ran with a finding of medium risk or more
	Refused  int64 `json:"refused"`  // by the agent's own reviewer
	Appealed int64 `json:"appealed"` // of Refused
	Denied   int64 `json:"denied"`   // by policy
	// Complete is false while the hub still rates older events, for example after an upgrade.
	Complete bool `json:"complete"`
}

// CallDecider names the one that decided whether a tool call runs.
type CallDecider string

// The deciders of a call.
const (
	DecidedByPerson CallDecider = "person" // a person was asked, in Hookback or at the agent
	DecidedByRule   CallDecider = "rule"   // a rule of the hub
	DecidedByPolicy CallDecider = "policy" // a rule of a hookback.json
	DecidedByGrant  CallDecider = "grant"  // a person's approval of an appeal
	DecidedByAgent  CallDecider = "agent"  // the agent by itself
)

// CallOutcome is the end of a tool call.
type CallOutcome string

// The outcomes of a call.
const (
	CallOpen    CallOutcome = "open" // no later event shows its end
	CallRan     CallOutcome = "ran"
	CallFailed  CallOutcome = "failed"
	CallRefused CallOutcome = "refused"
)

// RiskyCall is the hub's rating of a tool call, from GET /api/risky-calls and in a frame of type risk:
// a call with a finding of medium risk or more, or one that was refused.
type RiskyCall struct {
	ID        schema.EventID `json:"id"` // the event of the call's start
	SourceApp string         `json:"source_app"`
	SessionID string         `json:"session_id"`
	ToolName  string         `json:"tool_name"`
	Risk      schema.Risk    `json:"risk,omitempty"`  // the highest of the findings
	Codes     []string       `json:"codes,omitempty"` // the names of the findings, most severe first
	Decided   CallDecider    `json:"decided" jsonschema:"enum=person,enum=rule,enum=policy,enum=grant,enum=agent"`
	Outcome   CallOutcome    `json:"outcome" jsonschema:"enum=open,enum=ran,enum=failed,enum=refused"`
}

// RiskyCalls is the body of GET /api/risky-calls, oldest first.
type RiskyCalls struct {
	Calls []RiskyCall `json:"calls"`
}

// MaxRiskyCalls limits the calls of one response.
const MaxRiskyCalls = 1000

// PolicyLine is a rule for hookback.json about calls such as one that ran, from GET
// /api/policy-line, with its effect on the history.
type PolicyLine struct {
	Rule    string `json:"rule"`    // JSON
	Command string `json:"command"` // for a shell: hookback policy add '…'
	Text    string `json:"text"`    // the rule as a sentence
	Days    int    `json:"days"`    // of history that were read
	Asks    int64  `json:"asks"`    // calls that the rule would have asked about
	Ran     int64  `json:"ran"`     // the part of Asks that ran without failure
	// Draft is the start of a rule of the hub about such calls: its tool, its conditions and where the
	// call came from. A person chooses the rest.
	Draft PolicyDraft `json:"draft"`
	// Complete is false if there was more history than the hub reads for one request.
	Complete bool `json:"complete"`
}

// PolicyDraft has the members of a schema.RuleDraft from scratch that a call determines.
type PolicyDraft struct {
	Tool      string             `json:"tool"`           // as the agent names it
	When      []schema.Condition `json:"when,omitempty"` // absent: no condition matches the call reliably
	SourceApp string             `json:"source_app"`
	SessionID string             `json:"session_id"`
	Cwd       string             `json:"cwd,omitempty"`
}

// DayCount counts the outcomes of the questions that were resolved on one day.
type DayCount struct {
	Day       string `json:"day"` // 2026-11-21
	Approved  int64  `json:"approved"`
	Denied    int64  `json:"denied"`
	Answered  int64  `json:"answered"` // texts and choices
	Timeout   int64  `json:"timeout"`
	Cancelled int64  `json:"cancelled"` // by a person, withdrawn, or settled at the agent
	Dismissed int64  `json:"dismissed"` // in the agent
	Gone      int64  `json:"gone"`      // the agent or its session had ended
	Other     int64  `json:"other"`
}

// LatencyBucket counts the answers that took less than BelowMS, and at least the bound of the
// previous bucket.
type LatencyBucket struct {
	BelowMS int64 `json:"belowMs"`
	Count   int64 `json:"count"`
}

// AgentStat is the activity of one application over the days of an Overview.
type AgentStat struct {
	SourceApp string        `json:"source_app"`
	Events    int64         `json:"events"`
	Sessions  int64         `json:"sessions"` // active within the days
	Tools     int64         `json:"tools"`
	Failures  int64         `json:"failures"`
	Questions int64         `json:"asked"`
	Pending   int64         `json:"pending"`  // at present
	WaitedMS  int64         `json:"waitedMs"` // sum over its sessions of the time in which at least one question waited
	LastAt    schema.Millis `json:"lastAt"`
	Ended     bool          `json:"ended"` // its latest session has ended
	Tokens    *Tokens       `json:"tokens,omitempty"`
	CostUSD   float64       `json:"costUsd,omitempty"`
}
