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

// plan is what a hook does with a call: it says the verdict, or asks a person.
type plan struct {
	ask     bool
	verdict hook.Verdict             // when it doesn't ask
	ruling  agentclient.PolicyResult // the policy's
}

// plan decides without asking anybody.
func (h *hooking) plan(c *hook.Call, shortened bool) plan {
	if h.observe || c.Point == hook.Observe {
		return plan{}
	}
	ruling := h.rule(c, shortened)
	p := plan{ruling: ruling}
	switch ruling.Effect {
	case agentclient.ThenAllow:
		if c.Capabilities.Has(hook.CanAllow) {
			p.verdict = hook.Verdict{Effect: hook.Allow, Reason: because("Allowed", ruling)}
		}
	case agentclient.ThenDeny:
		p.verdict = hook.Verdict{Effect: hook.Deny, Reason: because("Denied", ruling)}
	case agentclient.ThenAsk:
		switch {
		case shortened || c.Point == hook.DeferToPrompt || c.Ask == nil:
			p.verdict = hook.Verdict{Effect: hook.Ask, Reason: because("A person must decide", ruling)}
		default:
			p.ask = true
		}
	default:
		p.ask = c.Point == hook.Prompt && c.Ask != nil && !shortened
	}
	return p
}

// rule is what the policy says of the call. A policy that can't be read, or a call
// that can't be read whole, leaves it to a person.
//
// Where the agent works and where it runs its hooks may be two projects: Cursor runs
// them in ~/.cursor, others where the model has gone to. The first of its places
// rules; the others can only make it stricter, so that nothing is gained by going
// elsewhere.
func (h *hooking) rule(c *hook.Call, shortened bool) (ruling agentclient.PolicyResult) {
	if c.Tool == nil {
		return ruling
	}
	for i, dir := range h.places(c) {
		r := h.ruleIn(dir, c, shortened)
		if i == 0 || r.Effect == agentclient.ThenDeny && ruling.Effect != agentclient.ThenDeny ||
			r.Effect == agentclient.ThenAsk && ruling.Effect != agentclient.ThenDeny && ruling.Effect != agentclient.ThenAsk {
			ruling = r
		}
	}
	return ruling
}

