package hook

import (
	"cmp"
	"encoding/json"
	"reflect"
	"strings"

	"github.com/hookback/hookback/schema"
)

// The common names of tools, which a policy may use for any agent.
const (
	toolBash      = "Bash"
	toolRead      = "Read"
	toolWrite     = "Write"
	toolEdit      = "Edit"
	toolWebFetch  = "WebFetch"
	toolWebSearch = "WebSearch"
	toolTask      = "Task"
)

// summaryArguments names the arguments that say best what a call is about, by the common
// name of the tool: the first that is there.
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

// summarizeCall is what the call is about, in a few words: its command line, its file, its
// address. Without any, its arguments.
func (c *Call) summarizeCall() string {
	if c.Command != "" {
		return c.Command
	}
	names, known := summaryArguments[c.Alias]
	if !known {
		names = summaryArguments[""]
	}
	for _, name := range names {
		if s := c.args.text(name); s != "" {
			return s
		}
	}
	if len(c.args) == 0 {
		return ""
	}
	return compactJSON(clipJSON(c.Tool.Arguments))
}

// clipJSON keeps a summary of 5 MB of arguments cheap.
func clipJSON(raw json.RawMessage) json.RawMessage { return json.RawMessage(clip(string(raw), 4096)) }

// summaryLine is the line that lists show for the call, such as "Bash: go test ./...".
func (c *Call) summaryLine() string {
	name := c.Tool.Name
	if server, tool, ok := splitMCPName(c.Alias); ok {
		name = server + " " + tool
	}
	if about := c.summarizeCall(); about != "" {
		name += ": " + about
	}
	return oneLine(name, maxSummary)
}

// questionText asks for the call, in one line. What it will do exactly stands in the
// request's tool call, which the page shows in full.
func (c *Call) questionText() string {
	about := oneLine(c.summarizeCall(), 200)
	name := oneLine(c.Tool.Name, 100)
	if server, tool, ok := splitMCPName(c.Alias); ok {
		return "Use " + oneLine(tool, 100) + " of " + oneLine(server, 100) + "?"
	}
	verb := map[string]string{
		toolBash: "Run ", toolRead: "Read ", toolWrite: "Write ", toolEdit: "Change ", toolWebFetch: "Fetch ", toolWebSearch: "Search the web for ", toolTask: "Start a subagent: ",
	}[c.Alias]
	switch {
	case about == "" || verb == "" && strings.HasPrefix(about, "{"):
		return "Use " + name + "?"
	case verb == "":
		return "Use " + name + ": " + about + "?"
	default:
		return verb + about + "?"
	}
}

// permissionQuestion is the question whether the call may run.
func (c *Call) permissionQuestion(why, cwd string) *schema.HumanInTheLoop {
	tool := *c.Tool
	tool.Editable = c.Capabilities.Has(CanEdit) && strings.HasPrefix(string(tool.Arguments), "{")
	return &schema.HumanInTheLoop{
		Question: c.questionText(), Type: schema.Permission, ToolCall: &tool,
		Context: &schema.Context{Why: clip(why, schema.MaxReason), Cwd: cwd},
	}
}

// setTool notes the call that would run: its name in the agent, its common one, its
// arguments as they are.
func (c *Call) setTool(name string, alias map[string]string, arguments json.RawMessage) {
	c.Event.ToolName = clip(name, schema.MaxName)
	c.Tool = &schema.ToolCall{Name: c.Event.ToolName, Arguments: arguments, ID: c.Event.ToolUseID}
	c.Alias = cmp.Or(alias[name], c.Event.ToolName)
	_ = c.args.decode(arguments)
	if c.Alias == toolBash {
		c.Command = cmp.Or(c.args.text("command"), c.args.text("cmd"), c.args.text("commandLine"), c.args.text("CommandLine"), c.args.text("command_line"))
	}
	c.Event.Summary = c.summaryLine()
}

// checkEdit checks the person's edit of an approved call. One that says nothing new is
// none; one that can't be passed on approves nothing, or the call would run as it was.
func (c *Call) checkEdit(v Verdict) Verdict {
	if v.Arguments == nil {
		return v
	}
	var now object
	err := json.Unmarshal(v.Arguments, &now)
	switch {
	case err == nil && now != nil && reflect.DeepEqual(now, c.args):
		v.Arguments = nil
		return v
	case err != nil || now == nil || !c.Capabilities.Has(CanEdit):
		return Verdict{Effect: Ask, Reason: "The call was approved with changes, which could not be passed on."}
	default:
		return v
	}
}

// splitMCPName takes the name of an MCP server's tool apart: mcp__server__tool.
func splitMCPName(name string) (server, tool string, ok bool) {
	rest, ok := strings.CutPrefix(name, "mcp__")
	if !ok {
		return "", "", false
	}
	server, tool, ok = strings.Cut(rest, "__")
	return server, tool, ok && server != "" && tool != ""
}
