// Package intent summarizes a tool call in a few words: a verb, its object and the change.
// The words are the hub's; names, paths and commands are the agent's text and made inert. It is pure.
package intent

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/risk/call"
)

// Of returns the intent of a tool call. cwd is the directory that paths are relative to; empty if unknown.
func Of(tool string, arguments json.RawMessage, cwd string) schema.Intent {
	args := decode(arguments)
	kind := call.KindOf(tool)
	switch {
	case isPlan(tool):
		return schema.Intent{Verb: "Approve plan", Object: planTitle(args.text("plan"))}
	case kind == call.Shell || kind == call.PowerShell || kind == call.Cmd:
		if command := args.command(); command != "" {
			return schema.Intent{Verb: "Run", Object: middle(command, maxCommand)}
		}
	case kind == call.Write:
		if in, ok := writeIntent(tool, args, cwd); ok {
			return in
		}
	case kind == call.Read:
		if in, ok := readIntent(args, cwd); ok {
			return in
		}
	case kind == call.Fetch:
		if url := args.text("url"); url != "" {
			return schema.Intent{Verb: "Fetch", Object: middle(singleLine(url), maxCommand)}
		}
	case strings.EqualFold(tool, "Task") || strings.EqualFold(tool, "Agent"):
		return schema.Intent{Verb: "Start agent", Object: middle(singleLine(cmp.Or(args.text("description"), args.text("prompt"))), maxValue)}
	}
	return schema.Intent{Verb: "Call", Object: toolName(tool), Change: args.summary()}
}

func isPlan(tool string) bool {
	name := call.NormalizeName(tool)
	return name == "exitplanmode"
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
	server, name, ok := "", tool, false
	if rest, isMCP := strings.CutPrefix(tool, "mcp__"); isMCP {
		server, name, ok = strings.Cut(rest, "__")
	} else if rest, isAt := strings.CutPrefix(tool, "@"); isAt {
		server, name, ok = strings.Cut(rest, "/")
	}
	if !ok || server == "" || name == "" {
		return middle(singleLine(tool), maxName)
	}
	return middle(singleLine(server), maxName) + " · " + middle(singleLine(name), maxName)
}

func readIntent(args arguments, cwd string) (schema.Intent, bool) {
	file := args.path()
	for _, name := range []string{"pattern", "query", "regex"} {
		if pattern := args.text(name); pattern != "" {
			in := schema.Intent{Verb: "Search", Object: middle(singleLine(pattern), maxValue)}
			if file != "" {
				in.Change = "in " + shortPath(file, cwd)
			}
			return in, true
		}
	}
	return schema.Intent{Verb: "Read", Object: shortPath(file, cwd)}, file != ""
}

func writeIntent(tool string, args arguments, cwd string) (schema.Intent, bool) {
	if text := args.patch(); text != "" {
		return patchIntent(text, cwd)
	}
	file := args.path()
	if file == "" {
		return schema.Intent{}, false
	}
	in := schema.Intent{Verb: "Edit", Object: shortPath(file, cwd)}
	if name := call.NormalizeName(tool); strings.HasPrefix(name, "delete") {
		in.Verb = "Delete"
		return in, true
	} else if name == "download" {
		in.Verb, in.Change = "Download", middle(singleLine(args.text("url")), maxValue)
		return in, true
	}
	if added, removed, ok := args.edits(); ok {
		in.Change = plusMinus(added, removed)
		return in, true
	}
	if content, ok := args.content(); ok {
		in.Verb, in.Change = "Write", count(lines(content), "line")
	}
	return in, true
}

// String returns the intent as one line: "Edit internal/order/list.go +4 −3".
func String(in *schema.Intent) string {
	return strings.Join(strings.Fields(in.Verb+" "+in.Object+" "+in.Change), " ")
}