// places are the directories whose policies count, that of the project first.
func (h *hooking) places(c *hook.Call) (dirs []string) {
	cwd := ""
	if c.Ask != nil && c.Ask.Context != nil {
		cwd = c.Ask.Context.Cwd
	}
	for _, dir := range []string{h.env("CLAUDE_PROJECT_DIR"), cwd, h.dir} {
		if dir = filepath.Clean(dir); filepath.IsAbs(dir) && !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	if len(dirs) == 0 {
		return []string{""} // the user's own policy counts everywhere
	}
	return dirs
}

func (h *hooking) ruleIn(dir string, c *hook.Call, shortened bool) agentclient.PolicyResult {
	call := agentclient.ToolCall{
		ID: c.Tool.ID, Name: c.Tool.Name, Alias: c.Alias, Command: c.Command, Arguments: c.Tool.Arguments,
	}
	policy, err := agentclient.LoadPolicyFor(call, dir, h.env)
	if err != nil {
		h.note("%v", err)
		reason := "the policy can't be read: " + err.Error()
		if broken := (*agentclient.PolicyError)(nil); errors.As(err, &broken) && len(broken.Problems) > 0 {
			reason = "the policy can't be read: " + broken.Problems[0].String()
		}
		return agentclient.PolicyResult{Effect: agentclient.ThenAsk, Reason: reason}
	}
	ruling := policy.Rule(call)
	if shortened && ruling.Effect != agentclient.ThenDeny && h.hasPolicy(dir) {
		// What was cut may be just what a rule is about.
		return agentclient.PolicyResult{Effect: agentclient.ThenAsk, Reason: fmt.Sprintf("the call is larger than %d MiB, too large to be checked", maxStdin>>20)}
	}
	return ruling
}

// hasPolicy reports whether there is any rule that a call could break.
func (h *hooking) hasPolicy(dir string) bool {
	files := append(agentclient.ProjectPolicyFiles(dir), agentclient.UserPolicyFile(h.env))
	return slices.ContainsFunc(files, func(file string) bool {
		_, err := os.Stat(file)
		return file != "" && !errors.Is(err, fs.ErrNotExist)
	})
}

// because is a verdict's reason: who decided, why, and where that is written.
func because(what string, r agentclient.PolicyResult) string {
	text := what + " by the Hookback policy"
	if r.Where != "" {
		text += " (" + r.Where + ")"
	}
	if r.Reason != "" {
		text += ": " + r.Reason
	}
	return text
}

// undecided is why no person decided.
type undecided int

const (
	noHub     undecided = iota // none took the question
	nobody                     // a hub did, but nobody looks at its page
	noAnswer                   // in time
	malformed                  // an answer came that answers nothing
	cancelled                  // a person or the hub took the question away
	refused                    // the hub said no to the question itself
)

// fallback is the verdict when no person decided. It approves only where the command
// line says so, and only what nobody could have seen.
func (h *hooking) fallback(c *hook.Call, p plan, why undecided, cause string) hook.Verdict {
	v := hook.Verdict{Effect: c.Fallback, Reason: cause}
	switch {
	case h.onUnreachable == thenAllow && (why == noHub || why == nobody):
		return hook.Verdict{Effect: hook.Allow, Reason: cause + " Allowed by --on-unreachable allow."}
	case h.onUnreachable == thenDeny:
		v.Effect = hook.Deny
	case h.onUnreachable == thenAsk:
		// Where the agent has no prompt to open, the adapter refuses: silence would run it.
		v.Effect = hook.Ask
		if c.Point == hook.Prompt && !c.Capabilities.Has(hook.CanAsk) {
			v.Effect = hook.Pass // its prompt opens by itself
		}
	case p.ruling.Effect == agentclient.ThenAsk && c.Point != hook.Prompt:
		// The agent might run it without a word; the policy wants a person.
		v.Effect = hook.Ask
	}
	return v
}

// verdictOf is what a decision means to the agent.
func (h *hooking) verdictOf(c *hook.Call, p plan, d agentclient.Decision) hook.Verdict {
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
		return hook.Verdict{Effect: hook.Allow, Reason: cmp.Or(d.Reason, d.Comment), Answers: answersOf(d)}
	case d.Outcome == agentclient.Unreachable:
		return h.fallback(c, p, noHub, h.absent())
	case d.Outcome == agentclient.Malformed:
		return h.fallback(c, p, malformed, "An answer came from the hub that does not answer the question, so nothing was approved.")
	case d.Outcome == schema.Timeout:
		return h.late(c, p)
	case d.Source == schema.ByAgent || d.Source == schema.BySessionEnd || d.Source == schema.ByOrphaned:
		return hook.Verdict{} // answered at the agent, which went on
	default:
		cause := "The question was taken away without an answer, so nothing was approved."
		if d.Reason != "" {
			cause += " " + d.Reason
		}
		return h.fallback(c, p, cancelled, cause)
	}
}

// answersOf are the answers by question; one without questions of its own has the id "".
func answersOf(d agentclient.Decision) map[string][]string {
	if d.Answers != nil {
		return d.Answers
	}
	return map[string][]string{"": {d.Choice + d.Text}}
}

// absent says that there is no hub, and what to do.
func (h *hooking) absent() string {
	return "No Hookback hub answers at " + h.address() + ", so nobody could be asked. Start it there, or name another with HOOKBACK_URL."
}

// unwatched says that nobody would see the question, and what to do.
func (h *hooking) unwatched() string {
	return "Nobody has the page of the Hookback hub open (" + h.address() + "), so nobody was asked. Open it and try again."
}

func (h *hooking) address() string {
	return cmp.Or(h.hub, h.env("HOOKBACK_URL"), agentclient.DefaultHub)
}
