package store

import (
	"context"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/history"
)

// Projections are tables that are computed from the log.
type Projections interface {
	// ProjectionCursor returns the log position up to which the projections are complete.
	ProjectionCursor(ctx context.Context) (cursor int64, err error)

	// ApplyProjection adds d to the projections and advances the cursor, atomically. It fails
	// with ErrConflict if the cursor is not at d.From.
	ApplyProjection(ctx context.Context, d *ProjectionBatch) error

	// ProjectionLag returns how far the projections are behind the log.
	ProjectionLag() Lag

	// Sessions returns the facts of the sessions that f selects, latest active first. next is
	// the Before of the next page; 0: this is the last one. A text search returns the sessions
	// with the newest events first, each page sorted by activity, and may return a short or
	// empty page that still has a next one.
	Sessions(ctx context.Context, f SessionFilter) (facts [][]byte, next int64, err error)

	// SessionsWithID returns the sessions with this session ID in any application, latest
	// active first.
	SessionsWithID(ctx context.Context, session string) (keys []SessionKey, _ error)

	// SessionFacts returns the stored facts of a session; nil if there is none.
	SessionFacts(ctx context.Context, app, session string) (facts []byte, err error)

	// SessionTools returns the tool uses of the session whose first event is given.
	SessionTools(ctx context.Context, first schema.EventID) (map[ToolKey]ToolTime, error)

	// SessionsOf returns the number of sessions of an application that were active since the
	// given time, and the facts of its latest session; nil if it has none.
	SessionsOf(ctx context.Context, app string, since time.Time) (active int64, latest []byte, err error)

	// PendingCounts returns the number of pending questions of each session that has any.
	PendingCounts(ctx context.Context) (map[SessionKey]int64, error)

	// Activity returns the activity of each application since quarter from.
	Activity(ctx context.Context, from int64) (map[string]Activity, error)

	// Spend returns the usage of the sessions in the quarter-hours from (inclusive) to to (exclusive).
	Spend(ctx context.Context, from, to int64) (map[SpendGroup]Spend, error)

	// Decisions returns how questions were resolved in the quarter-hours from (inclusive) to
	// to (exclusive).
	Decisions(ctx context.Context, from, to int64) (map[Decision]int64, error)

	// ToolTimes returns the uses of all tools since quarter from. Keys have only Tool and Bucket.
	ToolTimes(ctx context.Context, from int64) (map[ToolKey]ToolTime, error)
}

// Add returns a + b.
func (a Activity) Add(b Activity) Activity {
	return Activity{
		Events: a.Events + b.Events, Tools: a.Tools + b.Tools, Failures: a.Failures + b.Failures,
		Questions: a.Questions + b.Questions, WaitedMS: a.WaitedMS + b.WaitedMS,
		Tokens:  a.Tokens.Add(b.Tokens),
		CostUSD: a.CostUSD + b.CostUSD,
	}
}

// Negate returns -a, which Add uses to subtract.
func (a Activity) Negate() Activity {
	return Activity{
		Events: -a.Events, Tools: -a.Tools, Failures: -a.Failures, Questions: -a.Questions, WaitedMS: -a.WaitedMS,
		Tokens: history.Tokens{
			Input: -a.Tokens.Input, Output: -a.Tokens.Output, CacheRead: -a.Tokens.CacheRead, CacheWrite: -a.Tokens.CacheWrite,
		},
		CostUSD: -a.CostUSD,
	}
}

// QuarterMS is the bucket size of projections in ms, a quarter of an hour: in every time
// zone a day begins at a multiple of it.
const QuarterMS = 15 * 60 * 1000

// LogEntry is an input of the projections: a new event or a resolution.
type LogEntry struct {
	Seq        int64
	Event      *Event // complete; Status is the initial one, or the one after the resolution
	Transcript []byte // transcript of a new event
	Ends       bool   // the entry is a resolution
}

// ProjectionBatch is the change that a batch of log entries makes to the projections.
type ProjectionBatch struct {
	From, To int64 // covers the log after From up to To; applied only if the cursor is at From
	// JoinUntil, if it is not nil, lets the batch wait for the commit of another write, which costs no
	// separate flush to disk. It is committed alone once the channel is closed.
	JoinUntil       <-chan struct{}
	Sessions        []SessionRow
	RemovedSessions []SessionKey // sessions that moved to another application; their rows are removed, and they had no tools
	Activity        map[ActivityKey]Activity
	Decisions       map[Decision]int64 // counts to add
	ToolTimes       map[ToolKey]ToolTime
	Spend           map[SpendKey]Spend
}

// SpendKey identifies the usage of one model by one session in a quarter-hour.
type SpendKey struct {
	Session schema.EventID // SessionRow.First
	Quarter int64
	Model   string
}

// SpendGroup identifies the usage of one model by a person in one application in a quarter-hour.
type SpendGroup struct {
	Quarter            int64
	App, Model, Person string
	Project            string // the directory of the session; empty: unknown
	Imported           bool   // reported by transcripts, not by running agents
}

// Spend is the usage of models.
type Spend struct {
	Tokens  history.Tokens
	CostUSD float64
}

// Add returns s + o.
func (s Spend) Add(o Spend) Spend {
	return Spend{Tokens: s.Tokens.Add(o.Tokens), CostUSD: s.CostUSD + o.CostUSD}
}

