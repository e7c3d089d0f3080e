package rules

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/hookback/hookback/agentclient/call"
	"github.com/hookback/hookback/agentclient/call/matcher"
	"github.com/hookback/hookback/agentclient/call/programs"
	"github.com/hookback/hookback/schema"
)

// commandLine is one command of a call, with the operands that the call has in a separate list.
type commandLine struct {
	call.Line
	words  []string
	simple bool
}

// commandLines returns the commands that a call runs.
func (c *Call) commandLines() []commandLine {
	c.decodeArguments()
	if c.lines == nil {
		c.lines = []commandLine{}
		for _, l := range c.reading.WholeLines() {
			words, simple := call.WordsOf(c.Tool, l.Text, c.Cwd)
			c.lines = append(c.lines, commandLine{l, words, simple})
		}
	}
	return c.lines
}

// isOnly reports whether the command is known and an argument of its own.
func (l *commandLine) isOnly() bool { return l.simple && !l.IsList() }

// wholeLine returns the command line in an argument with its operands, or nil.
func (c *Call) wholeLine(pointer string) *commandLine {
	lines := c.commandLines()
	for i := range lines {
		if lines[i].Span.Pointer == pointer {
			return &lines[i]
		}
	}
	return nil
}

// ownCommand returns the words of the command that a call runs; nil if it runs none, several, or
// one that is not simple.
func (c *Call) ownCommand() []string {
	if lines := c.commandLines(); len(lines) == 1 && lines[0].isOnly() {
		return lines[0].words
	}
	return nil
}

// commandRule describes to an allow rule the commands that it may cover.
type commandRule struct {
	posix, windows matcher.Options
	conditions     bool // a condition is about the command
	exact          bool // a condition requires the whole command
}

func newCommandRule(r *schema.Rule, when []condition) (k commandRule) {
	k.windows.Windows = true
	for _, o := range []*matcher.Options{&k.posix, &k.windows} {
		o.Add(r.Command)
		for i := range when {
			if c := &when[i]; c.isCommand {
				o.AddOperand(c.is, c.operand, matcher.Exact)
			}
		}
	}
	for i := range when {
		k.conditions = k.conditions || when[i].isCommand
		k.exact = k.exact || when[i].isCommand && when[i].is == "equals"
	}
	return k
}

// refusal returns why an allow rule does not cover a call beyond the one it was created from, or
// "". A call that is known to be harmless needs no further check.
func (k *commandRule) refusal(c *Call) string {
	switch {
	case c.Class == schema.ClassHarmless:
		return ""
	case c.Class == schema.ClassRisky:
		return "This call is risky: a rule can allow exactly this call, but no other."
	}
	lines := c.commandLines()
	_, runsCommands := call.ShellOf(c.Tool)
	switch {
	case runsCommands && !k.conditions:
		return "This tool runs arbitrary commands: add a condition for the start of the command, or allow exactly this call."
	case runsCommands && len(lines) == 0, len(lines) > 1, len(lines) == 1 && !lines[0].isOnly():
		return notSimple
	case len(c.reading.Unread) > 0:
		return fmt.Sprintf("A part of this call can't be read (%s): a rule can allow exactly this call, but no other.", c.reading.Unread[0].Reason)
	case len(lines) == 0:
		return ""
	}
	if matcher.SetsEnvironment(c.args, true) {
		return "The call sets environment variables, which can run programs: a rule can allow exactly this call, but no other."
	}
	words := lines[0].words
	if option, effect := programs.ExecutingOption(words); effect != programs.NoEffect {
		return fmt.Sprintf("%s runs a program or writes a file: a rule can allow exactly this call, but no other.", displayName(option))
	}
	if programs.RunsCode(words) && !k.exact {
		return fmt.Sprintf("%s runs code that its words contain or name: the condition must be the whole command, or allow exactly this call.", displayName(words[0]))
	}
	options := &k.posix
	if call.IsWindows(c.Tool, c.Cwd) {
		options = &k.windows
	}
	if !options.Cover(words) {
		return "The command has an option that the call did not have."
	}
	return ""
}

const notSimple = "A rule can only match single commands: this one has a separator, a pipe, a redirect, a variable or similar. You can allow exactly this call."

// ExactScope returns how closely an allow rule must name the call: schema.ExactCall, or
// schema.ExactCommand if a condition for the whole command is enough, or "" for a wider rule.
func ExactScope(c *Call) string {
	k := commandRule{conditions: true, exact: true}
	k.windows.Windows = true
	k.posix.Add(c.ownCommand())
	k.windows.Add(c.ownCommand())
	if k.refusal(c) != "" {
		return schema.ExactCall
	}
	if k.exact = false; k.refusal(c) != "" {
		return schema.ExactCommand
	}
	return ""
}

// describeOptions returns the options of the command that a rule was created from.
func describeOptions(r *schema.Rule) string {
	var options matcher.Options
	options.Add(r.Command)
	words := options.Words()
	if len(words) == 0 || r.Then != schema.ThenAllow {
		return ""
	}
	for i, w := range words {
		words[i] = strconv.Quote(w)
	}
	return " and has no other options than " + strings.Join(words, " ")
}
