// Package intent summarizes a tool call in a few words: a verb, its object and the change.
// The words are the hub's; names, paths and commands are the agent's text and made inert. It is pure.
package intent

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/hookback/hookback/agentclient/call"
	"github.com/hookback/hookback/schema"
)

// Of returns the intent of a tool call. cwd is the directory that paths are relative to; empty if unknown.
func Of(tool string, arguments json.RawMessage, cwd string) schema.Intent {
	return OfCall(call.Read(call.Input{Tool: tool, Dir: cwd, Arguments: arguments}), cwd)
}

// OfCall returns the intent of a call that was read. It shows the commands, files and hosts of the reading,
// and of several arguments with one meaning the one that agents read. It shows all values of
// an argument that is there twice: programs disagree on which one counts.
func OfCall(c *call.Call, cwd string) schema.Intent {
	in := intentOf(c, cwd)
	if twice := repeated(c.Root()); twice != "" {
		in.Change = strings.TrimPrefix(in.Change+" · "+twice, " · ")
	}
	return in
}

func intentOf(c *call.Call, cwd string) schema.Intent {
	_, isShell := call.ShellOf(c.Tool)
	isShell = isShell || len(c.Names) == 1 && c.HasName("Bash") // of a tool that calls others
	command := ""
	if isShell {
		command = commandLine(c.CommandLine())
	}
	switch {
	case call.IsPlan(c.Tool):
		return schema.Intent{Verb: "Approve plan", Object: planTitle(textOf(c.Root(), "plan", "response"))}
	case command != "":
		return schema.Intent{Verb: "Run", Object: middle(command, maxCommand)}
	case c.HasName("Task") && c.IsKnownTool():
		return schema.Intent{Verb: "Start agent", Object: middle(singleLine(textOf(c.Root(), "description", "prompt")), maxValue)}
	case c.IsKnownTool() && !isShell:
		if in, ok := fileIntent(c, cwd); ok {
			return in
		}
	}
	if c.IsKnownTool() && len(c.Names) == 1 && strings.HasPrefix(c.Names[0], "mcp__") {
		return schema.Intent{Verb: "Call", Object: toolName(c.Names[0]), Change: summary(cmp.Or(argument(c.Root(), "arguments"), c.Root()))}
	}
	return schema.Intent{Verb: "Call", Object: toolName(c.Tool), Change: summary(c.Root())}
}

// planTitle returns the first line of a plan with text, without the marks of a heading.
func planTitle(plan string) string {
	for line := range strings.Lines(plan) {
		if title := strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(line), "#*-> ")); title != "" {
			return middle(singleLine(title), maxValue)
		}
	}
	return ""
}

// toolName returns the name of a tool with the server that offers it: "stripe · create_refund".
func toolName(tool string) string {
	server, name, ok := call.SplitMCP(tool, "")
	if rest, isAt := strings.CutPrefix(tool, "@"); isAt {
		server, name, ok = strings.Cut(rest, "/")
	}
	if !ok || server == "" || name == "" {
		return middle(singleLine(tool), maxName)
	}
	return middle(singleLine(server), maxName) + " · " + middle(singleLine(name), maxName)
}

// fileIntent returns the intent of a native tool that has files or hosts.
func fileIntent(c *call.Call, cwd string) (in schema.Intent, ok bool) {
	if in, ok = changeIntent(c, cwd); ok {
		return in, true
	}
	files := c.MainFiles(func(f *call.File) bool { return call.ArgumentKind(c.Tool, f.Span.Argument()) == "file" })
	if len(files) > 0 {
		in.Object = shortPath(files[0].Path, cwd)
	}
	if len(files) > 1 {
		in.Change = fmt.Sprintf("and %d more", len(files)-1)
	}
	host := call.Preferred(c.Hosts, func(h *call.Host) call.Span { return h.Span })
	pattern := textOf(c.Root(), "pattern", "query", "regex", "globpattern")
	switch op := opOf(c); {
	case pattern != "" && (op == call.ReadFile || op == call.ListFile):
		in.Verb, in.Object, in.Change = "Search", middle(singleLine(pattern), maxValue), strings.TrimSpace(in.Object+" "+in.Change)
		if in.Change != "" {
			in.Change = "in " + in.Change
		}
	case op == call.ReadFile && len(files) > 0:
		in.Verb = "Read"
	case op == call.ListFile && len(files) > 0:
		in.Verb = "List"
	case host != nil:
		in.Verb, in.Object = "Fetch", middle(singleLine(c.TextAt(host.Span)), maxCommand)
		isOther := func(h call.Host) bool { return h.Span.Argument() != host.Span.Argument() }
		if n := len(slices.DeleteFunc(slices.Clone(c.Hosts), isOther)); n > 1 {
			in.Change = fmt.Sprintf("and %d more", n-1)
		}
	}
	return in, in.Verb != ""
}

// opOf returns what a call does with its files; empty if it has none, or does different things.
func opOf(c *call.Call) (op call.FileOp) {
	for i := range c.Files {
		if i > 0 && c.Files[i].Op != op {
			return ""
		}
		op = c.Files[i].Op
	}
	return op
}

// String returns the intent as one line: "Edit internal/order/list.go +4 −3".
func String(in *schema.Intent) string {
	return strings.Join(strings.Fields(in.Verb+" "+in.Object+" "+in.Change), " ")
}
