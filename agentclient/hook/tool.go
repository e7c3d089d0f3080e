package hook

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strings"

	"github.com/hookback/hookback/agentclient/call"
	"github.com/hookback/hookback/schema"
)

// Common tool names, which a policy can use for every agent.
const (
	toolBash      = "Bash"
	toolRead      = "Read"
	toolWrite     = "Write"
	toolEdit      = "Edit"
	toolWebFetch  = "WebFetch"
	toolWebSearch = "WebSearch"
	toolTask      = "Task"
)

// summaryArguments lists the arguments that describe a call best, by common tool name.
// The first one present is used.
var summaryArguments = map[string][]string{
	toolBash:      {"command", "script"},
	toolRead:      {"file_path", "path", "absolute_path", "filePath", "AbsolutePath"},
	toolWrite:     {"file_path", "path", "filePath", "TargetFile"},
	toolEdit:      {"file_path", "path", "filePath", "filepath", "notebook_path", "TargetFile"},
	toolWebFetch:  {"url", "Url", "prompt"},
	toolWebSearch: {"query", "Query"},
	toolTask:      {"description", "task", "prompt"},
	"":            {"description", "title", "name", "pattern", "query", "path", "subject"},
}

// summarizeCall returns a short description of the call: its command line, file or
// address, or else its arguments.
func (c *Call) summarizeCall() string {
	if c.Command != "" {
		return c.Command
	}
	names, found := summaryArguments[c.Alias]
	if !found {
		names = summaryArguments[""]
	}
	for _, name := range names {
		if s := cmp.Or(c.args.text(name), c.args.commandText(name)); s != "" {
			return s
		}
	}
	if len(c.args) == 0 {
		return ""
	}
	return compactJSON(clipJSON(c.Tool.Arguments))
}

// commandText returns a member that lists the words of a command as one line: the script if the words
// start a shell, as in ["bash", "-lc", "rm -r ./build"]. It is for display only.
func (o object) commandText(name string) string {
	var words []string
	if !bytes.HasPrefix(o[name], []byte("[")) || json.Unmarshal(clipJSON(o[name]), &words) != nil {
		return ""
	}
	if len(words) == 3 && (words[1] == "-c" || words[1] == "-lc") {
		switch strings.TrimPrefix(strings.TrimPrefix(words[0], "/usr"), "/bin/") {
		case "sh", "bash", "zsh":
			return words[2]
		}
	}
	for i, word := range words {
		words[i] = quoteWord(word)
	}
	return strings.Join(words, " ")
}

// clipJSON bounds the cost of summarizing megabytes of arguments.
func clipJSON(raw json.RawMessage) json.RawMessage { return json.RawMessage(clip(string(raw), 4096)) }

// summaryLine returns the call's line in lists, such as "Bash: go test ./...".
func (c *Call) summaryLine() string {
	name := c.Tool.Name
	if server, tool, ok := call.SplitMCP(c.Alias, c.mcpServer); ok {
		name = server + " " + tool
	}
	if description := c.summarizeCall(); description != "" {
		name += ": " + description
	}
	return oneLine(name, maxSummary)
}

// questionText returns the question in one line. The page shows the full tool call
// next to it.
func (c *Call) questionText() string {
	description := oneLine(c.summarizeCall(), 200)
	name := oneLine(c.Tool.Name, 100)
	if server, tool, ok := call.SplitMCP(c.Alias, c.mcpServer); ok {
		return "Use " + oneLine(tool, 100) + " of " + oneLine(server, 100) + "?"
	}
	verb := map[string]string{
		toolBash: "Run ", toolRead: "Read ", toolWrite: "Write ", toolEdit: "Change ", toolWebFetch: "Fetch ", toolWebSearch: "Search the web for ", toolTask: "Start a subagent: ",
	}[c.Alias]
	switch {
	case description == "" || verb == "" && strings.HasPrefix(description, "{"):
		return "Use " + name + "?"
	case verb == "":
		return "Use " + name + ": " + description + "?"
	default:
		return verb + description + "?"
	}
}

