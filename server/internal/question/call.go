package question

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hookback/hookback/agentclient/call"
	"github.com/hookback/hookback/agentclient/call/matcher"
	"github.com/hookback/hookback/agentclient/intent"
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/risk"
	"github.com/hookback/hookback/server/internal/sessions/digest"
	"github.com/hookback/hookback/server/internal/store"
)

// Call is the tool call that runs after an approval, as the event of its hook and the question say. It is read once; its
// reading and its hash are computed when they are needed first, so one goroutine uses it.
type Call struct {
	Facts     HookFacts
	Agent     string // whose tools are read; empty: any agent
	Name      string
	Arguments json.RawMessage
	Cwd       string
	Project   string // Cwd in the main working tree, if it is in a git worktree
	// IsAmbiguous is set if the payload names the tool, the arguments or the directory more than once,
	// and nothing but the payload names the call.
	IsAmbiguous bool
	// RefError is why the question's ToolCall.ArgumentsRef names no arguments.
	RefError error

	isStated bool // in the question
	reading  *call.Call
	hash     []byte
}

// Exists reports whether there is a call. If not, other fields can be set nevertheless.
func (c *Call) Exists() bool { return c.Name != "" && (len(c.Arguments) > 0 || c.isStated) }

// HookFacts holds the members of a hook event that identify its agent, call, prompt and sender.
type HookFacts struct{ Agent, AgentID, ToolUseID, PromptID, TokenOwner string }

// HookFactsOf reads the members from the event itself, or else from the hook's payload.
// Members of the wrong type count as absent.
func HookFactsOf(e *store.Event) HookFacts {
	return CallOf(e, nil).Facts
}

// CallOf returns the call that the question q of an event is about, from the question itself or the hook's
// payload; q is nil for an event without one.
func CallOf(e *store.Event, q *schema.HumanInTheLoop) *Call {
	envelope, _ := membersOf(e.EnvelopeObject(), "agent", "agent_id", "tool_use_id", "tokenOwner")
	hook, repeated := membersOf(e.Payload, "tool_name", "toolName", "tool_input", "toolArgs", "cwd", "agent_id", "tool_use_id", "prompt_id")
	c := &Call{
		Facts: HookFacts{
			Agent: textOf(envelope["agent"]), AgentID: cmp.Or(textOf(envelope["agent_id"]), textOf(hook["agent_id"])),
			ToolUseID: cmp.Or(textOf(envelope["tool_use_id"]), textOf(hook["tool_use_id"])), PromptID: textOf(hook["prompt_id"]),
			TokenOwner: textOf(envelope["tokenOwner"]),
		},
		Name: cmp.Or(textOf(hook["tool_name"]), textOf(hook["toolName"]), e.Tool), Cwd: textOf(hook["cwd"]),
		Arguments: json.RawMessage(hook["tool_input"]), IsAmbiguous: repeated,
	}
	c.Agent = call.KnownAgent(c.Facts.Agent)
	if c.Arguments == nil {
		c.Arguments = json.RawMessage(hook["toolArgs"])
	}
	if strings.HasPrefix(e.Tool, "mcp__") { // the hook knows the server, which the agent's own name can lack
		c.Name = e.Tool
	}
	if q != nil && q.Context != nil && q.Context.Cwd != "" {
		c.Cwd, c.Project = q.Context.Cwd, q.Context.Project
	}
	if q != nil && q.ToolCall != nil {
		stated := *q.ToolCall
		c.RefError = stated.ResolveArguments(e.Payload, e.Tool)
		c.Name, c.Arguments, c.IsAmbiguous, c.isStated = stated.Name, stated.Arguments, false, true
	}
	return c
}

// DirectoryNames returns the names of the directories in a hook's payload that its agent works in, and
// of the directories above them: a hook names a worktree after one of those.
func DirectoryNames(payload []byte) (names []string) {
	members, _ := membersOf(payload, "cwd", "workspace_roots", "workspaceRoots", "workspacePaths")
	for _, value := range members {
		var dirs []string
		if json.Unmarshal(value, &dirs) != nil {
			dirs = []string{textOf(value)}
		}
		for _, dir := range dirs {
			for name := range strings.FieldsFuncSeq(dir, func(r rune) bool { return r == '/' || r == '\\' }) {
				names = append(names, strings.TrimSpace(name))
			}
		}
	}
	return names
}

// callMembers are the members of a payload that name its call and its directory, normalized, each with a bit.
var callMembers = map[string]uint8{"toolname": 1, "toolinput": 2, "toolargs": 4, "cwd": 8}

// membersOf returns the members of a JSON object that have exactly these names; of equal ones the
// last, as agents read them. encoding/json would also take Tool_Input for tool_input, and the hub would
// judge another call than the agent runs. repeated reports whether one of callMembers occurs twice, or in a
// second spelling.
func membersOf(object []byte, names ...string) (members map[string][]byte, repeated bool) {
	members = map[string][]byte{}
	var seen uint8
	digest.EachMember(object, func(name string, value []byte) {
		bit := callMembers[call.NormalizeName(name)]
		repeated, seen = repeated || seen&bit != 0, seen|bit
		if slices.Contains(names, name) {
			members[name] = value
		}
	})
	return members, repeated
}

// textOf returns a JSON string, or an empty one for any other value.
func textOf(value []byte) string {
	if len(value) == 0 || value[0] != '"' {
		return ""
	}
	return digest.Unquote(value)
}

// Hash identifies the call by tool and arguments, independent of member order.
func (c *Call) Hash() []byte {
	if c.hash != nil {
		return c.hash
	}
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
	c.hash = h.Sum(nil)[:16]
	return c.hash
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
	if c.reading == nil {
		c.reading = call.Read(call.Input{Agent: c.Agent, Tool: c.Name, Dir: c.Cwd, Arguments: c.Arguments})
	}
	return c.reading
}

// Touches reports whether the call reads or changes a file that one of the globs matches, in any folder.
func (c *Call) Touches(globs []string) bool {
	if !c.Exists() {
		return false
	}
	read := c.Reading()
	return slices.ContainsFunc(globs, func(p string) bool {
		here, below := matcher.NewGlob(p, true), matcher.NewGlob("*/"+strings.TrimPrefix(p, "/"), true)
		return slices.ContainsFunc(slices.Concat(read.Files, read.MayBe), func(f call.File) bool {
			return here.Match(f.Path) || below.Match(f.Path) || below.Match(f.Path+"/") // of a folder
		})
	})
}

// IsIn reports whether the call runs in a folder that one of the globs matches, or below it.
func (c *Call) IsIn(globs []string) bool {
	return slices.ContainsFunc(globs, func(p string) bool {
		folder := matcher.NewGlob("*/"+strings.Trim(p, "/")+"/*", true)
		return folder.Match(slashed(c.Cwd)) || folder.Match(slashed(c.Project))
	})
}

func slashed(dir string) string { return "/" + strings.ReplaceAll(dir, `\`, "/") + "/" }

// With returns the call with other arguments.
func (c *Call) With(arguments json.RawMessage) *Call {
	edited := *c
	edited.Arguments, edited.reading, edited.hash = arguments, nil, nil
	return &edited
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
