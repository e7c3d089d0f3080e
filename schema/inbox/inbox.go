// Package inbox defines the messages of the lists of questions. They use the names of other
// systems: requests under /hitl have the format of a multi-approver inbox, and approvals under
// /api/approvals the format of a tool approval queue. Both are views of the same questions as
// [schema.Event].
package inbox

import (
	"encoding/json"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/internal/object"
)

// HitlStatus is the status of a request in the inbox.
type HitlStatus string

// The statuses of a request.
const (
	HitlPending   HitlStatus = "pending"
	HitlDecided   HitlStatus = "decided" // answered, or all voted without a quorum
	HitlExpired   HitlStatus = "expired"
	HitlCancelled HitlStatus = "cancelled" // cancelled or withdrawn
)

// HitlStatuses lists all statuses in inbox order.
var HitlStatuses = []HitlStatus{HitlPending, HitlDecided, HitlExpired, HitlCancelled}

// StatusOf returns the inbox status of a question. The store sorts its rows by the same rule.
func StatusOf(s *schema.Status) HitlStatus {
	switch {
	case s.Status == schema.Pending:
		return HitlPending
	case s.Status == schema.Responded, s.Outcome == schema.NoQuorum:
		return HitlDecided
	case s.Status == schema.TimedOut:
		return HitlExpired
	default:
		return HitlCancelled
	}
}

// HitlRequest is a question in the inbox under /hitl. GET /events/:id returns the whole event.
type HitlRequest struct {
	RequestID schema.EventID `json:"request_id"`
	Status    HitlStatus     `json:"status"`
	Type      schema.Kind    `json:"type"`
	Prompt    string         `json:"prompt"`
	Choices   []string       `json:"choices"` // the choices of a vote; empty: takes a text
	// AllowOther is set if a vote can also be a text that is not among the choices.
	AllowOther bool `json:"allow_other,omitempty"`

	Agent     string           `json:"agent"` // the source_app
	AgentPath []string         `json:"agent_path,omitempty"`
	SessionID string           `json:"session_id"`
	AgentID   string           `json:"agent_id,omitempty"` // this and the next two: as in the Event
	AgentType string           `json:"agent_type,omitempty"`
	ModelName string           `json:"model_name,omitempty"`
	ToolCall  *schema.ToolCall `json:"tool_call,omitempty"`
	Risk      schema.Risk      `json:"risk,omitempty"`

	CreatedAt schema.Millis `json:"created_at"`
	ExpiresAt schema.Millis `json:"expires_at,omitempty"` // absent if there is no deadline
	DecidedAt schema.Millis `json:"decided_at,omitempty"` // time of the resolution
	Revision  int64         `json:"revision"`             // a vote and a cancellation can name it

	RequiredApprovals int           `json:"required_approvals"`
	Recipients        []string      `json:"recipients,omitempty"` // absent: everyone with the right to answer
	Awaiting          []string      `json:"awaiting"`             // recipients who have not voted
	Votes             []schema.Vote `json:"votes"`
	WaitingOnMe       bool          `json:"waiting_on_me"` // the caller may vote and has not
	Reminders         int           `json:"reminders,omitempty"`
	EscalatedAt       schema.Millis `json:"escalated_at,omitempty"`

	Outcome            schema.Outcome             `json:"outcome,omitempty"`
	Source             schema.EndedBy             `json:"source,omitempty"`
	DecidedBy          string                     `json:"decided_by,omitempty"`
	Response           string                     `json:"response,omitempty"` // a text answer
	Answers            map[string]json.RawMessage `json:"answers,omitempty"`  // answers of a form
	Reason             string                     `json:"reason,omitempty"`
	Comment            string                     `json:"comment,omitempty"`
	CancellationReason string                     `json:"cancellation_reason,omitempty"`
	Delivery           schema.DeliveryState       `json:"delivery,omitempty"` // delivery of the answer to the agent
}

// MaxHitlPage is the maximum number of requests on a page. MaxHitlAgents is the maximum number of
// agents in one query.
const (
	MaxHitlPage   = 200
	MaxHitlAgents = 100
)

// HitlPage is a page of GET /hitl/requests, newest first.
type HitlPage struct {
	Requests   []HitlRequest `json:"requests"`
	NextCursor string        `json:"next_cursor,omitempty"` // absent on the last page
}

// HitlVote is the body of POST /hitl/requests/:id/vote.
type HitlVote struct {
	// Choice is approve or deny for a permission, a label for a choice, and the text for a
	// question or for a choice with allowOther.
	Choice            string                     `json:"choice"`
	Answers           map[string]json.RawMessage `json:"answers,omitempty"` // for a form, in place of Choice
	Comment           string                     `json:"comment,omitempty"`
	Reason            string                     `json:"reason,omitempty"`
	ModifiedArguments json.RawMessage            `json:"modified_arguments,omitempty" jsonschema:"type=object"`
	Revision          int64                      `json:"revision,omitempty"`
	// Proof is as in Response, for the Response that is equivalent to this vote.
	Proof json.RawMessage `json:"proof,omitempty" jsonschema:"type=object"`
}

// HitlCancel is the body of POST /hitl/requests/:id/cancel.
type HitlCancel struct {
	Reason   string `json:"reason,omitempty"`
	Revision int64  `json:"revision,omitempty"` // as in Cancel
}

// HitlStats is the result of GET /hitl/stats.
type HitlStats struct {
	PendingCount   int64 `json:"pendingCount"`
	ResolversCount int64 `json:"resolversCount"` // pending requests whose agent is known to wait
	ResponsesCount int64 `json:"responsesCount"` // decided requests in the database
	WaitingOnMe    int64 `json:"waitingOnMe"`    // pending requests that the caller may vote on and has not

	Agents []string `json:"agents"` // all agents that ever sent a request, by name
	// Counts covers the requests created within the days. Days has the same counts per day.
	Counts HitlCounts `json:"counts"`
	Days   []HitlDay  `json:"days"`
}

