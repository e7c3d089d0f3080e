package agentclient

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hookback/hookback/agentclient/policy"
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/inbox"
)

// RequireApproval returns a policy that asks about exactly the tools in require. Each
// of them must also be in tools, the agent's tool names: a misspelled name would let
// its tool run without approval.
func RequireApproval(tools, require []string) (policy.Func, error) {
	for _, name := range require {
		if !slices.Contains(tools, name) {
			return nil, fmt.Errorf("%w: each requireApproval entry must also appear in toolNames; %q does not (there are %s)",
				schema.ErrInvalid, name, strings.Join(tools, ", "))
		}
	}
	require = slices.Clone(require)
	return func(call ToolCall) bool { return slices.Contains(require, call.Name) }, nil
}

// ByRole returns a policy that applies the policy of the caller's role. roleOf returns
// the role that a call is made for. Calls of roles without a policy ask.
func ByRole(roleOf func(ToolCall) string, policies map[string]policy.Policy) policy.Policy {
	return rolePolicy{roleOf, policies}
}

type rolePolicy struct {
	roleOf   func(ToolCall) string
	policies map[string]policy.Policy
}

// Evaluate implements policy.Policy.
func (b rolePolicy) Evaluate(call ToolCall) policy.Result {
	if p := b.policies[b.roleOf(call)]; p != nil {
		return p.Evaluate(call)
	}
	return policy.Result{Effect: policy.Ask}
}

// Approvals holds the settings of an approval gate in the format of a configuration
// file, JSON or YAML. It is off unless Enabled is set. As a Policy it asks about ToolNames, or
// applies its Policy field.
type Approvals struct {
	Enabled   bool          `json:"enabled" yaml:"enabled"`
	TimeoutMS int64         `json:"timeout-ms,omitempty" yaml:"timeout-ms,omitempty"` // time to answer; 0: 300,000
	ToolNames []string      `json:"tool-names,omitempty" yaml:"tool-names,omitempty"` // exact names
	Policy    policy.Policy `json:"-" yaml:"-"`                                       // replaces ToolNames
}

// Evaluate implements policy.Policy.
func (a Approvals) Evaluate(call ToolCall) policy.Result {
	switch {
	case !a.Enabled:
		return policy.Result{}
	case a.Policy != nil:
		return a.Policy.Evaluate(call)
	case slices.Contains(a.ToolNames, call.Name):
		return policy.Result{Effect: policy.Ask}
	default:
		return policy.Result{}
	}
}

// Details sets the timeout of a request, and lets the approver change the arguments of the
// call. Pass it to Guard.
func (a Approvals) Details(_ ToolCall, r *Request) {
	if r.ToolCall != nil {
		r.ToolCall.Editable = true
	}
	if a.TimeoutMS > 0 {
		r.Timeout = time.Duration(a.TimeoutMS) * time.Millisecond
	}
}

// QueueResult is a Result in the format of agents with an approval queue.
type QueueResult[T any] struct {
	Success   bool   `json:"success"`
	Cancelled bool   `json:"cancelled,omitempty"` // the call was not run
	Reason    string `json:"reason,omitempty"`    // why it was not run
	Output    T      `json:"output,omitzero"`
}

// Queue returns the result as {"success": true, …}, or as {"success": false,
// "cancelled": true, "reason": …} if nothing was run. The reason identifies timeouts.
func (r Result[T]) Queue() QueueResult[T] {
	if r.Status == Ran {
		return QueueResult[T]{Success: true, Output: r.Output}
	}
	return QueueResult[T]{Cancelled: true, Reason: r.notRunReason()}
}

// notRunReason returns why a call was not run.
func (r Result[T]) notRunReason() string {
	switch {
	case r.Status == Unconfirmed:
		return "A person has to confirm this first"
	case r.Decision != nil && r.Decision.Outcome == schema.Timeout:
		return "Approval request timed out: no one answered"
	case r.Status == Denied:
		return cmp.Or(r.Reason, inbox.DefaultDenial)
	default:
		return cmp.Or(r.Reason, r.Guidance, "No one approved this call")
	}
}

// ConfirmationResult is a Result in the format of agents with a confirmation step.
type ConfirmationResult struct {
	// Status is confirmation_requested, rejected, timeout, unanswered or completed.
	Status  string `json:"status"`
	Message string `json:"message,omitempty"`
}

// Confirmation returns the result for agents that distinguish a person's denial from a
// failed tool by {"status": "rejected"}. A timeout is {"status": "timeout"}, because
// it is not a denial.
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
	default: // canceled, or no hub
		return ConfirmationResult{Status: "unanswered", Message: r.notRunReason()}
	}
}
