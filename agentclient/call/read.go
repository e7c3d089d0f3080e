package call

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
)

// UnknownTool is the tool of a call whose agent sent no readable name.
const UnknownTool = "unknown tool"

// SeveralTools is the tool of a call that stands for several ones. They are the items of its argument
// toolCalls, with their name and their arguments (args or arguments), which may be JSON in a string.
const SeveralTools = "several tools"

// Input is a tool call as an agent sent it.
type Input struct {
	Agent, Tool string
	Alias       string // common name that the agent's adapter knows, or ""
	Dir         string // working directory, or ""
	Command     string // command line that the agent's adapter found, or ""
	Arguments   json.RawMessage
}

// Read reads a tool call.
func Read(in Input) *Call {
	c := &Call{Agent: in.Agent, Tool: in.Tool, Dir: slashes(in.Dir), Arguments: in.Arguments}
	if in.Tool == "" || in.Tool == UnknownTool {
		c.addUnread(Span{}, "it names no tool")
	}
	c.readNative()
	if strings.HasPrefix(in.Alias, mcpPrefix) { // from the agent, so nothing is guessed
		c.Names = slices.DeleteFunc(c.Names, func(name string) bool { return strings.HasPrefix(name, mcpPrefix) })
	}
	if in.Alias != "" && in.Alias != in.Tool && !slices.Contains(c.Names, in.Alias) {
		c.Names = append(c.Names, in.Alias)
	}
	if in.Command != "" {
		c.AddLine(in.Command)
	}
	return c
}

// AddLine reads a command line that the reading does not have yet.
func (c *Call) AddLine(text string) {
	if !slices.ContainsFunc(c.Lines, func(l Line) bool { return l.Text == text }) {
		c.readCommand(text, Span{}, POSIX, nil)
	}
}

// EachSpan calls fn with every place in the reading.
func (c *Call) EachSpan(fn func(*Span)) {
	words := func(list []Word) {
		for i := range list {
			fn(&list[i].Span)
		}
	}
	for i := range c.Lines {
		fn(&c.Lines[i].Span)
	}
	for i := range c.Commands {
		cmd := &c.Commands[i]
		fn(&cmd.Span)
		words(cmd.Words)
		words(cmd.Assignments)
		for j := range cmd.Redirects {
			fn(&cmd.Redirects[j].Target.Span)
		}
	}
	for i := range c.Files {
		fn(&c.Files[i].Span)
	}
	for i := range c.MayBe {
		fn(&c.MayBe[i].Span)
	}
	for i := range c.Hosts {
		fn(&c.Hosts[i].Span)
	}
	for i := range c.Scripts {
		fn(&c.Scripts[i].Span)
	}
	for i := range c.Texts {
		fn(&c.Texts[i])
	}
	for i := range c.Unread {
		fn(&c.Unread[i].Span)
	}
}

// ReadLine reads a command line alone.
func ReadLine(text string, sh Shell) *Call {
	c := &Call{}
	c.readCommand(text, Span{To: len(text)}, cmp.Or(sh, POSIX), nil)
	return c
}

// ReadLineAt reads a command line that the arguments of a call have at a place, in a directory.
func ReadLineAt(text string, at Span, dir string) *Call {
	c := &Call{Dir: slashes(dir)}
	c.readCommand(text, at, POSIX, nil)
	return c
}

func slashes(p string) string { return strings.ReplaceAll(p, `\`, "/") }
