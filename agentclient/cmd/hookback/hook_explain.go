package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/hookback/hookback/agentclient/hook"
)

// explainCall says in words and JSON what would be sent, what would be decided, and
// what each verdict would make the hook print. It sends nothing.
func (h *hookRun) explainCall(c *hook.Call, truncated bool) {
	w := h.std.out
	fmt.Fprintf(w, "%s · %s of session %s\n", h.agent.Title, c.Event.HookEventType, c.Event.SessionID)
	if c.Event.Agent != h.agent.Name {
		fmt.Fprintf(w, "The caller is %s: it runs the hooks of %s too.\n", c.Event.Agent, h.agent.Name)
	}
	if truncated {
		fmt.Fprintf(w, "The input is too long; its long strings are left out.\n")
	}
	hd := h.decide(c, truncated)
	fmt.Fprintln(w, "\n"+h.describeDecision(c, hd))
	if hd.ask {
		r := h.buildRequest(c, hd)
		e := r.Event
		e.HumanInTheLoop.Timeout = nil
		printJSON(w, "It would post this event, with the question; the answer comes back to the hook:", e)
		fmt.Fprintf(w, "\nIt would wait until %v after its start.\n", h.deadline(c).Sub(h.started))
	} else {
		printJSON(w, "It would post this event:", c.Event)
	}
	if c.Point == hook.Observe {
		return
	}
	fmt.Fprintln(w, "\nWhat it would print for each verdict:")
	type row struct {
		when    string
		verdict hook.Verdict
	}
	rows := []row{
		{"approved", hook.Verdict{Effect: hook.Allow}},
		{"denied", hook.Verdict{Effect: hook.Deny, Reason: "the person's reason"}},
		{"ask at the agent's own prompt", hook.Verdict{Effect: hook.Ask, Reason: "the reason"}},
		{"no opinion", hook.Verdict{}},
	}
	if hd.ask {
		rows = append(rows,
			row{"no hub", h.fallbackVerdict(c, hd, noHub, h.noHubText())},
			row{"nobody at the page", h.fallbackVerdict(c, hd, noDashboard, h.noDashboardText())},
			row{"no answer in time", h.fallbackVerdict(c, hd, noAnswer, "Nobody answered in time, so nothing was approved.")},
		)
	}
	for _, v := range rows {
		r := h.agent.Agent.Render(c, v.verdict)
		fmt.Fprintf(w, "  %-30s exit %d, stdout %s", v.when, r.Exit, outputText(r.Stdout))
		if r.Exit != 0 {
			fmt.Fprintf(w, ", stderr %s", outputText(r.Stderr))
		}
		fmt.Fprintln(w)
	}
}

// immediateText is what a hook says without asking a person through the hub.
var immediateText = map[hook.Effect]string{
	hook.Allow: "It is allowed at once",
	hook.Deny:  "It is denied at once",
	hook.Ask:   "The agent is told to ask at its own prompt, as is wanted",
	"":         "This agent can't be told so, and does what it would do without a hook: allowed",
}

// withPeriod ends a text with one full stop.
func withPeriod(text string) string { return strings.TrimRight(text, ".") + "." }

// describeDecision says what is decided, and by what.
func (h *hookRun) describeDecision(c *hook.Call, hd hookDecision) string {
	switch {
	case h.observe:
		return "It only observes (--observe): the hub is told, nothing is decided."
	case c.Point == hook.Observe:
		return "Nothing is decided here: the hub is told."
	case hd.ask && hd.policy.Effect != "":
		return withPeriod(policyReason("A person is asked", hd.policy))
	case hd.ask:
		return "The agent asks its user, so a person is asked through the hub."
	case hd.policy.Effect != "":
		return withPeriod(policyReason(immediateText[hd.verdict.Effect], hd.policy))
	default:
		return "The policy has no opinion: the agent does what it would do without a hook."
	}
}

func printJSON(w io.Writer, title string, v any) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("  ", "  ")
	if err := e.Encode(v); err != nil {
		fmt.Fprintf(w, "\n%s\n  it can't be written as JSON: %v\n", title, err)
		return
	}
	fmt.Fprintf(w, "\n%s\n  %s", title, unescapeHTML(b.Bytes()))
}

// unescapeHTML is JSON without the escapes that only web pages need; types that write
// themselves have them.
func unescapeHTML(text []byte) []byte {
	plain := map[string]byte{"003c": '<', "003e": '>', "0026": '&'}
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' || i+1 == len(text) {
			out = append(out, text[i])
			continue
		}
		if text[i+1] == 'u' && i+6 <= len(text) {
			if c, ok := plain[string(text[i+2:i+6])]; ok {
				out, i = append(out, c), i+5
				continue
			}
		}
		out, i = append(out, text[i], text[i+1]), i+1
	}
	return out
}

func outputText(text []byte) string {
	if len(bytes.TrimSpace(text)) == 0 {
		return "nothing"
	}
	return string(bytes.TrimSpace(text))
}
