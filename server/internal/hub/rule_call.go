package hub

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/server/internal/question"
	"github.com/hookback/hookback/server/internal/rules"
	"github.com/hookback/hookback/server/internal/store"
)

// ruleCall returns the view of a stored question that rules are matched against.
func ruleCall(e *store.Event, q *schema.HumanInTheLoop, st *schema.Status) *rules.Call {
	c := &rules.Call{
		ID: e.ID, Kind: q.Type, App: e.App, Session: e.Session, AgentRisk: q.Risk, HubRisk: st.Risk, Class: st.Class,
		IsRestricted: question.IsRestricted(q) || len(st.Recipients) > 0,
		HasFindings:  len(st.Findings) > 0, PolicyAsked: isAskedByPolicy(e),
	}
	call, ok := question.CallOf(e, q)
	c.Agent, c.Tool, c.Arguments, c.Cwd, c.Project = call.Agent, call.Name, call.Arguments, call.Cwd, call.Project
	if ok {
		c.Hash = call.Hash()
	}
	c.Redacted = bytes.Contains(c.Arguments, []byte(schema.RedactedPrefix))
	return c
}

// pendingRuleCall returns the view of a question that rules may still answer: it is pending, has no answer in
// its undo window, and is not addressed to certain people.
func pendingRuleCall(e *store.Event, q *schema.HumanInTheLoop) (call *rules.Call, ok bool) {
	var st schema.Status
	if json.Unmarshal(e.Status, &st) != nil || st.Status != schema.Pending || st.Held != nil || len(st.Recipients) > 0 {
		return nil, false
	}
	return ruleCall(e, q, &st), true
}

// isAskedByPolicy reports whether the hook of the event states that its policy requires a person. A
// member that can't be read counts as such a statement.
func isAskedByPolicy(e *store.Event) bool { return hookVerdictOf(e).Verdict == control.VerdictAsk }

// hookVerdictOf returns what the hook of the event decided by itself; the verdict is VerdictAsk if the
// member can't be read.
func hookVerdictOf(e *store.Event) (v control.HookVerdict) {
	if !bytes.Contains(e.Envelope, []byte(`"`+control.HookMember+`"`)) {
		return v
	}
	var envelope map[string]json.RawMessage
	if json.Unmarshal(slices.Concat([]byte("{"), e.Envelope, []byte("}")), &envelope) != nil {
		return control.HookVerdict{Verdict: control.VerdictAsk}
	}
	if raw := envelope[control.HookMember]; raw != nil && json.Unmarshal(raw, &v) != nil {
		return control.HookVerdict{Verdict: control.VerdictAsk}
	}
	return v
}
