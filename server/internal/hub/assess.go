package hub

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/risk"
	"github.com/hookback/hookback/server/internal/store"
)

// toolCall is the call that runs after an approval.
type toolCall struct {
	name      string
	arguments json.RawMessage
	cwd       string
}

// toolCallOf returns the call that a question is about, from the question itself or the
// hook's payload. It returns false if there is none.
func toolCallOf(d *store.EventDraft, q *schema.HumanInTheLoop) (toolCall, bool) {
	var hook struct {
		Name      string          `json:"tool_name"`
		Arguments json.RawMessage `json:"tool_input"`
		CamelName string          `json:"toolName"`
		CamelArgs json.RawMessage `json:"toolArgs"`
		Cwd       string          `json:"cwd"`
	}
	_ = json.Unmarshal(d.Payload, &hook) // members of the wrong type count as absent
	c := toolCall{name: cmp.Or(hook.Name, hook.CamelName, d.Tool), arguments: hook.Arguments, cwd: hook.Cwd}
	if c.arguments == nil {
		c.arguments = hook.CamelArgs
	}
	if q.ToolCall != nil {
		c.name, c.arguments = q.ToolCall.Name, q.ToolCall.Arguments
	}
	if q.Context != nil && q.Context.Cwd != "" {
		c.cwd = q.Context.Cwd
	}
	return c, c.name != "" && (len(c.arguments) > 0 || q.ToolCall != nil)
}

// assessCall sets the class, the findings and the risk of a call in the status. It
// assesses the arguments as stored, so that no excerpt shows redacted text.
func assessCall(st *schema.Status, q *schema.HumanInTheLoop, c toolCall) {
	a := risk.Assess(c.name, c.arguments, c.cwd)
	st.Class, st.Findings = a.Class, a.Findings
	st.Risk = risk.Highest(q.Risk, a.Findings)
}

// hash identifies the call by tool and arguments, independent of member order.
func (c *toolCall) hash() []byte {
	plain := jsontext.Value(append([]byte(nil), c.arguments...))
	// Numbers keep their text: as floats, different integers beyond 2^53 would be
	// equal.
	err := plain.Canonicalize(jsontext.CanonicalizeRawInts(false), jsontext.CanonicalizeRawFloats(false),
		jsontext.AllowInvalidUTF8(true))
	if err != nil { // such as duplicate member names
		plain = jsontext.Value(c.arguments)
	}
	h := sha256.New()
	h.Write([]byte(c.name + "\x00"))
	h.Write(plain)
	return h.Sum(nil)[:16]
}

// redactedCommandFinding is reported for a command that is disguised as a secret.
var redactedCommandFinding = schema.Finding{
	Code: "hidden_by_redaction", Text: "The redacted part contains more than a secret. Ask the agent to explain it.",
}

// addRedactionFinding adds a finding if the original event is riskier than its redacted
// form, or has a high finding of another kind: redaction must not hide a command from the approver. It reports the original's
// risk but not its findings, which could quote secrets.
func addRedactionFinding(st *schema.Status, original *scannedEvent) {
	var q schema.HumanInTheLoop
	if err := q.UnmarshalJSON(original.question); err != nil {
		return
	}
	c, _ := toolCallOf(&store.EventDraft{Event: store.Event{Tool: original.tool, Payload: original.payload}}, &q)
	a := risk.Assess(c.name, c.arguments, c.cwd)
	if st.Class == schema.ClassHarmless {
		st.Class = a.Class
	}
	storedRisk := risk.Highest("", st.Findings)
	hides := slices.ContainsFunc(a.Findings, func(f schema.Finding) bool {
		isStored := slices.ContainsFunc(st.Findings, func(stored schema.Finding) bool { return stored.Code == f.Code })
		return !isStored && (f.Risk == schema.HighRisk || f.Risk == schema.CriticalRisk)
	})
	if originalRisk := risk.Highest(storedRisk, a.Findings); originalRisk != storedRisk || hides {
		f := redactedCommandFinding
		st.Class = a.Class
		f.Risk = originalRisk
		st.Findings = append([]schema.Finding{f}, st.Findings...)
		st.Risk = risk.Highest(st.Risk, st.Findings)
	}
}