// permissionQuestion returns a question that asks for permission to run the call.
func (c *Call) permissionQuestion(why, cwd string) *schema.HumanInTheLoop {
	tool := *c.Tool
	tool.Name = c.Event.ToolName
	tool.Editable = c.Capabilities.Has(CanEdit) && strings.HasPrefix(string(tool.Arguments), "{")
	return &schema.HumanInTheLoop{
		Question: c.questionText(), Type: schema.Permission, ToolCall: &tool,
		Context: &schema.Context{Why: clip(why, schema.MaxReason), Cwd: cwd},
	}
}

// Question returns a copy of Ask for a request to a hub. Arguments that would not fit into
// the request a second time are replaced by a reference into the payload.
func (c *Call) Question() schema.HumanInTheLoop {
	q := *c.Ask
	if q.ToolCall == nil || len(c.Event.Payload)+len(q.ToolCall.Arguments) <= maxTwice {
		return q
	}
	if ref := pointerTo(c.Event.Payload, q.ToolCall.Arguments, 3); ref != "" {
		// Without a name, because a hub that doesn't know references must reject it.
		q.ToolCall = &schema.ToolCall{ArgumentsRef: ref, ID: q.ToolCall.ID}
	}
	return q
}

// maxTwice limits the payload and the arguments in one request. The rest of it is smaller
// than 256 KiB.
const maxTwice = schema.MaxBody - 256<<10

// nameList has names separated by spaces, such as those of an agent's own tools with a common name.
type nameList string

func (l nameList) has(name string) bool {
	for listed := range strings.FieldsSeq(string(l)) {
		if listed == name {
			return true
		}
	}
	return false
}

// commonName returns the common name of one of the agent's own tools, or "". A tool of an MCP server
// gets none, although package call may read it by one: a rule that allows must not cover it.
func (l nameList) commonName(tool string) string {
	if !l.has(tool) {
		return ""
	}
	return call.CommonName(tool)
}

// setTool sets the tool call: the agent's tool name, its common name if it is in own, and the
// unmodified arguments.
func (c *Call) setTool(name string, own nameList, arguments json.RawMessage) {
	c.Event.ToolName = clip(name, schema.MaxName)
	c.Tool = &schema.ToolCall{Name: c.Event.ToolName, Arguments: arguments, ID: c.Event.ToolUseID}
	c.Alias = cmp.Or(own.commonName(name), c.Event.ToolName)
	c.args, _ = decodeObject(arguments)
	if c.Alias == toolBash {
		c.Command = cmp.Or(c.args.text("command"), c.args.text("cmd"), c.args.text("commandLine"), c.args.text("CommandLine"), c.args.text("command_line"))
	}
	c.Event.Summary = c.summaryLine()
}

// setGatedTool sets the tool call of an event that has one, and reports whether the call
// is about to run. Such a call is gated even if the agent sends no tool name.
func (c *Call) setGatedTool(name string, own nameList, arguments json.RawMessage) bool {
	gated := c.Event.HookEventType == "PreToolUse"
	if name != "" || gated {
		c.setTool(cmp.Or(name, unknownTool), own, arguments)
	}
	return gated
}

// setGate makes c a gate with these capabilities, and sets the question for a person.
func (c *Call) setGate(can Capability, why, cwd string) {
	c.Point, c.Capabilities = Gate, can
	if can.Has(CanAsk) {
		c.Fallback = Ask
	}
	c.Ask = c.permissionQuestion(why, cwd)
}

// checkEdit validates a person's edit of an approved call. An edit without changes is
// dropped. An edit that can't be applied turns the approval into Ask, because the
// original call must not run instead.
func (c *Call) checkEdit(v Verdict) Verdict {
	if v.Arguments == nil {
		return v
	}
	switch {
	case c.args != nil && schema.EqualJSON(v.Arguments, c.Tool.Arguments):
		v.Arguments = nil
		return v
	case !isObject(v.Arguments) || !c.Capabilities.Has(CanEdit):
		return Verdict{Effect: Ask, Reason: "A person approved this call with changes that can't be applied here."}
	default:
		return v
	}
}
