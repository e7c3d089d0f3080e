package main

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
	"github.com/hookback/hookback/schema"
)

// hookDecision is what a hook does with a call: it says the verdict, or asks a person.
type hookDecision struct {
	ask     bool
	verdict hook.Verdict             // when it doesn't ask
	policy  agentclient.PolicyResult // the policy's
}

// decide decides without asking anybody.
func (h *hookRun) decide(c *hook.Call, truncated bool) hookDecision {
	if h.observe || c.Point == hook.Observe {
		return hookDecision{}
	}
	result := h.evaluatePolicy(c, truncated)
	hd := hookDecision{policy: result}
	switch result.Effect {
	case agentclient.ThenAllow:
		if c.Capabilities.Has(hook.CanAllow) {
			hd.verdict = hook.Verdict{Effect: hook.Allow, Reason: policyReason("Allowed", result)}
		}
	case agentclient.ThenDeny:
		hd.verdict = hook.Verdict{Effect: hook.Deny, Reason: policyReason("Denied", result)}
	case agentclient.ThenAsk:
		switch {
		case truncated || c.Point == hook.DeferToPrompt || c.Ask == nil:
			hd.verdict = hook.Verdict{Effect: hook.Ask, Reason: policyReason("A person must decide", result)}
		default:
			hd.ask = true
		}
	default:
		hd.ask = c.Point == hook.Prompt && c.Ask != nil && !truncated
	}
	return hd
}

// evaluatePolicy is what the policy says of the call. A policy that can't be read, or a call
// that can't be read whole, leaves it to a person.
//
// Where the agent works and where it runs its hooks may be two projects: Cursor runs
// them in ~/.cursor, others where the model has gone to. The first of its places
// rules; the others can only make it stricter, so that nothing is gained by going
// elsewhere.
func (h *hookRun) evaluatePolicy(c *hook.Call, truncated bool) (strictest agentclient.PolicyResult) {
	if c.Tool == nil {
		return strictest
	}
	for i, dir := range h.policyDirs(c) {
		r := h.evaluatePolicyIn(dir, c, truncated)
		if i == 0 || r.Effect == agentclient.ThenDeny && strictest.Effect != agentclient.ThenDeny ||
			r.Effect == agentclient.ThenAsk && strictest.Effect != agentclient.ThenDeny && strictest.Effect != agentclient.ThenAsk {
			strictest = r
		}
	}
	return strictest
}

// policyDirs are the directories whose policies count, that of the project first.
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
		return []string{""} // the user's own policy counts everywhere
	}
	return dirs
}

func (h *hookRun) evaluatePolicyIn(dir string, c *hook.Call, truncated bool) agentclient.PolicyResult {
	call := agentclient.ToolCall{
		ID: c.Tool.ID, Name: c.Tool.Name, Alias: c.Alias, Command: c.Command, Arguments: c.Tool.Arguments,
	}
	policy, err := agentclient.LoadPolicyFor(call, dir, h.env)
	if err != nil {
		h.logf("%v", err)
		reason := "the policy can't be read: " + err.Error()
		if broken := (*agentclient.PolicyError)(nil); errors.As(err, &broken) && len(broken.Problems) > 0 {
			reason = "the policy can't be read: " + broken.Problems[0].String()
		}
		return agentclient.PolicyResult{Effect: agentclient.ThenAsk, Reason: reason}
	}
	result := policy.Rule(call)
	if truncated && result.Effect != agentclient.ThenDeny && h.mayHavePolicy(dir) {
		// What was cut may be just what a rule is about.
		return agentclient.PolicyResult{Effect: agentclient.ThenAsk, Reason: fmt.Sprintf("the call is larger than %d MiB, too large to be checked", maxStdin>>20)}
	}
	return result
}

// mayHavePolicy reports whether there is any rule that a call could break.
func (h *hookRun) mayHavePolicy(dir string) bool {
	files := append(agentclient.ProjectPolicyFiles(dir), agentclient.UserPolicyFile(h.env))
	return slices.ContainsFunc(files, func(file string) bool {
		_, err := os.Stat(file)
		return file != "" && !errors.Is(err, fs.ErrNotExist)
	})
}

