package ratings

import (
	"cmp"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"

	"github.com/hookback/hookback/agentclient/call"
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/schema/history"
	"github.com/hookback/hookback/server/internal/risk"
	"github.com/hookback/hookback/server/internal/sessions/digest"
	"github.com/hookback/hookback/server/internal/store"
)

// step is the part that an event has in a tool call.
type step int

const (
	noStep     step = iota
	started         // the call is about to run
	questioned      // a person is asked about the call
	refused         // the agent's own reviewer refused it
	ended
	sessionEnded
)

// callFacts are the facts of an event about a tool call.
type callFacts struct {
	step         step
	tool, useID  string
	cwd          string
	agent        string // the coding agent
	arguments    []byte // JSON; nil: none
	failed       bool
	isPermission bool // has a question about the call
	isAppeal     bool
	verdict      control.HookVerdict
}

// parseCall returns the facts of an event. Events are written by programs outside our control: it
// ignores what it does not understand.
func parseCall(e *store.Event) (f callFacts) {
	switch kind := digest.KindOf(e.Type); {
	case kind == digest.ToolStart:
		f.step = started
	case kind == digest.ToolEnd:
		f.step = ended
	case kind == digest.SessionEnd:
		f.step = sessionEnded
		return f
	case e.Type == "PermissionRequest":
		f.step = questioned
	case e.Type == "PermissionDenied":
		f.step = refused
	case e.Question == nil:
		return f
	}
	f.tool = e.Tool
	digest.EachMember(e.Payload, f.fromPayload)
	digest.EachMember(e.EnvelopeObject(), f.fromEnvelope)
	f.failed = f.failed || digest.IsFailure(e.Type)
	if e.Question != nil {
		digest.EachMember(e.Question, f.fromQuestion)
	}
	if f.step == noStep && f.isPermission {
		f.step = questioned
	}
	f.arguments = unwrapString(f.arguments)
	return f
}

// argumentMembers are the members in which agents send the arguments of a call, in a payload or in
// one of callMembers.
var (
	argumentMembers = map[string]bool{"tool_input": true, "toolArgs": true, "toolInput": true, "tool_info": true, "args": true, "parameters": true, "input": true}
	callMembers     = map[string]bool{"toolCall": true, "preToolUse": true, "postToolUse": true, "tool_call": true, "tool_result": true}
)

func (f *callFacts) fromPayload(name string, value []byte) {
	switch {
	case name == "cwd":
		f.cwd = digest.StringValue(value)
	case name == "command" && f.arguments == nil && len(value) > 0 && value[0] == '"': // Cursor's shell events have no object
		f.arguments = append(append([]byte(`{"command":`), value...), '}')
	case argumentMembers[name]:
		f.arguments = append([]byte(nil), value...)
	case callMembers[name]:
		digest.EachMember(value, func(name string, value []byte) {
			switch {
			case argumentMembers[name]:
				f.arguments = append([]byte(nil), value...)
			case name == "id" && f.useID == "":
				f.useID = digest.StringValue(value)
			}
		})
	case name == "tool_name" || name == "toolName":
		f.tool = cmp.Or(f.tool, digest.StringValue(value))
	case name == "tool_response":
		digest.EachMember(value, func(name string, value []byte) {
			text := string(value)
			f.failed = f.failed || (name == "is_error" || name == "isError" || name == "interrupted") && text == "true" || name == "success" && text == "false"
		})
	default:
		f.fromEnvelope(name, value)
	}
}

func (f *callFacts) fromEnvelope(name string, value []byte) {
	switch name {
	case "tool_use_id":
		f.useID = cmp.Or(digest.StringValue(value), f.useID)
	case "agent":
		f.agent = cmp.Or(digest.StringValue(value), f.agent)
	case "error", "is_interrupt":
		text := string(value)
		f.failed = f.failed || text != `""` && text != "null" && text != "false"
	case control.HookMember:
		f.verdict.Verdict = digest.StringValue(digest.FindMember(value, "verdict"))
		f.verdict.By = digest.StringValue(digest.FindMember(value, "by"))
	}
}

func (f *callFacts) fromQuestion(name string, value []byte) {
	switch name {
	case "toolCall":
		f.isPermission = true
		digest.EachMember(value, func(name string, value []byte) {
			switch name {
			case "id":
				f.useID = cmp.Or(f.useID, digest.StringValue(value))
			case "name":
				f.tool = cmp.Or(f.tool, digest.StringValue(value))
			case "arguments":
				f.arguments = append([]byte(nil), value...)
			}
		})
	case "appeal":
		f.isAppeal = string(value) != "null"
	case "context":
		f.cwd = cmp.Or(f.cwd, digest.StringValue(digest.FindMember(value, "cwd")))
	}
}

