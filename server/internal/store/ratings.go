package store

import (
	"context"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/history"
)

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
	Agent  string `json:"agent,omitempty"` // the coding agent
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
	Quarter    int64
	App, Agent string
	Decided    history.CallDecider
	Risk       schema.Risk // empty: no finding
	Outcome    history.CallOutcome
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