// policyReason is a verdict's reason: who decided, why, and where that is written.
func policyReason(action string, r agentclient.PolicyResult) string {
	text := action + " by the Hookback policy"
	if r.Where != "" {
		text += " (" + r.Where + ")"
	}
	if r.Reason != "" {
		text += ": " + r.Reason
	}
	return text
}

// noDecisionReason is why no person decided.
type noDecisionReason int

const (
	noHub           noDecisionReason = iota // none took the question
	noDashboard                             // a hub did, but nobody looks at its page
	noAnswer                                // in time
	malformedAnswer                         // an answer came that answers nothing
	canceled                                // a person or the hub took the question away
	rejected                                // the hub said no to the question itself
)

// fallbackVerdict is the verdict when no person decided. It approves only where the command
// line says so, and only what nobody could have seen.
func (h *hookRun) fallbackVerdict(c *hook.Call, hd hookDecision, why noDecisionReason, cause string) hook.Verdict {
	v := hook.Verdict{Effect: c.Fallback, Reason: cause}
	switch {
	case h.onUnreachable == thenAllow && (why == noHub || why == noDashboard):
		return hook.Verdict{Effect: hook.Allow, Reason: cause + " Allowed by --on-unreachable allow."}
	case h.onUnreachable == thenDeny:
		v.Effect = hook.Deny
	case h.onUnreachable == thenAsk:
		// Where the agent has no prompt to open, the adapter refuses: silence would run it.
		v.Effect = hook.Ask
		if c.Point == hook.Prompt && !c.Capabilities.Has(hook.CanAsk) {
			v.Effect = hook.Pass // its prompt opens by itself
		}
	case hd.policy.Effect == agentclient.ThenAsk && c.Point != hook.Prompt:
		// The agent might run it without a word; the policy wants a person.
		v.Effect = hook.Ask
	}
	return v
}

// verdictFor is what a decision means to the agent.
func (h *hookRun) verdictFor(c *hook.Call, hd hookDecision, d agentclient.Decision) hook.Verdict {
	switch {
	case d.Approved():
		v := hook.Verdict{Effect: hook.Allow, Reason: cmp.Or(d.Reason, d.Comment), Remember: d.Remember}
		if d.Edited {
			v.Arguments = d.Arguments
		}
		return v
	case d.Kind == schema.Permission && d.Outcome == schema.Deny:
		return hook.Verdict{Effect: hook.Deny, Reason: hook.Refusal(cmp.Or(d.Reason, d.Comment), d.Guidance)}
	case d.Answered() && d.Kind != schema.Permission:
		return hook.Verdict{Effect: hook.Allow, Reason: cmp.Or(d.Reason, d.Comment), Answers: answersByQuestion(d)}
	case d.Outcome == agentclient.Unreachable:
		return h.fallbackVerdict(c, hd, noHub, h.noHubText())
	case d.Outcome == agentclient.Malformed:
		return h.fallbackVerdict(c, hd, malformedAnswer, "An answer came from the hub that does not answer the question, so nothing was approved.")
	case d.Outcome == schema.Timeout:
		return h.timeoutVerdict(c, hd)
	case d.Source == schema.ByAgent || d.Source == schema.BySessionEnd || d.Source == schema.ByOrphaned:
		return hook.Verdict{} // answered at the agent, which went on
	default:
		cause := "The question was taken away without an answer, so nothing was approved."
		if d.Reason != "" {
			cause += " " + d.Reason
		}
		return h.fallbackVerdict(c, hd, canceled, cause)
	}
}

// answersByQuestion are the answers by question; one without questions of its own has the id "".
func answersByQuestion(d agentclient.Decision) map[string][]string {
	if d.Answers != nil {
		return d.Answers
	}
	return map[string][]string{"": {d.Choice + d.Text}}
}

// noHubText says that there is no hub, and what to do.
func (h *hookRun) noHubText() string {
	return "No Hookback hub answers at " + h.hubAddress() + ", so nobody could be asked. Start it there, or name another with HOOKBACK_URL."
}

// noDashboardText says that nobody would see the question, and what to do.
func (h *hookRun) noDashboardText() string {
	return "Nobody has the page of the Hookback hub open (" + h.hubAddress() + "), so nobody was asked. Open it and try again."
}

func (h *hookRun) hubAddress() string {
	return cmp.Or(h.hub, h.env("HOOKBACK_URL"), agentclient.DefaultHub)
}
