package question

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hookback/hookback/agentclient/call"
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/intent"
	"github.com/hookback/hookback/server/internal/risk"
	"github.com/hookback/hookback/server/internal/store"
)

// Call is the tool call that runs after an approval.
type Call struct {
	Agent     string // whose tools are read; empty: any agent
	Name      string
	Arguments json.RawMessage
	Cwd       string
	Project   string // Cwd in the main working tree, if it is in a git worktree
	// IsAmbiguous is set if the payload names the tool, the arguments or the directory more than once,
	// and nothing but the payload names the call.
	IsAmbiguous bool
}

// CallOf returns the call that the question q of an event is about, from the question itself
// or the hook's payload. ok is false if there is none.
func CallOf(e *store.Event, q *schema.HumanInTheLoop) (c Call, ok bool) {
	hook, repeated := payloadMembers(e.Payload, "tool_name", "toolName", "tool_input", "toolArgs", "cwd")
	c = Call{
		Name: cmp.Or(textOf(hook["tool_name"]), textOf(hook["toolName"]), e.Tool), Cwd: textOf(hook["cwd"]),
		Arguments: json.RawMessage(hook["tool_input"]), IsAmbiguous: repeated,
	}
	if c.Arguments == nil {
		c.Arguments = json.RawMessage(hook["toolArgs"])
	}
	if strings.HasPrefix(e.Tool, "mcp__") { // the hook knows the server, which the agent's own name can lack
		c.Name = e.Tool
	}
	if q.ToolCall != nil {
		stated := *q.ToolCall
		_ = stated.ResolveArguments(e.Payload, e.Tool) // checked when it was posted
		c.Name, c.Arguments, c.IsAmbiguous = stated.Name, stated.Arguments, false
	}
	if q.Context != nil && q.Context.Cwd != "" {
		c.Cwd, c.Project = q.Context.Cwd, q.Context.Project
	}
	c.Agent = call.KnownAgent(HookFactsOf(e).Agent)
	return c, c.Name != "" && (len(c.Arguments) > 0 || q.ToolCall != nil)
}

// payloadMembers returns the members of a JSON object that have exactly these names; of equal ones the
// last, as agents read them. encoding/json would also take Tool_Input for tool_input, and the hub would
// judge another call than the agent runs. repeated reports whether a name occurs twice, or in a second
// spelling.
func payloadMembers(object []byte, names ...string) (members map[string]jsontext.Value, repeated bool) {
	members = map[string]jsontext.Value{}
	seen := map[string]bool{} // by normalized name
	for _, name := range names {
		seen[call.NormalizeName(name)] = false
	}
	dec := jsontext.NewDecoder(bytes.NewBuffer(object), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if start, err := dec.ReadToken(); err != nil || start.Kind() != '{' {
		return members, false
	}
	for dec.PeekKind() == '"' {
		token, err := dec.ReadToken()
		if err != nil {
			break
		}
		name := token.String()
		value, err := dec.ReadValue()
		if err != nil {
			break
		}
		plain := call.NormalizeName(name)
		before, wanted := seen[plain]
		if !wanted {
			continue
		}
		repeated, seen[plain] = repeated || before, true
		if slices.Contains(names, name) {
			end := int(dec.InputOffset())
			members[name] = object[end-len(value) : end : end]
		}
	}
	return members, repeated
}

// textOf returns a JSON string, or an empty one for any other value.
func textOf(value jsontext.Value) (text string) {
	_ = json.Unmarshal(value, &text)
	return text
}

// Hash identifies the call by tool and arguments, independent of member order.
func (c *Call) Hash() []byte {
	plain := jsontext.Value(append([]byte(nil), c.Arguments...))
	// Numbers keep their text: as floats, different integers beyond 2^53 would be
	// equal.
	err := plain.Canonicalize(jsontext.CanonicalizeRawInts(false), jsontext.CanonicalizeRawFloats(false),
		jsontext.AllowInvalidUTF8(true))
	if err != nil { // such as duplicate member names
		plain = jsontext.Value(c.Arguments)
	}
	h := sha256.New()
	h.Write([]byte(c.Name + "\x00"))
	h.Write(plain)
	return h.Sum(nil)[:16]
}

// isRedacted reports whether redaction may have removed part of the call. A digest of what
// was sent would let every reader of the receipt test guesses at the removed secret.
func (c *Call) isRedacted() bool {
	return strings.Contains(c.Name, schema.RedactedPrefix) || strings.Contains(string(c.Arguments), schema.RedactedPrefix)
}

// assess sets the class, the findings, the risk and the intent of the call in the status. It assesses the
// arguments as stored, so that no excerpt shows redacted text.
func (c *Call) assess(st *schema.Status, q *schema.HumanInTheLoop) {
	read := c.Reading()
	a := risk.AssessCall(read, c.Cwd)
	st.Class, st.Findings = a.Class, a.Findings
	if c.IsAmbiguous {
		st.Class, st.Findings = schema.ClassRisky, append([]schema.Finding{ambiguousCallFinding}, a.Findings...)
	}
	st.Risk = risk.Highest(q.Risk, st.Findings)
	st.View = viewOf(read)
	if q.Type == schema.Permission {
		st.Intent = new(intent.OfCall(read, c.Cwd))
	}
}

// ambiguousCallFinding is reported for a payload that names a part of its call more than once.
var ambiguousCallFinding = schema.Finding{
	Code: "obfuscated", Risk: schema.HighRisk, Text: "The hook's payload names the tool, its arguments or its directory more than once.",
}

// redactedCommandFinding is reported for a command that is disguised as a secret.
var redactedCommandFinding = schema.Finding{
	Code: "hidden_by_redaction", Text: "The redacted part may contain more than a secret. Ask the agent to explain it.",
}

// Reading returns the call as it is judged and shown.
func (c *Call) Reading() *call.Call {
	return call.Read(call.Input{Agent: c.Agent, Tool: c.Name, Dir: c.Cwd, Arguments: c.Arguments})
}

// addRedactionFinding adds a finding if the original call has other commands, files or hosts than its
// redacted form, is riskier, or has a high finding of another kind: redaction must not hide a command
// from the approver. It reports the original's risk but not its findings, which could quote secrets.
func addRedactionFinding(st *schema.Status, stored, original *Call) {
	read := original.Reading()
	a := risk.AssessCall(read, original.Cwd)
	if st.Class == schema.ClassHarmless {
		st.Class = a.Class
	}
	storedRisk := risk.Highest("", st.Findings)
	hides := slices.ContainsFunc(a.Findings, func(f schema.Finding) bool {
		isStored := slices.ContainsFunc(st.Findings, func(stored schema.Finding) bool { return stored.Code == f.Code })
		return !isStored && (f.Risk == schema.HighRisk || f.Risk == schema.CriticalRisk)
	})
	hidesCall := len(read.Unread) > 0 || !call.SameShape(stored.Reading(), read) // a variable may run what is hidden
	if originalRisk := risk.Highest(storedRisk, a.Findings); originalRisk != storedRisk || hides || hidesCall {
		f := redactedCommandFinding
		st.Class = a.Class
		f.Risk = originalRisk
		if hidesCall {
			st.Class, f.Risk = schema.ClassRisky, risk.Highest(schema.HighRisk, []schema.Finding{{Risk: originalRisk}})
		}
		st.Findings = append([]schema.Finding{f}, st.Findings...)
		st.Risk = risk.Highest(st.Risk, st.Findings)
	}
}
