// Package digest extracts facts from events: the prompt, the tools that were used and their
// durations, the failures and the cost. It sums them up per session. It is pure: it uses no
// clock and no store, and the same events always result in the same session.
//
// Events are written by programs outside our control. Parse trusts no JSON type: it ignores what
// it does not understand, and never fails.
//
// # Which tokens and costs count
//
// Several sources may report the same request to a model: the agent's telemetry (a log record
// per request, and metrics every minute), its transcript and the payloads of its events. Each
// source is summed up separately, and only one of them counts:
//
//   - tokens: the agent's own sum for the session, otherwise the largest of log records,
//     metrics and transcripts (the agent's hook reads the totals by model), otherwise the sum of the payloads;
//   - cost: the largest of the agent's own sum (result, transcript, and the status line of earlier
//     builds), log records and metrics.
//
// The sum of an imported transcript is added to log records, metrics and payloads, which then report
// later requests.
//
// The largest is right because a source can only miss requests (it was enabled late, it reports
// once a minute) and never counts one twice: a repeat has the same idempotency key or replaces
// the earlier value.
package digest

import (
	"strings"
	"unicode"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/history"
)

// Event is the input of Parse. The slices are neither modified nor retained.
type Event struct {
	ID                            schema.EventID
	At                            int64 // time of receipt, Unix ms
	App, Session, Type, Tool      string
	Envelope                      []byte // members of a JSON object, without the braces
	Payload, Transcript, Question []byte // nil if absent
}

// EventFacts are the facts of one event.
type EventFacts struct {
	ID           schema.EventID
	At           int64
	App, Session string

	Kind               Kind
	Tool, UseID, Agent string
	InputHash          uint64 // hash of the tool's arguments; 0: none
	AgentType          string
	ParentAgent        string // the agent that started Agent, if known
	SubagentType       string // the type of subagent that this call requests
	StartedAgent       string // the subagent that this call started
	ParentSession      string // id of the parent session
	Prompt             string
	Cwd, Branch, Model string

	// The person that ran the agent: the owner of the token that sent the event, and the reported names.
	TokenOwner, UserEmail, OSUser string

	Failed      bool // of a tool or of the agent itself
	Interrupted bool // by a person, which is not a failure
	Error       string
	DurationMS  int64 // as measured by the agent; 0: unknown

	HasQuestion, AsksPermission bool
	AsksLater                   bool // the agent continues without the call

	MessageID        string          // the message of Tokens; several events may carry it
	Tokens           *history.Tokens // of this event alone
	SessionTokens    *history.Tokens // of the session so far
	TranscriptTokens *history.Tokens // of all messages in the transcript
	HasTranscript    bool
	ModelUsage       UsageByModel // of the session so far, from its transcript; nil: not reported
	CostUSD          float64      // of the session so far; 0: unknown

	RequestUsage Usage          // of a ModelRequest, except the tokens, which are in Tokens
	Series       []MetricSeries // of UsageMetrics

	Import *history.ImportedSession // of a SessionImport

	teammate string // the teammate that the event belongs to, in an agent team
}

// hasUsage reports whether the event reports tokens or cost.
func (f *EventFacts) hasUsage() bool {
	return f.Kind == ModelRequest || f.Series != nil || f.Tokens != nil || f.SessionTokens != nil || f.TranscriptTokens != nil ||
		f.ModelUsage != nil || f.CostUSD > 0
}

// MetricSeries is the usage of one model as metrics report it: either the increase since the
// last report, or the total since the series began.
type MetricSeries struct {
	Model string
	Key   string // identifies a cumulative series and its start; empty: an increase
	Usage
}

// Kind classifies an event independently of its agent's name for it.
type Kind int

// The kinds that this package distinguishes.
const (
	Other Kind = iota
	ToolStart
	ToolEnd
	Prompt
	SessionEnd
	AgentStart
	AgentEnd
	SessionImport
	ModelRequest // telemetry: one request to a model
	UsageMetrics // telemetry: metrics
	StatusReport // telemetry: a request that failed, or a status line of an earlier build
)

// taskNotification is the prefix of a prompt that no person typed: it notifies Claude Code that
// a background task has ended.
const taskNotification = "<task-notification>"

// isTelemetry reports whether the event reports, seconds later, work that was already done.
func (k Kind) isTelemetry() bool { return k >= ModelRequest }

// kindByType maps the agents' event types to kinds. The types are normalized by normalizeType.
var kindByType = map[string]Kind{
	"pretooluse": ToolStart, "beforetool": ToolStart,
	"posttooluse": ToolEnd, "posttoolusefailure": ToolEnd, "aftertool": ToolEnd,
	"userpromptsubmit": Prompt, "userpromptsubmitted": Prompt, "beforesubmitprompt": Prompt,
	"sessionend":    SessionEnd,
	"subagentstart": AgentStart, "subagentstop": AgentEnd,
	"apirequest": ModelRequest, "apiusage": UsageMetrics, "apierror": StatusReport, "statusline": StatusReport,
}

// IsFailure reports whether events of this type are failures in themselves.
func IsFailure(typ string) bool { return failureTypes[normalizeType(typ)] }

// IsTelemetry reports whether events of this type come from an agent's telemetry. Telemetry has
// the session id but not the application name that the agent's hooks send.
func IsTelemetry(typ string) bool { return kindByType[normalizeType(typ)].isTelemetry() }

// KindOf returns the kind of an event type.
func KindOf(typ string) Kind { return kindByType[normalizeType(typ)] }

// failureTypes are the types of events that are failures in themselves.
var failureTypes = map[string]bool{"posttoolusefailure": true, "stopfailure": true, "erroroccurred": true}

var separators = strings.NewReplacer("_", "", "-", "", ".", "", " ", "")

// normalizeType returns an event type as kindByType and failureTypes spell it: lower case,
// without separators.
func normalizeType(typ string) string { return strings.ToLower(separators.Replace(typ)) }

// Maximum lengths of stored texts, in characters.
const (
	titleLength = 120
	textLength  = 300
	pathLength  = 1000
	// personLength is enough for each name that a hub accepts.
	personLength = 254
)

// OneLine returns text as one line of at most n characters that are printable.
func OneLine(text string, n int) string { return shorten(text, n) }

// shorten returns text as one line of at most n characters. It collapses whitespace and removes
// characters that are not printable.
func shorten(text string, n int) string {
	var b strings.Builder
	space, length := false, 0
	for _, r := range text {
		if unicode.IsSpace(r) {
			space = length > 0
			continue
		}
		if !unicode.IsPrint(r) {
			continue
		}
		if space {
			b.WriteByte(' ')
			space = false
			length++
		}
		if length >= n-1 {
			b.WriteRune('…')
			break
		}
		b.WriteRune(r)
		length++
	}
	return b.String()
}
