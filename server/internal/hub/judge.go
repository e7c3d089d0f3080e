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
func toolCallOf(d *store.Draft, q *schema.HumanInTheLoop) (toolCall, bool) {
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

// judge says in the status what a person should know of the call. It looks at the
// arguments as they are stored, so that no excerpt shows what redaction took out.
func judge(st *schema.Status, q *schema.HumanInTheLoop, c toolCall) {
	st.Findings = risk.Of(c.name, c.arguments, c.cwd)
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
