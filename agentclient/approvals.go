package agentclient

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hookback/hookback/schema"
)

// RequireApproval asks about exactly the named tools. Each of them must be one of the
// agent's: a name with a slip in it would let its tool run unasked.
func RequireApproval(tools, require []string) (PolicyFunc, error) {
	for _, name := range require {
		if !slices.Contains(tools, name) {
			return nil, fmt.Errorf("%w: each requireApproval entry must also appear in toolNames; %q does not (there are %s)",
				schema.ErrInvalid, name, strings.Join(tools, ", "))
		}
	}
	require = slices.Clone(require)
	return func(call ToolCall) bool { return slices.Contains(require, call.Name) }, nil
}

// ByRole asks each caller's own policy: of says who the call is made for. A role that
// has none asks about everything.
func ByRole(roleOf func(ToolCall) string, policies map[string]Policy) Policy {
	return rolePolicy{roleOf, policies}
}

type rolePolicy struct {
	roleOf   func(ToolCall) string
	policies map[string]Policy
}

// Rule implements Policy.
func (b rolePolicy) Rule(call ToolCall) PolicyResult {
	if p := b.policies[b.roleOf(call)]; p != nil {
		return p.Rule(call)
	}
	return PolicyResult{Effect: ThenAsk}
}

// Approvals are the settings of an approval gate as a configuration file has them: it is
// off unless Enabled. As a Policy it asks about ToolNames, or what its own Policy says.
type Approvals struct {
	Enabled   bool     `json:"enabled"`
	TimeoutMS int64    `json:"timeout-ms,omitempty"` // that people have; 300,000 unless told
	ToolNames []string `json:"tool-names,omitempty"` // exactly
	Policy    Policy   `json:"-"`                    // in the place of ToolNames
}

// Rule implements Policy.
func (a Approvals) Rule(call ToolCall) PolicyResult {
	switch {
	case !a.Enabled:
		return PolicyResult{}
	case a.Policy != nil:
		return a.Policy.Rule(call)
	case slices.Contains(a.ToolNames, call.Name):
		return PolicyResult{Effect: ThenAsk}
	default:
		return PolicyResult{}
	}
}

// Details gives a request the timeout: for Guard.
func (a Approvals) Details(_ ToolCall, r *Request) {
	if a.TimeoutMS > 0 {
		r.Timeout = time.Duration(a.TimeoutMS) * time.Millisecond
	}
}

// QueueResult is a result in the words of an approval queue.
type QueueResult[T any] struct {
	Success   bool   `json:"success"`
	Cancelled bool   `json:"cancelled,omitempty"` // it was not run
	Reason    string `json:"reason,omitempty"`    // why not
	Output    T      `json:"output,omitzero"`
}

// Queue is the result as agents of an approval queue know it: {"success": true, …}, or
// {"success": false, "cancelled": true, "reason": …} where nothing was run. A timeout is
// told as one.
func (r Result[T]) Queue() QueueResult[T] {
	if r.Status == Ran {
		return QueueResult[T]{Success: true, Output: r.Output}
	}
	return QueueResult[T]{Cancelled: true, Reason: r.notRunReason()}
}

// notRunReason says why a call was not run.
func (r Result[T]) notRunReason() string {
	switch {
	case r.Status == Unconfirmed:
		return "A person has to confirm this first"
	case r.Decision != nil && r.Decision.Outcome == schema.Timeout:
		return "Approval request timed out: nobody answered"
	case r.Status == Denied:
		return cmp.Or(r.Reason, schema.DefaultDenial)
	default:
		return cmp.Or(r.Reason, r.Guidance, "Nobody said yes")
	}
}

// ConfirmationResult is a result in the words of a tool that waits for confirmation.
type ConfirmationResult struct {
	// Status is confirmation_requested, rejected, timeout, unanswered or completed.
	Status  string `json:"status"`
	Message string `json:"message,omitempty"`
}

// Confirmation is what became of the call, for agents that tell a person's no from a
// tool's failure by {"status": "rejected"}. When nobody answered in time it is
// {"status": "timeout"}, which is no refusal.
func (r Result[T]) Confirmation() ConfirmationResult {
	switch {
	case r.Status == Ran:
		return ConfirmationResult{Status: "completed"}
	case r.Status == Unconfirmed:
		return ConfirmationResult{Status: "confirmation_requested", Message: r.Guidance}
	case r.Status == Denied && r.Reason == "":
		return ConfirmationResult{Status: "rejected", Message: "Tool call was rejected by user."}
	case r.Status == Denied:
		return ConfirmationResult{Status: "rejected", Message: "Tool call was rejected by operator: " + r.Reason}
	case r.Decision != nil && r.Decision.Outcome == schema.Timeout:
		return ConfirmationResult{Status: "timeout", Message: "Tool call timed out waiting for approval"}
	default: // cancelled, or no hub
		return ConfirmationResult{Status: "unanswered", Message: r.notRunReason()}
	}
}
