package history

import "github.com/hookback/hookback/schema"

// PathNow is the path of GET /api/now.
const PathNow = "/api/now"

// MaxLanes is the maximum number of lanes of a NowReport.
const MaxLanes = 200

// NowReport is the result of GET /api/now: the agents that run now. Figures are of all sessions, also
// of those without a lane.
type NowReport struct {
	At schema.Millis `json:"at"` // when the report was made
	// UpTo is the position in the log up to which the lanes are complete. Events with a greater id are not in them.
	UpTo     schema.EventID `json:"upTo"`
	NeedsYou int64          `json:"needsYou"` // open requests that the caller may answer and whose agent still listens
	Working  int64          `json:"working"`  // sessions in state working
	CostUSD  float64        `json:"costUsd"`  // reported today

	Lanes     []NowLane     `json:"lanes"` // by state, then the latest activity first; at most 200
	MoreLanes int64         `json:"moreLanes"`
	StripFrom schema.Millis `json:"stripFrom"` // start of the first bucket of NowLane.Buckets
	// KnownFrom is the time from which the strips are complete. It is after StripFrom if there are more events than
	// the hub reads for one request.
	KnownFrom schema.Millis `json:"knownFrom"`
	BucketMS  int64         `json:"bucketMs"`
	LagMS     int64         `json:"lagMs,omitempty"` // how old costs, failures and titles are; absent: current
}

// LaneState is what the agent of a session does.
type LaneState string

// The states, in the order of the lanes.
const (
	LaneNeedsYou LaneState = "needs_you" // it waits for an answer that the caller may give
	LaneFailing  LaneState = "failing"   // its last three tool calls failed, or its turn ended with an error
	LaneTerminal LaneState = "terminal"  // it waits at its own prompt in the terminal
	LaneWorking  LaneState = "working"   // it sent an event in the last minute, or a tool call runs
	LaneIdle     LaneState = "idle"
	LaneFrozen   LaneState = "frozen" // a freeze stops it
	LaneGone     LaneState = "gone"   // it asked and listens no more
	LaneEnded    LaneState = "ended"
)

// TurnPhase is what the last events of a session report about its turn. It is "" while the agent works.
type TurnPhase string

// The phases.
const (
	PhaseNoTurn    TurnPhase = "no_turn"    // the session has started, without a prompt
	PhaseTurnEnded TurnPhase = "turn_ended" // it waits for the next prompt
	PhaseTerminal  TurnPhase = "terminal"   // it asks at its own prompt in the terminal
)

// NowLane is a session that was active in the last 30 minutes or has an open request.
type NowLane struct {
	SourceApp string    `json:"source_app"`
	SessionID string    `json:"session_id"`
	Title     string    `json:"title,omitempty"` // the first prompt, shortened
	State     LaneState `json:"state" jsonschema:"enum=needs_you,enum=failing,enum=terminal,enum=working,enum=idle,enum=frozen,enum=gone,enum=ended"`

	Step      *NowStep         `json:"step,omitempty"`     // absent: no tool call runs
	Requests  []schema.EventID `json:"requests,omitempty"` // open, oldest first; at most 20
	Failing   bool             `json:"failing,omitempty"`
	Phase     TurnPhase        `json:"phase,omitempty" jsonschema:"enum=no_turn,enum=turn_ended,enum=terminal"`
	Ended     bool             `json:"ended,omitempty"`
	StartedAt schema.Millis    `json:"startedAt"`
	LastAt    schema.Millis    `json:"lastAt"`
	Last      *NowEvent        `json:"last,omitempty"` // the last event; absent: before KnownFrom

	BlockedMS int64   `json:"blockedMs"` // time in which at least one question waited for a person
	CostUSD   float64 `json:"costUsd,omitempty"`
	Failures  int64   `json:"failures"`

	Buckets []int64   `json:"buckets,omitempty"` // numbers of events, oldest first; absent: no events
	Waits   []NowWait `json:"waits,omitempty"`   // disjoint, oldest first
}

// NowStep is the tool call that runs, or the request that waits.
type NowStep struct {
	Text      string        `json:"text"` // such as: Edit internal/order/list.go
	Since     schema.Millis `json:"since"`
	ToolUseID string        `json:"tool_use_id,omitempty"`
}

// NowEvent is the last event of a session.
type NowEvent struct {
	ID   schema.EventID `json:"id"`
	Type string         `json:"hook_event_type"`
	Tool string         `json:"tool_name,omitempty"`
	At   schema.Millis  `json:"at"`
}

// NowWait is an interval in which the session waited for a person.
type NowWait struct {
	From schema.Millis `json:"from"`
	To   schema.Millis `json:"to,omitempty"` // absent: it still waits
}
