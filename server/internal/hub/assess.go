package hub

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/risk"
	"github.com/hookback/hookback/server/internal/store"
)

// toolCall is what runs when a person says yes.
type toolCall struct {
	name      string
	arguments json.RawMessage
	cwd       string
}

// toolCallOf finds the call a question is about: in the question itself, or in the
// hook's own words. A question may be about none.
func toolCallOf(d *store.EventDraft, q *schema.HumanInTheLoop) (toolCall, bool) {
	var hook struct {
		Name      string          `json:"tool_name"`
		Arguments json.RawMessage `json:"tool_input"`
		CamelName string          `json:"toolName"`
		CamelArgs json.RawMessage `json:"toolArgs"`
		Cwd       string          `json:"cwd"`
	}
	_ = json.Unmarshal(d.Payload, &hook) // what is of another type is not there
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

// assessCall says in the status what a person should know of the call. It looks at the
// arguments as they are stored, so that no excerpt shows what redaction took out.
func assessCall(st *schema.Status, q *schema.HumanInTheLoop, c toolCall) {
	st.Findings = risk.Assess(c.name, c.arguments, c.cwd)
	st.Risk = risk.Highest(q.Risk, st.Findings)
}

// hash tells the call apart from others, whatever order its arguments have.
func (c *toolCall) hash() []byte {
	plain := jsontext.Value(append([]byte(nil), c.arguments...))
	// Numbers stay as they were written: two that are beyond 2^53 are not the same.
	err := plain.Canonicalize(jsontext.CanonicalizeRawInts(false), jsontext.CanonicalizeRawFloats(false),
		jsontext.AllowInvalidUTF8(true))
	if err != nil { // such as a name given twice
		plain = jsontext.Value(c.arguments)
	}
	h := sha256.New()
	h.Write([]byte(c.name + "\x00"))
	h.Write(plain)
	return h.Sum(nil)[:16]
}

// redactedCommandFinding is for a command that passes itself off as a secret.
var redactedCommandFinding = schema.Finding{
	Code: "hidden_by_redaction", Text: "What was taken out of it as a secret holds more than a secret: ask the agent what it is.",
}

// addRedactionFinding adds a finding when the event as it was sent is worse than what is
// left of it: redaction must not be a way to hide a command from the person who is
// to approve it. Of what was found there only the risk is told.
func addRedactionFinding(st *schema.Status, original []byte) {
	s, err := scanEvent(original)
	if err != nil {
		return
	}
	var q schema.HumanInTheLoop
	if err := q.UnmarshalJSON(s.question); err != nil {
		return
	}
	c, _ := toolCallOf(&store.EventDraft{Event: store.Event{Tool: s.tool, Payload: s.payload}}, &q)
	shown := risk.Highest("", st.Findings)
	if worse := risk.Highest(shown, risk.Assess(c.name, c.arguments, c.cwd)); worse != shown {
		f := redactedCommandFinding
		f.Risk = worse
		st.Findings = append([]schema.Finding{f}, st.Findings...)
		st.Risk = risk.Highest(st.Risk, st.Findings)
	}
}
