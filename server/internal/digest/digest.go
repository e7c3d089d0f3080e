// Package digest tells facts from events: what an agent was asked to do, which
// tools it used and how long they took, what failed, what it cost. It is pure:
// no clock, no store, and the same events always make the same session.
//
// Events are written by programs we don't know. Read believes no type, and what
// it can't make sense of is not there: it never fails.
//
// # What tokens and money count
//
// The same request to a model may be told by several sources: the agent's telemetry
// (a log record for each request, and metrics each minute), its status line, its
// transcript, the payloads of its events. Each of them adds up for itself, and one of
// them alone is believed:
//
//   - tokens: the agent's own sum of the session, else whichever of log records,
//     metrics and transcripts counted most, else what payloads say one by one;
//   - cost: whichever counted most of the agent's own sum (status line, result,
//     transcript), log records and metrics.
//
// Most, because a source can only miss something (it was switched on late, it is
// told once a minute) and never counts a request twice: what is repeated has the same
// idempotency key, or replaces what it said before.
package digest

import (
	"strings"
	"unicode"

	"github.com/hookback/hookback/schema"
)

// Event is what is read of an event. The slices are not changed or kept.
type Event struct {
	ID                       schema.EventID
	At                       int64 // when it was received, Unix ms
	App, Session, Type, Tool string
	Envelope                 []byte // members of a JSON object, without braces
	Payload, Chat, Question  []byte // nil: it has none
}

// EventFacts are what one event says.
type EventFacts struct {
	ID           schema.EventID
	At           int64
	App, Session string

	Kind               Kind
	Tool, UseID, Agent string
	InputHash          uint64 // a hash of the tool's arguments; 0: none were told
	AgentType          string
	ParentAgent        string // who started Agent, where it is said
	SubagentType       string // the type of subagent that this call asks for
	StartedAgent       string // the subagent that this call started
	ParentSession      string // the parent session
	Prompt             string
	Cwd, Branch, Model string

	Failed      bool // a tool or the agent itself
	Interrupted bool // by a person, which is no failure
	Error       string
	DurationMS  int64 // as the agent measured it; 0: it did not say

	HasQuestion, AsksPermission bool

	MessageID        string         // Used is this message's, which several events may carry
	Tokens           *schema.Tokens // by this event alone
	SessionTokens    *schema.Tokens // by the session so far
	TranscriptTokens *schema.Tokens // by all messages of the transcript
	HasTranscript    bool
	CostUSD          float64 // of the session so far; 0: not told
	ContextPercent   float64 // of its context window in use, percent; 0: not told

	RequestUsage Usage          // of a Requested, but for its tokens, which are Used
	Series       []MetricSeries // of a Metered

	teammate string // whose event it is, in an agent team
}

// MetricSeries is what metrics say of one model: so much more since the last time, or in
// all since they began.
type MetricSeries struct {
	Model string
	Key   string // a cumulative series, and when it began; empty: so much more
	Usage
}

// Kind is what an event is about, whatever its agent calls it.
type Kind int

// The kinds that mean something here.
const (
	Other Kind = iota
	ToolStart
	ToolEnds
	Prompt
	SessionEnd
	AgentStart
	AgentEnd
	ModelRequest // telemetry: one request to a model
	UsageMetrics // telemetry: metrics
	StatusReport // telemetry: a status line, a request that failed
)

// taskNotification begins a prompt that nobody typed: so Claude Code is told that a
// task in the background has ended.
const taskNotification = "<task-notification>"

// isTelemetry says that an agent's work is reported, seconds later, and not done.
func (k Kind) isTelemetry() bool { return k >= ModelRequest }

// kindByType are the names that agents have for a Kind, in lower case and without
// separators.
var kindByType = map[string]Kind{
	"pretooluse": ToolStart, "beforetool": ToolStart,
	"posttooluse": ToolEnds, "posttoolusefailure": ToolEnds, "aftertool": ToolEnds,
	"userpromptsubmit": Prompt, "userpromptsubmitted": Prompt, "beforesubmitprompt": Prompt,
	"sessionend":    SessionEnd,
	"subagentstart": AgentStart, "subagentstop": AgentEnd,
	"apirequest": ModelRequest, "apiusage": UsageMetrics, "apierror": StatusReport, "statusline": StatusReport,
}

// Telemetry reports whether events of this type come from an agent's telemetry, which
// knows the session but not what its hooks call the application.
func Telemetry(typ string) bool { return kindByType[normalizeType(typ)].isTelemetry() }

// failureTypes are the types of events that are a failure by themselves.
var failureTypes = map[string]bool{"posttoolusefailure": true, "stopfailure": true, "erroroccurred": true}

var separators = strings.NewReplacer("_", "", "-", "", ".", "", " ", "")

// normalizeType is an event type as the tables above have it.
func normalizeType(typ string) string { return strings.ToLower(separators.Replace(typ)) }

// Lengths of the texts that are kept, in characters.
const (
	titleLength = 120
	textLength  = 300
	pathLength  = 1000
)

// shorten makes one line of text, without characters that draw nothing, and cuts
// it at n characters.
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
