package schema

// SearchResult is one page of GET /events/search: the matching events, oldest
// first. A search looks at a bounded stretch of the log at a time. When Complete
// is false, ask again with before=SearchedTo (after=SearchedTo when searching
// upwards), even when Events is empty.
type SearchResult struct {
	Events     []Event `json:"events"`
	SearchedTo EventID `json:"searchedTo"`
	Complete   bool    `json:"complete"` // nothing more matches in that direction
}

// QuestionContext is what led to a question, from GET /events/:id/context.
type QuestionContext struct {
	Before  []Event         `json:"before"` // the session's last events before it, oldest first, at most 8
	Earlier EarlierOutcomes `json:"earlier"`
}

// EarlierOutcomes counts how questions about the same call (same application, same tool,
// same arguments) ended before, and names the newest of them.
type EarlierOutcomes struct {
	Approved int    `json:"approved"`
	Denied   int    `json:"denied"`
	Other    int    `json:"other"` // timed out, cancelled
	Last     *Event `json:"last,omitempty"`
}

// Tokens counts what a model read and wrote.
type Tokens struct {
	Input      int64 `json:"input"`
	Output     int64 `json:"output"`
	CacheRead  int64 `json:"cacheRead,omitempty"`
	CacheWrite int64 `json:"cacheWrite,omitempty"`
}

// Session sums up the events with the same source_app and session_id. Times are
// the hub's clock.
type Session struct {
	SourceApp       string `json:"source_app"`
	SessionID       string `json:"session_id"`
	ParentSessionID string `json:"parent_session_id,omitempty"`

	Title  string `json:"title,omitempty"` // the first prompt, shortened
	Cwd    string `json:"cwd,omitempty"`
	Branch string `json:"branch,omitempty"`
	Model  string `json:"model,omitempty"` // the latest

	StartedAt Millis  `json:"startedAt"`
	LastAt    Millis  `json:"lastAt"`
	Ended     bool    `json:"ended"` // a SessionEnd, and nothing after it
	FirstID   EventID `json:"firstId"`
	LastID    EventID `json:"lastId"`

	Events    int64 `json:"events"`
	Tools     int64 `json:"tools"`    // calls that came to an end
	Failures  int64 `json:"failures"` // of tools and of the agent itself
	Agents    int64 `json:"agents"`   // subagents
	Questions int64 `json:"asked"`
	Pending   int64 `json:"pending"`
	WaitedMS  int64 `json:"waitedMs"` // time that settled questions waited for a person
	// HumanWaitMS is the time between StartedAt and LastAt in which any question waited
	// for a person, each moment once: what is left is how long the agent ran.
	HumanWaitMS int64 `json:"humanWaitMs,omitempty"`

	Tokens  *Tokens `json:"tokens,omitempty"`  // where events or transcripts carry them
	CostUSD float64 `json:"costUsd,omitempty"` // as the agent reported it, never estimated
	// ContextPercent is how much of its context window is in use, by its status line.
	ContextPercent float64 `json:"contextPercent,omitempty"`
	Transcript     EventID `json:"transcript,omitempty"` // the newest event with a chat
}

// MaxSessions is how many sessions a page can have.
const MaxSessions = 200

// SessionPage is a page of GET /api/sessions, the latest active first. With q it
// can be short, or even empty, and still have a page behind it.
type SessionPage struct {
	Sessions []Session `json:"sessions"`
	Next     string    `json:"next,omitempty"` // cursor of the page behind this one
}

// SessionDetail is GET /api/session: a session and the tools, models and agents in it.
type SessionDetail struct {
	Session Session     `json:"session"`
	Tools   []ToolStat  `json:"tools"`  // the most used first
	Models  []ModelUse  `json:"models"` // the dearest first; where the agent's telemetry tells
	Agents  []AgentNode `json:"agents"` // the main one first, then as they began; at most 501
}

