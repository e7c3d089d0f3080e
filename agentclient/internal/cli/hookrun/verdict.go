package hookrun

import (
	"cmp"
	"errors"
	"slices"

	"github.com/hookback/hookback/agentclient"
	"github.com/hookback/hookback/agentclient/hook"
	"github.com/hookback/hookback/agentclient/policy"
	"github.com/hookback/hookback/schema"
)

// Reasons for withdrawing a question. They are sent to the hub.
var (
	errAgentExited   = errors.New(schema.ReasonAgentGone)
	errDismissed     = errors.New(schema.ReasonDismissed)
	errAnsweredThere = errors.New("answered in the agent's own prompt")
	errNoDashboard   = errors.New("no one had the dashboard open, so the agent decides at its own prompt")
	errHubSlow       = errors.New("the hub took too long to accept the question")
	errDeadline      = errors.New(schema.ReasonOwnDeadline)
)

// noDecisionReason is the reason why no person decided.
type noDecisionReason int

const (
	noHub           noDecisionReason = iota // no hub accepted the question
	noDashboard                             // a hub did, but no dashboard is open
	noAnswer                                // no answer in time
	malformedAnswer                         // the answer does not match the question
	canceled                                // a person or the hub canceled the question
	rejected                                // the hub rejected the question
)

// fallbackVerdict returns the verdict if no person decided. It allows the call only with
// --on-unreachable allow, and only if no person can have seen the question. If a hub is
// pinned, its address must be the one in use: the environment can name a dead port.
func (h *hookRun) fallbackVerdict(c *hook.Call, hd hookDecision, why noDecisionReason, cause string) hook.Verdict {
	v := hook.Verdict{Effect: c.Fallback, Reason: cause}
	if why == noHub || why == noAnswer || why == rejected {
		hubs, _ := h.selectHub().Hubs() // without an address no hub is known to have frozen anything
		if f := h.knownFreeze(c, hubs); f != nil {
			return c.Frozen(f.Text(), f.Guidance(), true)
		}
	}
	switch {
	case c.Point == hook.Appeal:
		return hook.Verdict{} // the refusal counts
	case c.PromptAfter > 0 && (why == noDashboard || why == noAnswer):
		return hook.Verdict{} // the agent opens its prompt, where a person decides
	case h.onUnreachable == thenAllow && !h.untrustedHub && (why == noHub || why == noDashboard):
		return hook.Verdict{Effect: hook.Allow, Reason: cause + " Allowed by --on-unreachable allow."}
	case h.onUnreachable == thenDeny:
		v.Effect = hook.Deny
	case h.onUnreachable == thenAsk:
		// If the agent cannot open a prompt, the adapter denies: no output would run the call.
		v.Effect = hook.Ask
		if c.Point == hook.Prompt && !c.Capabilities.Has(hook.CanAsk) {
			v.Effect = hook.Pass // the agent's prompt opens anyway
		}
	case hd.policy.Effect == policy.Ask && c.Point != hook.Prompt:
		// The agent might run the call without asking, but the policy requires a person.
		v.Effect = hook.Ask
	}
	return v
}

