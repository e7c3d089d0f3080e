package hook

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/hookback/hookback/schema"
)

// setOrigin notes what every hook tells: the event by Claude Code's name, the session,
// and the folders the agent works in, the most telling first.
func (c *Call) setOrigin(event, session string, dirs ...string) error {
	if event == "" {
		return fmt.Errorf("%w: it names no event", ErrInput)
	}
	c.Event.HookEventType = clip(event, schema.MaxName)
	c.Event.SourceApp = cmp.Or(projectName(dirs...), c.Event.Agent)
	// Without a session the call would go through ungated.
	c.Event.SessionID = cmp.Or(clip(session, schema.MaxName), clip(c.Event.Agent+" in "+c.Event.SourceApp, schema.MaxName))
	return nil
}

// setDetails lifts what the input says under Claude Code's names, the time, which Claude
// Code doesn't give, and a line to read.
func (c *Call) setDetails(o object) {
	copyCommonFields(&c.Event, o)
	c.Event.Timestamp = o.timestamp("timestamp")
	c.Event.Summary = eventText(o)
}

// eventText is the text of an event that is no tool's, on one line.
func eventText(o object) string {
	for _, name := range []string{"message", "last_assistant_message", "prompt_response", "assistant_response", "prompt", "error", "reason", "title", "source", "trigger", "agent_type"} {
		if s := oneLine(o.text(name), maxSummary); s != "" {
			return s
		}
	}
	return ""
}

// timestamp is a point in time as agents write it: ISO 8601, or milliseconds as a
// number or a string. 0 is none.
func (o object) timestamp(name string) schema.Millis {
	var m schema.Millis
	text := o.text(name)
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		text = strconv.FormatInt(t.UnixMilli(), 10)
	}
	if json.Unmarshal([]byte(cmp.Or(text, string(o[name]))), &m) != nil || m < 0 {
		return 0
	}
	return m
}

// firstString is the first of an array of strings, or "".
func (o object) firstString(name string) string {
	var s string
	if all := o.array(name); len(all) > 0 {
		_ = json.Unmarshal(all[0], &s)
	}
	return s
}

// unwrapJSONString is what a JSON text inside a string says: some agents send a tool's
// arguments so. What is no object stays as it is.
func unwrapJSONString(raw json.RawMessage) json.RawMessage {
	inner := text(raw)
	if _, ok := splitObject([]byte(inner)); ok {
		return json.RawMessage(strings.TrimSpace(inner))
	}
	return raw
}

// upperFirst is an event's name as Claude Code would write it.
func upperFirst(name string) string {
	if name == "" || name[0] < 'a' || name[0] > 'z' {
		return name
	}
	return strings.ToUpper(name[:1]) + name[1:]
}

// lowerFirst is pascal undone.
func lowerFirst(name string) string {
	if name == "" || name[0] < 'A' || name[0] > 'Z' {
		return name
	}
	return strings.ToLower(name[:1]) + name[1:]
}

// isHeadless reports whether the surroundings say that nobody sits at the agent:
// most agents don't tell their hooks.
func (in Input) isHeadless() bool {
	said := in.env("HOOKBACK_HEADLESS")
	return said != "" && said != "0" || in.env("CI") == "true" || in.env("GITHUB_ACTIONS") == "true"
}

// isInteractive reports whether it is certain that somebody does. What is neither is not
// known, which matters to agents that wait for ever when nobody is there to answer, or
// go on.
func (in Input) isInteractive(without ...string) bool {
	return !in.isHeadless() && (in.env("HOOKBACK_HEADLESS") == "0" || in.Attended != nil && in.Attended(without...))
}

func (in Input) env(name string) string {
	if in.Env == nil {
		return ""
	}
	return in.Env(name)
}

// interactiveHint is what to do where it isn't known.
const interactiveHint = " If somebody sits at this agent's prompt, start it with HOOKBACK_HEADLESS=0 in its environment and it asks there."

// unknownTool stands for the name of a tool that an agent left out: such a call is
// gated like any other.
const unknownTool = "unknown tool"

// setMCPTool notes that the call is one of an MCP server's tool, whose name in the agent
// says less.
func (c *Call) setMCPTool(server, tool string) {
	if server == "" || tool == "" {
		return
	}
	c.Alias = "mcp__" + server + "__" + tool
	c.Event.Summary = c.summaryLine()
}

// pickMembers makes the arguments of a call of members that stand beside others.
func pickMembers(o object, names ...string) json.RawMessage {
	arguments := object{}
	for _, name := range names {
		if o.has(name) {
			arguments[name] = o[name]
		}
	}
	return encodeJSON(arguments)
}

// encodeReply prints an answer.
func encodeReply(answer any) Reply { return Reply{Stdout: encodeJSON(answer)} }

// denialReason is the reason of a no; a yes has none to tell.
func (v Verdict) denialReason() string {
	if v.Effect != Deny {
		return ""
	}
	return v.Reason
}