// SessionRow is the stored projection of a session.
type SessionRow struct {
	App, Session string
	Person       string // who ran it; empty: unknown
	Project      string // its directory; empty: unknown
	First, Last  schema.EventID
	Active       int64  // Unix ms of the last activity; the order of Sessions
	Imported     bool   // known from a transcript only
	Text         string // searchable text, lower case
	Facts        []byte
	// Transcript is the text of the session's newest transcript, in its event; nil: the stored one stays.
	Transcript *TranscriptText
	// Moved is set if the application, the person or the project differs from the stored one. The usage of the
	// session moves with it.
	Moved bool
}

// TranscriptText is the part of a transcript that a search finds.
type TranscriptText struct {
	Event schema.EventID
	Text  string // see filter.TranscriptText
}

// ActivityKey identifies an activity aggregate.
type ActivityKey struct {
	Quarter int64
	App     string
}

// Activity is the aggregated activity of one application.
type Activity struct {
	Events, Tools, Failures, Questions, WaitedMS int64
	Tokens                                       history.Tokens
	CostUSD                                      float64
}

// Decision identifies an aggregate of resolved questions.
type Decision struct {
	Quarter int64
	App     string
	Outcome string // approved, denied, answered, timeout, cancelled, other
	Person  bool   // decided by a person
	Bucket  int64  // histogram bucket of the waiting time
}

// ToolKey identifies an aggregate of tool calls: of one session, in one quarter, with
// similar duration.
type ToolKey struct {
	Session schema.EventID // SessionRow.First
	Quarter int64
	Tool    string
	Bucket  int64 // histogram bucket of the duration; -1: unknown
}

// ToolTime aggregates calls of a tool.
type ToolTime struct{ Calls, Failures, TotalMS int64 }

// Add returns t + u.
func (t ToolTime) Add(u ToolTime) ToolTime {
	return ToolTime{Calls: t.Calls + u.Calls, Failures: t.Failures + u.Failures, TotalMS: t.TotalMS + u.TotalMS}
}

// Ratings is the projection of tool calls: how risky each was, who decided about it, and how it
// ended. It has its own cursor, so that it can be filled in after the other projections.
type Ratings interface {
	// RatingCursor returns the log position up to which the ratings are complete.
	RatingCursor(ctx context.Context) (cursor int64, err error)

	// OverruledCalls returns the calls that the hub's directive decided, by the events that report
	// them with seq after < seq <= upTo: who decided. A grant doesn't count against a policy's denial.
	OverruledCalls(ctx context.Context, after, upTo int64) (map[schema.EventID]history.CallDecider, error)

	// OpenCalls returns the calls that may still change, in the order of the log.
	OpenCalls(ctx context.Context) ([]RatedCall, error)

	// ApplyRatings adds b to the projection and advances the cursor, atomically. It fails with
	// ErrConflict if the cursor is not at b.From. Calls whose event was removed are not stored.
	ApplyRatings(ctx context.Context, b *RatingBatch) error

	// RiskyCalls returns the risky and refused calls that f selects, oldest first: the newest
	// f.Limit matches.
	RiskyCalls(ctx context.Context, f RiskyCallFilter) ([]history.RiskyCall, error)

	// CallCounts returns the counts of calls that began in the quarter-hours from (inclusive) to to
	// (exclusive). Keys have no quarter.
	CallCounts(ctx context.Context, from, to int64) (map[CallKey]CallCount, error)
}

// RatedCall is a call and its state. The store keeps an open one as JSON.
type RatedCall struct {
	history.RiskyCall
	UseID  string `json:"use,omitempty"`
	Digest string `json:"digest,omitempty"` // of the tool and the arguments
	// Questions are the questions about the call that may have no answer yet.
	Questions []schema.EventID `json:"questions,omitempty"`
	Quarter   int64            `json:"quarter"` // of its first event
	Appealed  bool             `json:"appealed,omitempty"`
	Closed    bool             `json:"-"` // it no longer changes
}

// IsListed reports whether the call belongs in the list of risky calls: it has a finding of medium
// risk or more, or it was refused.
func (c *RatedCall) IsListed() bool {
	return c.Risk == schema.MediumRisk || c.Risk == schema.HighRisk || c.Risk == schema.CriticalRisk || c.Outcome == history.CallRefused
}

// CallKey identifies a count of calls.
type CallKey struct {
	Quarter int64
	Decided history.CallDecider
	Risk    schema.Risk // empty: no finding
	Outcome history.CallOutcome
}

// CallCount counts calls, and how many of them were appealed.
type CallCount struct{ Calls, Appealed int64 }

// RatingBatch is the change that a batch of log entries makes to the ratings.
type RatingBatch struct {
	From, To  int64           // see ProjectionBatch
	JoinUntil <-chan struct{} // see ProjectionBatch
	Calls     []RatedCall     // new or changed calls, each once
	Counts    map[CallKey]CallCount
}

// RiskyCallFilter selects calls. Zero values select everything.
type RiskyCallFilter struct {
	App, Session  string         // a session needs its application
	Before, After schema.EventID // exclusive
	Limit         int            // default: schema.RecentLimit
}
