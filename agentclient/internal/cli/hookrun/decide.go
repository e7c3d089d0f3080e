package hookrun

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/hookback/hookback/agentclient"
	"github.com/hookback/hookback/agentclient/hook"
	"github.com/hookback/hookback/agentclient/internal/cli"
	"github.com/hookback/hookback/agentclient/policy"
	"github.com/hookback/hookback/agentclient/project"
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
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
	if c.Point == hook.Appeal {
		return hookDecision{ask: result.Effect != policy.Deny && !truncated && h.appealWait > 0}
	}
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
		case result.Later && h.asksLater(c) && !truncated:
			hd.ask, c.AsksLater = true, true
		case truncated || c.Point == hook.DeferToPrompt || c.Ask == nil:
			hd.verdict = hook.Verdict{Effect: hook.Ask, Reason: policyReason("Approval required", result)}
		default:
			hd.ask = true
		}
	default:
		hd.ask = c.Point == hook.Prompt && !c.Reviewed && c.Ask != nil && !truncated
	}
	return hd
}

// mayHavePolicy reports whether a policy may apply to the call.
func (h *hookRun) mayHavePolicy(c *hook.Call) bool {
	return slices.ContainsFunc(h.policyDirs(c), func(dir string) bool { return cli.MayHavePolicy(h.policySource(dir)) })
}

// recordVerdict adds the policy's decision to the event.
func (hd *hookDecision) recordVerdict(e *schema.Event) {
	var v control.HookVerdict
	if raw := e.Extra[control.HookMember]; raw != nil && json.Unmarshal(raw, &v) != nil {
		return
	}
	v.By, v.Rule = control.ByPolicy, hd.policy.Location
	switch hd.policy.Effect {
	case policy.Allow:
		v.Verdict = control.VerdictAllow
	case policy.Deny:
		v.Verdict = control.VerdictDeny
	case policy.Ask:
		v.Verdict = control.VerdictAsk
	default:
		return
	}
	if raw, err := json.Marshal(v); err == nil { // strings always encode
		if e.Extra == nil {
			e.Extra = map[string]json.RawMessage{}
		}
		e.Extra[control.HookMember] = raw
	}
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
		switch {
		case i == 0:
			strictest = r
		case r.Effect == policy.Deny, r.Effect == policy.Ask: // another directory can't allow
			strictest = policy.Stricter(strictest, r)
		}
	}
	return strictest
}

// policyDirs returns the directories whose policies apply, the project's first. The main working tree can
// have a policy that is not in the repository.
func (h *hookRun) policyDirs(c *hook.Call) (dirs []string) {
	own := []string{h.env("CLAUDE_PROJECT_DIR"), workingDir(c)}
	for _, dir := range slices.Concat(own, c.Roots, []string{h.workDir, project.Main(cmp.Or(workingDir(c), h.workDir))}) {
		if dir = filepath.Clean(dir); filepath.IsAbs(dir) && !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	if len(dirs) == 0 {
		return []string{""} // the user's own policy applies everywhere
	}
	return dirs
}

// workingDir returns the directory that the agent works in, or "" if it does not say.
func workingDir(c *hook.Call) string {
	if c.Ask == nil || c.Ask.Context == nil {
		return ""
	}
	return c.Ask.Context.Cwd
}

func (h *hookRun) evaluatePolicyIn(dir string, c *hook.Call, truncated bool) policy.Result {
	call := agentclient.ToolCall{
		ID: c.Tool.ID, Agent: c.Event.Agent, Name: c.Tool.Name, Alias: c.Alias, Command: c.Command,
		Arguments: c.Tool.Arguments, Dir: cmp.Or(workingDir(c), h.workDir),
		Consequence: func() *schema.Consequence { return h.consequence(c) },
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
	if truncated && result.Effect != policy.Deny && cli.MayHavePolicy(h.policySource(dir)) {
		// A rule may match the part that is missing.
		reason := fmt.Sprintf("the call is larger than %d MiB, which is too large to check", maxStdin>>20)
		if c.Unreadable {
			reason = "the call can't be read completely, so it can't be checked"
		}
		return policy.Result{Effect: policy.Ask, Reason: reason}
	}
	return result
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
