package hookrun

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/hookback/hookback/agentclient/hook"
)

// explainCall prints the event, the decision and the hook's output for each verdict. It
// sends nothing.
func (h *hookRun) explainCall(c *hook.Call, truncated bool) {
	w := h.std.Out
	fmt.Fprintf(w, "%s · %s of session %s\n", h.agent.Title, c.Event.HookEventType, c.Event.SessionID)
	if c.Event.Agent != h.agent.Name {
		fmt.Fprintf(w, "The caller is %s, which also runs the hooks of %s.\n", c.Event.Agent, h.agent.Name)
	}
	switch {
	case c.Unreadable && c.Event.Error != "":
		fmt.Fprintf(w, "The input can't be read: %s.\n", c.Event.Error)
	case c.Unreadable:
		fmt.Fprintf(w, "Parts of the input can't be read and are left out.\n")
	case truncated:
		fmt.Fprintf(w, "The input is too long; its long strings are truncated.\n")
	}
	hd := h.decide(c, truncated)
	fmt.Fprintln(w, "\n"+h.describeDecision(c, hd))
	if hd.ask {
		r := h.buildRequest(c, hd)
		e := r.Event
		e.HumanInTheLoop.Timeout = nil
		printJSON(w, "The hook would send this event with a question, and wait for the answer:", e)
		fmt.Fprintf(w, "\nIt would wait for at most %v after its start.\n", h.deadline(c).Sub(h.started))
	} else {
		printJSON(w, "The hook would send this event:", c.Event)
	}
	if c.Point == hook.Observe {
		return
	}
	fmt.Fprintln(w, "\nOutput for each verdict:")
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
			row{"no open dashboard", h.fallbackVerdict(c, hd, noDashboard, h.noDashboardText())},
			row{"no answer in time", h.fallbackVerdict(c, hd, noAnswer, "No one answered in time. Nothing was approved.")},
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

// immediateText describes the effect of a policy that asks no one through the hub.
var immediateText = map[hook.Effect]string{
	hook.Allow: "Allowed immediately",
	hook.Deny:  "Denied immediately",
	hook.Ask:   "The agent must ask at its own prompt, as required",
	"":         "This agent has no way to allow a call and behaves as without a hook. Allowed",
}

// withPeriod returns text with exactly one final period.
func withPeriod(text string) string { return strings.TrimRight(text, ".") + "." }

// describeDecision describes the decision and its source.
func (h *hookRun) describeDecision(c *hook.Call, hd hookDecision) string {
	switch {
	case h.observe:
		return "Observe only (--observe): the event is reported to the hub, nothing is decided."
	case c.Point == hook.Observe:
		return "Nothing is decided at this event: it is only reported to the hub."
	case hd.ask && hd.policy.Effect != "":
		return withPeriod(policyReason("Approval required", hd.policy))
	case hd.ask:
		return "The agent asks its user for permission, so a person is asked through the hub."
	case hd.policy.Effect != "":
		return withPeriod(policyReason(immediateText[hd.verdict.Effect], hd.policy))
	default:
		return "The policy has no opinion: the agent behaves as without a hook."
	}
}

func printJSON(w io.Writer, title string, v any) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("  ", "  ")
	if err := e.Encode(v); err != nil {
		fmt.Fprintf(w, "\n%s\n  encode as JSON: %v\n", title, err)
		return
	}
	fmt.Fprintf(w, "\n%s\n  %s", title, unescapeHTML(b.String()))
}

// unescapeHTML replaces the escapes that encoding/json adds for HTML. SetEscapeHTML does
// not reach types with their own MarshalJSON.
func unescapeHTML(text string) string {
	// An escaped backslash comes first: \\u003c is text.
	return strings.NewReplacer(`\\`, `\\`, `\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(text)
}

func outputText(text []byte) string {
	if len(bytes.TrimSpace(text)) == 0 {
		return "nothing"
	}
	return string(bytes.TrimSpace(text))
}
