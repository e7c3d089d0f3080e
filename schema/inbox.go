package schema

import "encoding/json"

// The words of this file are those that other systems know: requests under /hitl with
// the names of a multi-approver inbox, approvals under /api/approvals with those of a
// tool queue. They say the same of the same questions as an Event does.

// HitlStatus is where a request is, as its inbox sorts it.
type HitlStatus string

// The statuses of a request.
const (
	HitlPending   HitlStatus = "pending"
	HitlDecided   HitlStatus = "decided" // answered, or all voted without agreement
	HitlExpired   HitlStatus = "expired"
	HitlCancelled HitlStatus = "cancelled" // taken back, too
)

// HitlStatuses are all of them, in the order of an inbox.
var HitlStatuses = []HitlStatus{HitlPending, HitlDecided, HitlExpired, HitlCancelled}

// HitlStatus is where a question in this status stands in an inbox. The store sorts
// its rows the same way.
func (s *Status) HitlStatus() HitlStatus {
	switch {
	case s.Status == Pending:
		return HitlPending
	case s.Status == Responded, s.Outcome == NoQuorum:
		return HitlDecided
	case s.Status == TimedOut:
		return HitlExpired
	default:
		return HitlCancelled
	}
}

// HitlRequest is a question as the inbox under /hitl shows it. Its id is the event's:
// GET /events/:id has the rest.
type HitlRequest struct {
	RequestID EventID    `json:"request_id"`
	Status    HitlStatus `json:"status"`
	Type      Kind       `json:"type"`
	Prompt    string     `json:"prompt"`
	Choices   []string   `json:"choices"` // what a vote can be; none: a text is wanted

	Agent     string    `json:"agent"` // its source_app
	AgentPath []string  `json:"agent_path,omitempty"`
	SessionID string    `json:"session_id"`
	ToolCall  *ToolCall `json:"tool_call,omitempty"`
	Risk      Risk      `json:"risk,omitempty"`

	CreatedAt Millis `json:"created_at"`
	ExpiresAt Millis `json:"expires_at,omitempty"` // absent: it waits without a limit
	DecidedAt Millis `json:"decided_at,omitempty"` // when it ended, however
	Revision  int64  `json:"revision"`             // a vote may name it

	RequiredApprovals int      `json:"required_approvals"`
	Recipients        []string `json:"recipients,omitempty"` // absent: everyone who may answer
	Awaiting          []string `json:"awaiting"`             // recipients who have not voted
	Votes             []Vote   `json:"votes"`
	WaitingOnMe       bool     `json:"waiting_on_me"` // the caller may vote and has not
	Reminders         int      `json:"reminders,omitempty"`
	EscalatedAt       Millis   `json:"escalated_at,omitempty"`

	Outcome            Outcome                    `json:"outcome,omitempty"`
	Source             EndedBy                    `json:"source,omitempty"`
	DecidedBy          string                     `json:"decided_by,omitempty"`
	Response           string                     `json:"response,omitempty"` // a text answer
	Answers            map[string]json.RawMessage `json:"answers,omitempty"`  // of several questions
	Reason             string                     `json:"reason,omitempty"`
	Comment            string                     `json:"comment,omitempty"`
	CancellationReason string                     `json:"cancellation_reason,omitempty"`
	Delivery           DeliveryState              `json:"delivery,omitempty"` // of the answer to the agent
}

// MaxHitlPage is how many requests a page can have, MaxHitlAgents how many agents can
// be asked for at a time.
const (
	MaxHitlPage   = 200
	MaxHitlAgents = 100
)

// HitlPage is a page of GET /hitl/requests, the newest first.
type HitlPage struct {
	Requests   []HitlRequest `json:"requests"`
	NextCursor string        `json:"next_cursor,omitempty"` // absent: nothing is behind it
}

// HitlVote is the body of POST /hitl/requests/:id/vote.
type HitlVote struct {
	// Choice is approve or deny for a permission, a label for a choice, and the text
	// itself for a question.
	Choice            string                     `json:"choice"`
	Answers           map[string]json.RawMessage `json:"answers,omitempty"` // in the place of Choice, of several questions
	Comment           string                     `json:"comment,omitempty"`
	Reason            string                     `json:"reason,omitempty"`
	ModifiedArguments json.RawMessage            `json:"modified_arguments,omitempty" jsonschema:"type=object"`
	Revision          int64                      `json:"revision,omitempty"`
	// Proof is as in Response: of the Response that this vote stands for.
	Proof json.RawMessage `json:"proof,omitempty" jsonschema:"type=object"`
}

// HitlCancel is the body of POST /hitl/requests/:id/cancel.
type HitlCancel struct {
	Reason string `json:"reason,omitempty"`
}

// HitlStats is GET /hitl/stats.
type HitlStats struct {
	PendingCount   int64 `json:"pendingCount"`
	ResolversCount int64 `json:"resolversCount"` // pending ones whose agent is known to wait
	ResponsesCount int64 `json:"responsesCount"` // decided ones that are kept
	WaitingOnMe    int64 `json:"waitingOnMe"`    // pending ones that the caller may vote on and has not

	Agents []string `json:"agents"` // all that ever asked, by name
	// Counts are of the requests that were asked within the days, Days the same of each.
	Counts HitlCounts `json:"counts"`
	Days   []HitlDay  `json:"days"`
}

// HitlCounts is how many requests there are in each status.
type HitlCounts struct {
	Pending   int64 `json:"pending"`
	Decided   int64 `json:"decided"`
	Expired   int64 `json:"expired"`
	Cancelled int64 `json:"cancelled"`
}