// HitlCounts is the number of requests in each status.
type HitlCounts struct {
	Pending   int64 `json:"pending"`
	Decided   int64 `json:"decided"`
	Expired   int64 `json:"expired"`
	Cancelled int64 `json:"cancelled"`
}

// All returns pointers to the counts by status, to read or set them.
func (c *HitlCounts) All() map[HitlStatus]*int64 {
	return map[HitlStatus]*int64{
		HitlPending: &c.Pending, HitlDecided: &c.Decided, HitlExpired: &c.Expired, HitlCancelled: &c.Cancelled,
	}
}

// HitlDay is the current status counts of the requests created on one day.
type HitlDay struct {
	Day string `json:"day"` // 2026-11-21
	HitlCounts
}

// Approval is a pending permission in GET /api/approvals.
type Approval struct {
	ID          string          `json:"id"` // the event's id, as text
	ToolName    string          `json:"toolName"`
	Arguments   json.RawMessage `json:"arguments" jsonschema:"type=object"`
	RequestedAt string          `json:"requestedAt"` // RFC 3339, by the hub's clock
	SessionID   string          `json:"sessionId"`
	UserPrompt  string          `json:"userPrompt"`
	Message     string          `json:"message"` // the question, for the approver
}

// ApproveCall is the body of POST /api/approvals/:id/approve.
type ApproveCall struct {
	ModifiedArguments json.RawMessage `json:"modifiedArguments,omitempty" jsonschema:"type=object"`
	// Proof is as in Response, for a Response with permission true and these arguments.
	Proof json.RawMessage `json:"proof,omitempty" jsonschema:"type=object"`
}

// RejectCall is the body of POST /api/approvals/:id/reject.
type RejectCall struct {
	Reason string `json:"reason,omitempty"`
}

// AgentApproval is the body of POST /api/agent/approve: approved, or the same as decision_type.
type AgentApproval struct {
	ApprovalID   ApprovalID `json:"approvalId"`
	Approved     *bool      `json:"approved,omitempty"`
	DecisionType string     `json:"decision_type,omitempty" jsonschema:"enum=approve,enum=confirm,enum=deny"` // confirm is approve
	Reason       string     `json:"reason,omitempty"`                                                         // reason of a denial; default "User denied approval"
}

// Decision returns whether the approval is granted. Its errors are *schema.FieldError.
func (a *AgentApproval) Decision() (approved bool, err error) {
	switch {
	case a.DecisionType == "" && a.Approved == nil:
		return false, &schema.FieldError{Field: "approved", Detail: "is required: true or false"}
	case a.DecisionType == "":
		return *a.Approved, nil
	case a.DecisionType != "approve" && a.DecisionType != "confirm" && a.DecisionType != "deny":
		return false, &schema.FieldError{Field: "decision_type", Detail: "must be approve, confirm or deny"}
	}
	approved = a.DecisionType != "deny"
	if a.Approved != nil && *a.Approved != approved {
		return false, &schema.FieldError{Field: "decision_type", Detail: "must agree with approved"}
	}
	return approved, nil
}

// ApprovalID is the id of an approval as text. A number is accepted too, because POST /events
// returns one.
type ApprovalID string

// UnmarshalJSON accepts "42" and 42.
func (id *ApprovalID) UnmarshalJSON(b []byte) error {
	var number schema.EventID
	if json.Unmarshal(b, &number) == nil {
		*id = ApprovalID(number.String())
		return nil
	}
	return json.Unmarshal(b, (*string)(id))
}

// Bodies that decide something are decoded strictly: a duplicate or unknown name, or one in a
// different case, must not decide anything.

// UnmarshalJSON matches member names exactly; null counts as absent.
func (v *HitlVote) UnmarshalJSON(b []byte) error { return object.DecodeStrict(b, v) }

// UnmarshalJSON matches member names exactly; null counts as absent.
func (c *HitlCancel) UnmarshalJSON(b []byte) error { return object.DecodeStrict(b, c) }

// UnmarshalJSON matches member names exactly; null counts as absent.
func (c *ApproveCall) UnmarshalJSON(b []byte) error { return object.DecodeStrict(b, c) }

// UnmarshalJSON matches member names exactly; null counts as absent.
func (c *RejectCall) UnmarshalJSON(b []byte) error { return object.DecodeStrict(b, c) }

// UnmarshalJSON matches member names exactly; null counts as absent.
func (a *AgentApproval) UnmarshalJSON(b []byte) error { return object.DecodeStrict(b, a) }

// DefaultDenial is the reason of an AgentApproval that denies without one.
const DefaultDenial = "User denied approval"

// The paths of the inbox. Each path is also available under PathAuthenticated.
const (
	PathHitlRequests  = "/hitl/requests"
	PathHitlRequest   = "/hitl/requests/:id"
	PathHitlVote      = "/hitl/requests/:id/vote"
	PathHitlCancel    = "/hitl/requests/:id/cancel"
	PathHitlStats     = "/hitl/stats"
	PathAuthenticated = "/authenticated"
	PathApprovals     = "/api/approvals"
	PathApprovalFeed  = "/api/approvals/stream"
	PathApproval      = "/api/approvals/:id"
	PathApproveCall   = "/api/approvals/:id/approve"
	PathRejectCall    = "/api/approvals/:id/reject"
	PathAgentApprove  = "/api/agent/approve"
)
