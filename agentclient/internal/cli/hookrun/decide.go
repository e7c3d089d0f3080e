package hookrun

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/hookback/hookback/agentclient"
	"github.com/hookback/hookback/agentclient/hook"
	"github.com/hookback/hookback/agentclient/policy"
	"github.com/hookback/hookback/schema"
)

// hookDecision is the hook's decision about a call: ask a person, or return verdict.
type hookDecision struct {
	ask     bool
	verdict hook.Verdict  // the verdict if ask is false
	policy  policy.Result // the result of the policy
}

// decide applies the policy to the call. It asks no one.
func (h *hookRun) decide(c *hook.Call, truncated bool) hookDecision {
	if h.observe || c.Point == hook.Observe {
		return hookDecision{}
	}
	result := h.evaluatePolicy(c, truncated)
	hd := hookDecision{policy: result}
	switch result.Effect {
	case policy.Allow:
		if c.Capabilities.Has(hook.CanAllow) {
			hd.verdict = hook.Verdict{Effect: hook.Allow, Reason: policyReason("Allowed", result)}
		}
	case policy.Deny:
		hd.verdict = hook.Verdict{Effect: hook.Deny, Reason: policyReason("Denied", result)}
	case policy.Ask:
		switch {
		case truncated || c.Point == hook.DeferToPrompt || c.Ask == nil:
			hd.verdict = hook.Verdict{Effect: hook.Ask, Reason: policyReason("Approval required", result)}
		default:
			hd.ask = true
		}
	default:
		hd.ask = c.Point == hook.Prompt && c.Ask != nil && !truncated
	}
	return hd
}

// evaluatePolicy returns the result of the policies for the call. If a policy cannot be
// read or the call is truncated, a person must decide.
//
// The agent can work in one project and run its hooks in another: Cursor runs them in
// ~/.cursor, other agents in the directory that the model has changed to. The policy of
// the first directory decides and the others can only make it stricter, so a model gains
// nothing by changing the directory.
func (h *hookRun) evaluatePolicy(c *hook.Call, truncated bool) (strictest policy.Result) {
	if c.Tool == nil {
		return strictest
	}
	for i, dir := range h.policyDirs(c) {
		r := h.evaluatePolicyIn(dir, c, truncated)
		if i == 0 || r.Effect == policy.Deny && strictest.Effect != policy.Deny ||
			r.Effect == policy.Ask && strictest.Effect != policy.Deny && strictest.Effect != policy.Ask {
			strictest = r
		}
	}
	return strictest
}

// policyDirs returns the directories whose policies apply, the project's first.
func (h *hookRun) policyDirs(c *hook.Call) (dirs []string) {
	cwd := ""
	if c.Ask != nil && c.Ask.Context != nil {
		cwd = c.Ask.Context.Cwd
	}
	for _, dir := range []string{h.env("CLAUDE_PROJECT_DIR"), cwd, h.workDir} {
		if dir = filepath.Clean(dir); filepath.IsAbs(dir) && !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	if len(dirs) == 0 {
		return []string{""} // the user's own policy applies everywhere
	}
	return dirs
}

func (h *hookRun) evaluatePolicyIn(dir string, c *hook.Call, truncated bool) policy.Result {
	call := agentclient.ToolCall{
		ID: c.Tool.ID, Name: c.Tool.Name, Alias: c.Alias, Command: c.Command, Arguments: c.Tool.Arguments,
	}
	p, err := h.policySource(dir).LoadFor(call)
	if err != nil {
		h.logf("%v", err)
		reason := "the policy can't be read: " + err.Error()
		if policyErr := (*policy.Error)(nil); errors.As(err, &policyErr) && len(policyErr.Problems) > 0 {
			reason = "the policy can't be read: " + policyErr.Problems[0].String()
		}
		return policy.Result{Effect: policy.Ask, Reason: reason}
	}
	result := p.Evaluate(call)
	if truncated && result.Effect != policy.Deny && h.mayHavePolicy(dir) {
		// A rule may match the part that was cut.
		return policy.Result{Effect: policy.Ask, Reason: fmt.Sprintf("the call is larger than %d MiB, which is too large to check", maxStdin>>20)}
	}
	return result
}

// mayHavePolicy reports whether a policy file exists, or may exist and is unreadable.
func (h *hookRun) mayHavePolicy(dir string) bool {
	return slices.ContainsFunc(h.policySource(dir).Files(), func(file string) bool {
		_, err := os.Stat(file)
		return !errors.Is(err, fs.ErrNotExist)
	})
}

// policySource locates the policies for a directory.
func (h *hookRun) policySource(dir string) policy.Source {
	return policy.Source{Dir: dir, UserFile: h.policy, Env: h.env}
}

// policyReason returns the reason of a verdict: the action, the rule and the rule's reason.
func policyReason(action string, r policy.Result) string {
	text := action + " by the Hookback policy"
	if r.Location != "" {
		text += " (" + r.Location + ")"
	}
	if r.Reason != "" {
		text += ": " + r.Reason
	}
	return text
}

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
	switch {
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
	case d.Kind == schema.Permission && d.Outcome == schema.Deny:
		return hook.Verdict{Effect: hook.Deny, Reason: hook.DenialReason(cmp.Or(d.Reason, d.Comment), d.Guidance)}
	case d.Answered() && d.Kind != schema.Permission:
		return hook.Verdict{Effect: hook.Allow, Reason: cmp.Or(d.Reason, d.Comment), Answers: answersByQuestion(d)}
	case d.Outcome == agentclient.Unreachable:
		return h.fallbackVerdict(c, hd, noHub, h.noHubText())
	case d.Outcome == agentclient.Malformed:
		return h.fallbackVerdict(c, hd, malformedAnswer, cmp.Or(d.Reason, "The hub sent an answer that does not match the question. Nothing was approved."))
	case d.Outcome == schema.Timeout:
		return h.timeoutVerdict(c, hd)
	case !h.requiresSignature(d) && (d.Source == schema.ByAgent || d.Source == schema.BySessionEnd || d.Source == schema.ByOrphaned):
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
