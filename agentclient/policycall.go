package agentclient

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// callArguments gives rules access to the arguments of one call. The arguments are parsed
// when a rule first needs them.
type callArguments struct {
	ToolCall
	parsed bool
	root   *jsonNode // nil: not a JSON object
}

func (c *callArguments) object() *jsonNode {
	if c.parsed {
		return c.root
	}
	c.parsed = true
	if text := bytes.TrimSpace(c.Arguments); len(text) == 0 || string(text) == "null" {
		c.root = &jsonNode{kind: jsonObject}
	} else if node, err := parseJSON(text); err == nil && node.kind == jsonObject {
		c.root = node
	}
	return c.root
}

// lookup returns the values at a path, or the reason why they are ambiguous.
func (c *callArguments) lookup(path []string) (values []*jsonNode, problem string) {
	args := c.object()
	if args == nil {
		return nil, "its arguments are not a JSON object"
	}
	switch {
	case len(path) == 1 && path[0] == "command" && c.Command != "":
		// The adapter extracted the command from the agent's own argument.
		if _, problem := followPath(args, path); problem != "" {
			return nil, problem
		}
		return []*jsonNode{{kind: jsonText, value: c.Command}}, ""
	case len(path) == 1 && path[0] == "file":
		seen := map[string]bool{}
		for _, m := range args.members {
			if !slices.ContainsFunc(fileArguments, func(name string) bool { return strings.EqualFold(name, m.name) }) {
				continue
			}
			found, problem := followPath(m.value, nil)
			if seen[m.name] {
				problem = fmt.Sprintf("the argument %q is duplicated", m.name)
			}
			if problem != "" {
				return nil, problem
			}
			seen[m.name] = true
			values = append(values, found...)
		}
		return values, ""
	default:
		return followPath(args, path)
	}
}

// followPath returns the values at a path. If a path component is not an index, it
// applies to every item of an array.
func followPath(n *jsonNode, path []string) (values []*jsonNode, problem string) {
	if n.kind == jsonArray {
		for i, item := range n.items {
			rest := path
			if len(path) > 0 {
				if at, err := strconv.Atoi(path[0]); err == nil {
					if at != i {
						continue
					}
					rest = path[1:]
				}
			}
			found, problem := followPath(item, rest)
			if problem != "" {
				return nil, problem
			}
			values = append(values, found...)
		}
		return values, ""
	}
	if len(path) == 0 {
		return []*jsonNode{n}, ""
	}
	if n.kind != jsonObject && n.kind != jsonNull {
		return nil, fmt.Sprintf("the arguments have %s in place of the argument %s", n.kind, strings.Join(path, "."))
	}
	var next *jsonNode
	for _, m := range n.members {
		switch {
		case !strings.EqualFold(m.name, path[0]):
		case m.name != path[0]:
			return nil, fmt.Sprintf("some programs read the argument %q as %q", m.name, path[0])
		case next != nil:
			return nil, fmt.Sprintf("the argument %q is duplicated", m.name)
		default:
			next = m.value
		}
	}
	if next == nil {
		return nil, ""
	}
	return followPath(next, path[1:])
}

// shellArguments are the argument names that tools use for a command line.
var shellArguments = []string{
	"command", "commands", "cmd", "command_line", "commandline", "shell_command", "script", "args", "argv", "arguments",
}

// isAllowable reports whether a rule may allow the call at all: its arguments are
// unambiguous, every command is a single simple command, and none of its text mentions
// the policy file.
func (c *callArguments) isAllowable() bool {
	args := c.object()
	if args == nil || args.hasAmbiguousNames() || c.Command != "" && !isSimpleCommand(c.Command) {
		return false
	}
	seen := c.Command != ""
	for _, m := range args.members {
		if !slices.ContainsFunc(shellArguments, func(name string) bool { return strings.EqualFold(name, m.name) }) {
			continue
		}
		seen = true
		if !m.value.everyText(isSimpleCommand) {
			return false
		}
	}
	if c.Alias == "Bash" && !seen {
		return false // a shell call whose command is unknown
	}
	allowed := func(text string) bool { return !strings.Contains(strings.ToLower(text), PolicyFileName) }
	return allowed(c.Command) && args.everyText(allowed)
}