// All are the counts by status, to read and to fill in.
func (c *HitlCounts) All() map[HitlStatus]*int64 {
	return map[HitlStatus]*int64{
		HitlPending: &c.Pending, HitlDecided: &c.Decided, HitlExpired: &c.Expired, HitlCancelled: &c.Cancelled,
	}
}

// HitlDay is what became by now of the requests that were asked on one day.
type HitlDay struct {
	Day string `json:"day"` // 2026-11-21
	HitlCounts
}

// Approval is a pending permission as GET /api/approvals lists it.
type Approval struct {
	ID          string          `json:"id"`
	ToolName    string          `json:"toolName"`
	Arguments   json.RawMessage `json:"arguments" jsonschema:"type=object"`
	RequestedAt string          `json:"requestedAt"` // RFC 3339, the hub's clock
	SessionID   string          `json:"sessionId"`
	UserPrompt  string          `json:"userPrompt"`
}

// ApproveCall is the body of POST /api/approvals/:id/approve.
type ApproveCall struct {
	ModifiedArguments json.RawMessage `json:"modifiedArguments,omitempty" jsonschema:"type=object"`
	// Proof is as in Response: of a Response with permission true and these arguments.
	Proof json.RawMessage `json:"proof,omitempty" jsonschema:"type=object"`
}

// RejectCall is the body of POST /api/approvals/:id/reject.
type RejectCall struct {
	Reason string `json:"reason,omitempty"`
}

// AgentApproval is the body of POST /api/agent/approve.
type AgentApproval struct {
	ApprovalID string `json:"approvalId"`
	Approved   *bool  `json:"approved"`
	Reason     string `json:"reason,omitempty"` // of a denial: "User denied approval" unless told
}

// What decides is read strictly: a name given twice, or in other letters, decides nothing.

// UnmarshalJSON reads exactly the members it knows; null is an absent one.
func (v *HitlVote) UnmarshalJSON(b []byte) error { return decodeObject(b, v, false) }

// UnmarshalJSON reads exactly the members it knows; null is an absent one.
func (c *HitlCancel) UnmarshalJSON(b []byte) error { return decodeObject(b, c, false) }

// UnmarshalJSON reads exactly the members it knows; null is an absent one.
func (c *ApproveCall) UnmarshalJSON(b []byte) error { return decodeObject(b, c, false) }

// UnmarshalJSON reads exactly the members it knows; null is an absent one.
func (c *RejectCall) UnmarshalJSON(b []byte) error { return decodeObject(b, c, false) }

// UnmarshalJSON reads exactly the members it knows; null is an absent one.
func (a *AgentApproval) UnmarshalJSON(b []byte) error { return decodeObject(b, a, false) }

// DefaultDenial is the reason of an AgentApproval that denies and gives none.
const DefaultDenial = "User denied approval"

// The paths of the inbox. Those under PathAuthenticated are the same once more.
const (
	PathHitlRequests  = "/hitl/requests"
	PathHitlRequest   = "/hitl/requests/:id"
	PathHitlVote      = "/hitl/requests/:id/vote"
	PathHitlCancel    = "/hitl/requests/:id/cancel"
	PathHitlStats     = "/hitl/stats"
	PathAuthenticated = "/authenticated"
	PathApprovals     = "/api/approvals"
	PathApproveCall   = "/api/approvals/:id/approve"
	PathRejectCall    = "/api/approvals/:id/reject"
	PathAgentApprove  = "/api/agent/approve"
)

var hitlRoutes = []Route{
	{"GET", PathHitlRequests, "Requests to people, the newest first", []Param{
		{"status", "pending, decided, expired or cancelled; every one unless told"},
		{"agent", "only of this agent, its source_app; may be given several times"},
		{"waiting_on_me", "true: only pending ones that the caller may vote on and has not"},
		{"from", "asked not before this time, the hub's clock, Unix ms"},
		{"to", "asked before this time, the hub's clock, Unix ms"},
		{"cursor", "next_cursor of the page before"},
		{"limit", "1 to 200, 50 unless told"},
	}, nil, HitlPage{}},
	{"GET", PathHitlRequest, "One request to people", nil, nil, HitlRequest{}},
	{"POST", PathHitlVote, "Vote on a request; one that takes a single vote is decided by it", nil, HitlVote{}, HitlRequest{}},
	{"POST", PathHitlCancel, "Cancel a pending request: its agent is told the outcome __cancelled__", nil, HitlCancel{}, HitlRequest{}},
	{"GET", PathHitlStats, "How many requests there are, and what became of those of the last days", []Param{
		{"days", "1 to 90, 14 unless told; today included"},
		{"from", "in the place of days: asked not before this time, Unix ms"},
		{"to", "with from: asked before this time, Unix ms; now unless told"},
		{"agent", "counts and days only of this agent; may be given several times"},
		{"tz", "the IANA time zone that the days are of, such as Europe/Berlin; UTC unless told"},
	}, nil, HitlStats{}},
}

var approvalRoutes = []Route{
	{"GET", PathApprovals, "Pending permissions under the names of a tool approval queue, the oldest first", nil, nil, []Approval{}},
	{"POST", PathApproveCall, "Approve a tool call, with other arguments if given", nil, ApproveCall{}, Event{}},
	{"POST", PathRejectCall, "Reject a tool call; the reason is passed back to the agent", []Param{
		{"reason", "the same as in the body, which goes first"},
	}, RejectCall{}, Event{}},
	{"POST", PathAgentApprove, "Approve or deny by the id of the approval", nil, AgentApproval{}, Event{}},
}

var inboxRoutes = func() []Route {
	routes := append([]Route{}, hitlRoutes...)
	for _, r := range hitlRoutes {
		r.Path = PathAuthenticated + r.Path
		routes = append(routes, r)
	}
	return append(routes, approvalRoutes...)
}()