// verdictFor translates a decision into a verdict for the agent.
func (h *hookRun) verdictFor(c *hook.Call, hd hookDecision, d agentclient.Decision) hook.Verdict {
	switch {
	case d.Approved():
		v := hook.Verdict{Effect: hook.Allow, Reason: cmp.Or(d.Reason, d.Comment), Remember: d.Remember}
		if d.Edited {
			v.Arguments = d.Arguments
		}
		return v
	case d.Source == schema.ByFreeze && d.Outcome == schema.Deny:
		return c.Frozen(cmp.Or(d.Reason, d.Comment), d.Guidance, d.Interrupt)
	case d.Kind == schema.Permission && d.Outcome == schema.Deny:
		return hook.Denial(cmp.Or(d.Reason, d.Comment), d.Guidance, d.Interrupt)
	case d.Answered() && d.Kind != schema.Permission:
		return hook.Verdict{Effect: hook.Allow, Reason: cmp.Or(d.Reason, d.Comment), Answers: answersByQuestion(d)}
	case d.Outcome == agentclient.Unreachable:
		return h.fallbackVerdict(c, hd, noHub, h.noHubText())
	case d.Outcome == agentclient.Malformed:
		h.logf("an answer was rejected: %s", cmp.Or(d.Reason, "it does not match the question"))
		return h.fallbackVerdict(c, hd, malformedAnswer, cmp.Or(d.Reason, "The hub sent an answer that does not match the question. Nothing was approved."))
	case d.Outcome == schema.Timeout:
		return h.timeoutVerdict(c, hd)
	case !h.requiresSignature(d) && slices.Contains([]schema.EndedBy{schema.ByAgent, schema.ByDismissal, schema.BySessionEnd, schema.ByOrphaned}, d.Source):
		return hook.Verdict{} // answered at the agent, which has continued
	default:
		cause := "The question was canceled without an answer. Nothing was approved."
		if d.Reason != "" {
			cause += " " + d.Reason
		}
		return h.fallbackVerdict(c, hd, canceled, cause)
	}
}

// answersByQuestion returns the answers by question ID. A single answer has the ID "".
func answersByQuestion(d agentclient.Decision) map[string][]string {
	if d.Answers != nil {
		return d.Answers
	}
	return map[string][]string{"": {d.Choice + d.Text}}
}

// noHubText states that no hub answers, and the next step.
func (h *hookRun) noHubText() string {
	return "No Hookback hub answers at " + h.selectHub().HubAddress() + ", so no one could be asked. Start the hub there, or set HOOKBACK_URL to the address of another hub."
}

// noDashboardText states that no one would see the question, and the next step.
func (h *hookRun) noDashboardText() string {
	return "No one has the dashboard of the Hookback hub open (" + h.selectHub().HubAddress() + "), so no one was asked. Open it and try again."
}

// requiresSignature reports whether a trusted hub should have signed d and has not. Anyone
// can claim that the agent has continued; the policy must then still be followed.
func (h *hookRun) requiresSignature(d agentclient.Decision) bool { return h.pinned && !d.Signed }

// failRunReason instructs the agent to stop. It is the reason of a timeout with
// --on-timeout fail_run.
const failRunReason = "No one answered in time. Nothing was approved. Without an answer this run must not continue: stop here and report that."

// timeoutVerdict returns the verdict if no one answered in time.
func (h *hookRun) timeoutVerdict(c *hook.Call, hd hookDecision) hook.Verdict {
	if h.onTimeout == schema.FailRun && c.PromptAfter == 0 {
		return hook.Verdict{Effect: hook.Deny, Reason: failRunReason}
	}
	return h.fallbackVerdict(c, hd, noAnswer, "No one answered in time. Nothing was approved.")
}

// errorVerdict returns the verdict for an error of Client.Ask. cause is the reason why the
// hook canceled the question, or nil. answered is false if the agent interrupted the hook.
func (h *hookRun) errorVerdict(c *hook.Call, hd hookDecision, cause, err error) (v hook.Verdict, answered bool) {
	switch {
	case errors.Is(cause, errNoDashboard):
		return h.fallbackVerdict(c, hd, noDashboard, h.noDashboardText()), true
	case errors.Is(cause, errHubSlow):
		return h.fallbackVerdict(c, hd, noHub, h.noHubText()), true
	case errors.Is(cause, errDeadline):
		return h.timeoutVerdict(c, hd), true
	case errors.Is(err, agentclient.ErrTimedOut):
		return h.timeoutVerdict(c, hd), true
	case cause == nil:
		h.logf("question rejected: %v", err)
		return h.fallbackVerdict(c, hd, rejected, "No one could be asked: "+err.Error()+"."), true
	default:
		return v, false
	}
}
