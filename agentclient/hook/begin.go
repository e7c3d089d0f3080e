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

// begin notes what every hook tells: the event by Claude Code's name, the session,
// and the folders the agent works in, the most telling first.
func (c *Call) begin(event, session string, dirs ...string) error {
	if event == "" {
		return fmt.Errorf("%w: it names no event", ErrInput)
	}
	c.Event.HookEventType = clip(event, schema.MaxName)
	c.Event.SourceApp = cmp.Or(project(dirs...), c.Event.Agent)
	// Without a session the call would go through ungated.
	c.Event.SessionID = cmp.Or(clip(session, schema.MaxName), clip(c.Event.Agent+" in "+c.Event.SourceApp, schema.MaxName))
	return nil
}

// tell lifts what the input says under Claude Code's names, the time, which Claude
// Code doesn't give, and a line to read.
func (c *Call) tell(o object) {
	lift(&c.Event, o)
	c.Event.Timestamp = o.millis("timestamp")
	c.Event.Summary = said(o)
}

// said is the text of an event that is no tool's, on one line.
func said(o object) string {
	for _, name := range []string{"message", "last_assistant_message", "prompt_response", "assistant_response", "prompt", "error", "reason", "title", "source", "trigger", "agent_type"} {
		if s := oneLine(o.text(name), maxSummary); s != "" {
			return s
		}
	}
	return ""
}

// millis is a point in time as agents write it: ISO 8601, or milliseconds as a
// number or a string. 0 is none.
func (o object) millis(name string) schema.Millis {
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

// first is the first of an array of strings, or "".
func (o object) first(name string) string {
	var s string
	if all := o.list(name); len(all) > 0 {
		_ = json.Unmarshal(all[0], &s)
	}
	return s
}

// written is what a JSON text inside a string says: some agents send a tool's
// arguments so. What is no object stays as it is.
func written(raw json.RawMessage) json.RawMessage {
	inner := text(raw)
	if _, ok := split([]byte(inner)); ok {
		return json.RawMessage(strings.TrimSpace(inner))
	}
	return raw
}

// pascal is an event's name as Claude Code would write it.
func pascal(name string) string {
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

// unattended reports whether the surroundings say that nobody sits at the agent:
// most agents don't tell their hooks.
func (in Input) unattended() bool {
	said := in.env("HOOKBACK_HEADLESS")
	return said != "" && said != "0" || in.env("CI") == "true" || in.env("GITHUB_ACTIONS") == "true"
}

// attended reports whether it is certain that somebody does. What is neither is not
// known, which matters to agents that wait for ever when nobody is there to answer, or
// go on.
func (in Input) attended(without ...string) bool {
	return !in.unattended() && (in.env("HOOKBACK_HEADLESS") == "0" || in.Attended != nil && in.Attended(without...))
}

func (in Input) env(name string) string {
	if in.Env == nil {
		return ""
	}
	return in.Env(name)
}

// sits is what to do where it isn't known.
const sits = " If somebody sits at this agent's prompt, start it with HOOKBACK_HEADLESS=0 in its environment and it asks there."

// unnamed stands for the name of a tool that an agent left out: such a call is
// gated like any other.
const unnamed = "unknown tool"

// mcp notes that the call is one of an MCP server's tool, whose name in the agent
// says less.
func (c *Call) mcp(server, tool string) {
	if server == "" || tool == "" {
		return
	}
	c.Alias = "mcp__" + server + "__" + tool
	c.Event.Summary = c.summary()
}

// only makes the arguments of a call of members that stand beside others.
func only(o object, names ...string) json.RawMessage {
	arguments := object{}
	for _, name := range names {
		if o.has(name) {
			arguments[name] = o[name]
		}
	}
	return encode(arguments)
}

// say prints an answer.
func say(answer any) Reply { return Reply{Stdout: encode(answer)} }

// denial is the reason of a no; a yes has none to tell.
func (v Verdict) denial() string {
	if v.Effect != Deny {
		return ""
	}
	return v.Reason
}