// unwrapString returns the JSON in a JSON string: some agents send arguments twice encoded.
func unwrapString(arguments []byte) []byte {
	if text := digest.StringValue(arguments); strings.HasPrefix(text, "{") {
		return []byte(text)
	}
	return arguments
}

// argumentsDigest identifies the tool and its arguments as sent; empty without arguments.
func (f *callFacts) argumentsDigest() string {
	if len(f.arguments) == 0 {
		return ""
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(f.tool + "\x00"))
	_, _ = h.Write(f.arguments)
	return strconv.FormatUint(h.Sum64(), 16)
}

// maxAssessed is how many bytes of a call's arguments are assessed.
const maxAssessed = 64 << 10

// codeTruncated is the finding about a call whose arguments are longer.
const codeTruncated = "not_read_to_its_end"

// rate returns the highest risk of the call's findings, and their codes, most severe first.
func (f *callFacts) rate() (level schema.Risk, codes []string) {
	arguments := f.arguments
	if len(arguments) > maxAssessed {
		arguments = shortenArguments(arguments, maxAssessed)
		codes = append(codes, codeTruncated)
		level = schema.LowRisk
		if _, isShell := call.ShellOf(f.tool); isShell { // the end may run anything
			level = schema.MediumRisk
		}
	}
	a := risk.AssessCall(call.Read(call.Input{Agent: call.KnownAgent(f.agent), Tool: f.tool, Dir: f.cwd, Arguments: arguments}), f.cwd)
	found := make([]string, 0, len(a.Findings)+1)
	for _, finding := range a.Findings {
		if !slices.Contains(found, finding.Code) {
			found = append(found, finding.Code)
		}
	}
	return risk.Highest(level, a.Findings), append(found, codes...)
}

// newCall returns the call that an event starts.
func newCall(e *store.Event, f *callFacts) *store.RatedCall {
	return &store.RatedCall{
		RiskyCall: history.RiskyCall{
			ID: e.ID, SourceApp: e.App, SessionID: e.Session, ToolName: f.tool,
			Decided: history.DecidedByAgent, Outcome: history.CallOpen,
		},
		UseID: f.useID, Digest: f.argumentsDigest(), Quarter: e.ReceivedAt.UnixMilli() / store.QuarterMS,
	}
}

// applyVerdict records the decision of the hook without a person.
func applyVerdict(c *store.RatedCall, v control.HookVerdict) {
	switch v.Verdict {
	case control.VerdictAllow, control.VerdictDeny:
		switch v.By {
		case control.ByPolicy:
			c.Decided = history.DecidedByPolicy
		case control.ByGrant:
			c.Decided = history.DecidedByGrant
		case control.ByFreeze:
			c.Decided = history.DecidedByPerson
		}
		if v.Verdict == control.VerdictDeny {
			end(c, history.CallRefused)
		}
	case control.VerdictAsk: // by Hookback or at the agent
		c.Decided = history.DecidedByPerson
	}
}

// ask records that a person is asked about the call: in the event if it has a question, otherwise
// at the agent.
func ask(c *store.RatedCall, e *store.Event) {
	c.Decided = history.DecidedByPerson
	if e.Question != nil {
		c.Questions = append(c.Questions, e.ID)
	}
}

// overrule records the decision of the hub's directive; by is empty if there was none. The hook
// applies a grant unless its policy denies the call, and a freeze always.
func overrule(c *store.RatedCall, by history.CallDecider) {
	switch {
	case by == history.DecidedByGrant && !c.Closed:
		c.Decided = by
	case by == history.DecidedByPerson: // froze the agent
		c.Decided = by
		end(c, history.CallRefused)
	}
}

// resolve records the end of a question about the call.
func resolve(c *store.RatedCall, st *schema.Status) {
	switch st.Source {
	case schema.ByRule:
		c.Decided = history.DecidedByRule
	case schema.ByHuman:
		c.Decided = history.DecidedByPerson
	default: // no one answered here: the agent's own prompt decides, and later events show it
		return
	}
	if st.Response != nil && st.Response.Permission != nil && !*st.Response.Permission {
		end(c, history.CallRefused)
	}
}

func end(c *store.RatedCall, outcome history.CallOutcome) { c.Outcome, c.Closed = outcome, true }