// ModelUse is what requests to one model took. Of what is only known from metrics the
// requests are not counted.
type ModelUse struct {
	Model      string  `json:"model"` // empty: those that are too many to be named
	Requests   int64   `json:"requests,omitempty"`
	DurationMS int64   `json:"tookMs,omitempty"`
	Tokens     Tokens  `json:"tokens"`
	CostUSD    float64 `json:"costUsd,omitempty"`
}

// AgentNode is one agent of a session: the main one, or a subagent below the one that
// started it.
type AgentNode struct {
	AgentID   string `json:"agent_id"` // empty: the main agent
	AgentType string `json:"agent_type,omitempty"`
	Parent    string `json:"parent"` // the agent_id of who started it; empty: the main agent
	Model     string `json:"model,omitempty"`

	FirstID   EventID `json:"firstId"`
	LastID    EventID `json:"lastId"`
	StartedAt Millis  `json:"startedAt"`
	LastAt    Millis  `json:"lastAt"`
	Ended     bool    `json:"ended"`

	Events    int64 `json:"events"`
	Tools     int64 `json:"tools"` // calls that came to an end
	Failures  int64 `json:"failures"`
	Questions int64 `json:"asked"`
	Pending   int64 `json:"pending"`
	WaitedMS  int64 `json:"waitedMs"` // time that its settled questions waited for a person

	Requests int64   `json:"requests,omitempty"` // to models
	Tokens   *Tokens `json:"tokens,omitempty"`   // its own, without its subagents'
	CostUSD  float64 `json:"costUsd,omitempty"`
}

// ToolStat is how often a tool was used and how long it took. Durations are
// between PreToolUse and PostToolUse without the time a person was waited for;
// percentiles are within 5 %.
type ToolStat struct {
	Tool     string `json:"tool"`
	Calls    int64  `json:"calls"`
	Failures int64  `json:"failures"`
	TotalMS  int64  `json:"totalMs"`
	MedianMS int64  `json:"medianMs"`
	P95MS    int64  `json:"p95Ms"`
}

// MaxDays is how many days an Overview can span.
const MaxDays = 90

// Overview is GET /api/overview: how people and agents did over some days.
type Overview struct {
	From Millis `json:"from"`
	To   Millis `json:"to"`

	Pending     int64 `json:"pending"`     // now
	Undelivered int64 `json:"undelivered"` // now
	Answered    int64 `json:"answered"`    // by a person, within the days
	MedianMS    int64 `json:"medianMs"`    // of the time to answer, within 5 %
	P95MS       int64 `json:"p95Ms"`

	Days   []DayCount      `json:"days"`   // one for each day, in the time zone asked for
	Waits  []LatencyBucket `json:"waits"`  // of the time to answer, shortest first
	Agents []AgentStat     `json:"agents"` // by name
	Tools  []ToolStat      `json:"tools"`  // the most used first, at most 50
}

// DayCount is how the questions ended that ended on one day.
type DayCount struct {
	Day       string `json:"day"` // 2026-11-21
	Approved  int64  `json:"approved"`
	Denied    int64  `json:"denied"`
	Answered  int64  `json:"answered"` // texts and choices
	Timeout   int64  `json:"timeout"`
	Cancelled int64  `json:"cancelled"` // and withdrawn
	Other     int64  `json:"other"`
}

// LatencyBucket counts the answers that took less than BelowMS and at least the bin
// before it.
type LatencyBucket struct {
	BelowMS int64 `json:"belowMs"`
	Count   int64 `json:"count"`
}

// AgentStat is one application over the days of an Overview.
type AgentStat struct {
	SourceApp string  `json:"source_app"`
	Events    int64   `json:"events"`
	Sessions  int64   `json:"sessions"` // that were active within the days
	Tools     int64   `json:"tools"`
	Failures  int64   `json:"failures"`
	Questions int64   `json:"asked"`
	Pending   int64   `json:"pending"`  // now
	WaitedMS  int64   `json:"waitedMs"` // blocked: time that its questions waited for a person
	LastAt    Millis  `json:"lastAt"`
	Ended     bool    `json:"ended"` // its latest session has ended
	Tokens    *Tokens `json:"tokens,omitempty"`
	CostUSD   float64 `json:"costUsd,omitempty"`
}
