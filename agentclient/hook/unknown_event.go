package hook

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"

	"github.com/hookback/hookback/schema/control"
)

// Parse implements Agent. It treats an event with an unknown name as the agent's gate if it
// carries a tool call without a result. Vendors rename and add events, and a policy or a
// freeze must not lose its effect by that.
func (a *adapter) Parse(in Input) (Call, error) {
	p, err := in.parseObject()
	if err != nil {
		return Call{}, err
	}
	c, err := a.parseKnown(in, p)
	if err != nil || c.Point != Observe {
		return c, err
	}
	o, member := p.members, cmp.Or(a.eventMember, "hook_event_name")
	native := cmp.Or(o.text(member), o.text("hook_event_name"), o.text("hookEventName"), in.Event)
	if native == "" || a.events.has(native) || hasResult(o) {
		return c, nil
	}
	event, members, ok := a.asGate(o)
	if !ok {
		return c, nil
	}
	members[member] = encodeJSON(event)
	as := *p
	as.members, in.Event = members, event
	gate, err := a.parseKnown(in, &as)
	if err != nil || gate.Tool == nil || gate.Ask == nil {
		return c, nil //nolint:nilerr // the event itself was read
	}
	gate.Point, gate.Capabilities, gate.Fallback = Gate, CanDeny, Pass
	gate.HasPrompt, gate.PromptAfter, gate.Limit = false, 0, c.Limit
	context, path := gate.Ask.Context, gate.Ask.AgentPath
	gate.Ask = gate.permissionQuestion("", "")
	gate.Ask.Context, gate.Ask.AgentPath = context, path
	gate.Event.Extra = map[string]json.RawMessage{control.HookMember: encodeJSON(control.HookVerdict{UnknownEvent: true})}
	gate.UnknownEvent = native
	return gate, nil
}

// Render implements Agent.
func (a *adapter) Render(c *Call, v Verdict) Reply {
	if c.UnknownEvent == "" {
		return a.render(c, v)
	}
	if v = c.adaptVerdict(v); v.Effect != Deny {
		return Reply{}
	}
	r := a.render(c, v)
	// Agents that expect the event's name in the answer expect the one that they sent.
	r.Stdout = bytes.Replace(r.Stdout, []byte(`"hookEventName":"PreToolUse"`), append([]byte(`"hookEventName":`), encodeJSON(c.UnknownEvent)...), 1)
	return r
}

// Members in which agents send a tool's name, its arguments and its result.
var (
	toolNameMembers  = []string{"tool_name", "toolName", "tool", "name"}
	argumentsMembers = []string{"tool_input", "toolInput", "toolArgs", "tool_args", "arguments", "args", "input", "parameters"}
	resultMembers    = []string{"tool_response", "tool_result", "toolResult", "tool_output", "result", "output", "durationMs", "duration_ms", "success"}
)

// hasResult reports whether o, or an object in it, has the result of a call.
func hasResult(o object) bool {
	for name := range o {
		if slices.Contains(resultMembers, name) {
			return true
		}
		if inner := o.object(name); inner != nil && !slices.Contains(argumentsMembers, name) && name != "tool_info" && name != "metadata" {
			if slices.ContainsFunc(resultMembers, inner.has) {
				return true
			}
		}
	}
	return false
}

// findTool returns the tool call of o: its name and arguments, in o itself or in one of its
// objects.
func findTool(o object) (name string, arguments json.RawMessage, ok bool) {
	if name, arguments, ok = o.tool(toolNameMembers[:3]); ok {
		return name, arguments, true
	}
	for _, member := range slices.Sorted(maps.Keys(o)) {
		if slices.Contains(argumentsMembers, member) {
			continue
		}
		if name, arguments, ok = o.object(member).tool(toolNameMembers); ok {
			return name, arguments, true
		}
	}
	return "", nil, false
}

// tool returns the tool call in the members of o itself.
func (o object) tool(nameMembers []string) (name string, arguments json.RawMessage, ok bool) {
	for _, member := range nameMembers {
		name = cmp.Or(name, o.text(member))
	}
	for _, member := range argumentsMembers {
		if arguments == nil && o.has(member) {
			arguments = o[member]
		}
	}
	return name, arguments, name != "" && arguments != nil
}

// withMembers returns a copy of o with these members.
func (o object) withMembers(members object) object {
	o = maps.Clone(o)
	maps.Copy(o, members)
	return o
}

// namedTool returns what asGate returns, for agents that send tool_name and tool_input.
func namedTool(o object, event string) (string, object, bool) {
	name, arguments, ok := findTool(o)
	return event, o.withMembers(object{"tool_name": encodeJSON(name), "tool_input": arguments}), ok
}

func claudeGate(o object) (string, object, bool) { return namedTool(o, "PreToolUse") }

func geminiGate(o object) (string, object, bool) { return namedTool(o, "BeforeTool") }

func kiroGate(o object) (string, object, bool) { return namedTool(o, "preToolUse") }

func cursorGate(o object) (string, object, bool) {
	if event, members, ok := kiroGate(o); ok {
		return event, members, ok
	}
	return "beforeShellExecution", maps.Clone(o), o.text("command") != ""
}

func clineGate(o object) (string, object, bool) {
	typed := maps.Clone(o)
	delete(typed, "preToolUse") // it has the arguments as strings
	name, arguments, ok := findTool(typed)
	if !ok {
		name, arguments, ok = findTool(o)
	}
	return "tool_call", o.withMembers(object{"tool_call": encodeJSON(object{"name": encodeJSON(name), "input": arguments})}), ok
}

func windsurfGate(o object) (string, object, bool) {
	info := o.object("tool_info")
	for _, action := range []struct{ member, event string }{
		{"command_line", "pre_run_command"}, {"mcp_tool_name", "pre_mcp_tool_use"}, {"edits", "pre_write_code"}, {"file_path", "pre_read_code"},
	} {
		if info.has(action.member) {
			return action.event, maps.Clone(o), true
		}
	}
	return "", nil, false
}

func antigravityGate(o object) (string, object, bool) {
	name, arguments, ok := findTool(o)
	return "PreToolUse", o.withMembers(object{"toolCall": encodeJSON(object{"name": encodeJSON(name), "args": arguments})}), ok
}

func opencodeGate(o object) (string, object, bool) {
	p := o.object("properties")
	for _, event := range []struct{ name, patterns, event string }{
		{"permission", "patterns", "permission.asked"}, {"action", "resources", "permission.v2.asked"},
	} {
		if p.text(event.name) != "" && p.has(event.patterns) {
			return event.event, maps.Clone(o), true
		}
	}
	return "", nil, false
}
