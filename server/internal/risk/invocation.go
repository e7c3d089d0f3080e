package risk

import (
	"slices"
	"strings"

	"github.com/hookback/hookback/agentclient/call"
	"github.com/hookback/hookback/agentclient/call/programs"
)

// invocation is a program and its arguments, in the form that the rules use.
type invocation struct {
	name       string
	args       []call.Word
	span       call.Span // the whole command
	whole      call.Span // with the command that gives it its last arguments
	cmd        *call.Command
	index      int    // in the commands of the call
	dir        string // directory it runs in; empty if unknown
	pipedInput bool   // run by xargs or find: its last arguments come from a list
}

// maxWriters bounds the writers of one command that are looked at.
const maxWriters = 32

// writers returns the commands whose output a command reads through pipes.
func (a *assessor) writers(c *call.Command) []call.Command {
	return a.call.Commands[c.Input.From:c.Input.To]
}

// wordsSpan returns the place of a command without its assignments and redirects.
func wordsSpan(c *call.Command) call.Span {
	if len(c.Words) == 0 {
		return c.Span
	}
	return through(c.Words[0].Span, c.Words[len(c.Words)-1].Span)
}

// runners returns the names of the programs that run a command, from the nearest one.
func (a *assessor) runners(c *call.Command) (names []string) {
	for c.By >= 0 && len(names) < 16 {
		c = &a.call.Commands[c.By]
		names = append(names, commandName(c))
	}
	return names
}

// programName returns the canonical name of a program in a shell.
func programName(text string, sh call.Shell) string {
	name := programs.ProgramName(text, sh == call.PowerShell || sh == call.Cmd)
	if at := strings.LastIndexByte(name, '@'); at > 0 { // npx PACKAGE@VERSION
		name = name[:at]
	}
	return name
}

// words returns the texts of the program and its arguments.
func (inv *invocation) words() []string { return append([]string{inv.name}, call.Texts(inv.args)...) }

// hasOption is programs.HasOption for the invocation.
func (inv *invocation) hasOption(names ...string) bool {
	return programs.HasOption(inv.words(), names...)
}

// hasArgument reports whether an argument equals one of the texts.
func (inv *invocation) hasArgument(texts ...string) bool {
	return slices.ContainsFunc(inv.args, func(w call.Word) bool { return slices.Contains(texts, w.Text) })
}

// operands returns the arguments that are not options. valued lists the options whose value is the
// next word.
func (inv *invocation) operands(valued ...string) (list []call.Word) {
	for _, w := range call.Operands(inv.args, valued...) {
		list = append(list, *w)
	}
	return list
}

// subcommand returns the first operand, as in git and docker, and an invocation with the arguments
// after it.
func (inv *invocation) subcommand(valued ...string) (name string, rest *invocation) {
	inner := *inv
	name, inner.args = subcommand(inv.args, valued...)
	return name, &inner
}

func subcommand(args []call.Word, valued ...string) (name string, rest []call.Word) {
	for i, w := range call.Operands(args, valued...) {
		isValue := i > 0 && strings.HasPrefix(args[i-1].Text, "--") && slices.Contains([]string{"true", "false", "none"}, w.Text)
		if !isValue {
			return w.Text, args[i+1:]
		}
	}
	return "", nil
}

// commandIndex returns the index of the wrapped command: the first argument that is neither an
// option, an option's value nor an assignment. It returns -1 if there is none.
func (inv *invocation) commandIndex(valued ...string) int {
	for i, w := range call.Operands(inv.args, valued...) {
		if !isAssignment(w) {
			return i
		}
	}
	return -1
}

func (a *assessor) commandsIn(r call.Range) []call.Command { return a.call.Commands[r.From:r.To] }

func commandName(c *call.Command) string {
	if len(c.Words) == 0 {
		return ""
	}
	return programName(c.Words[0].Text, call.POSIX)
}

// downloads reports whether a command writes data from the network to its output.
func downloads(c *call.Command) bool {
	for i := range c.Words {
		switch name := strings.ToLower(programName(c.Words[i].Text, call.POSIX)); name {
		case "curl", "wget", "iwr", "irm", "invoke-webrequest", "invoke-restmethod", "aria2c", "http", "https", "fetch",
			"nc", "ncat", "netcat", "socat", "telnet", "websocat", "wscat":
			return true
		case "sudo", "doas", "env", "timeout", "time", "nice", "command", "exec":
		default:
			if i == 0 ||
				!strings.HasPrefix(c.Words[i-1].Text, "-") && !strings.HasPrefix(c.Words[i].Text, "-") &&
					!isNumber(strings.TrimRight(name, "smh")) {
				return false
			}
		}
	}
	return false
}

// searchPattern returns the index of the argument that is a pattern or a script and not a file, or -1.
func (inv *invocation) searchPattern() int {
	options := strings.Fields("e f regexp expression file files")
	switch inv.name {
	case "jq", "yq":
		options = strings.Fields("f from-file")
	case "grep", "rg", "sed", "awk":
	default:
		return -1
	}
	if inv.hasOption(options...) {
		return -1
	}
	at := slices.IndexFunc(inv.args, func(w call.Word) bool { return !strings.HasPrefix(w.Text, "-") })
	if inv.name == "yq" && at >= 0 && (at == len(inv.args)-1 || strings.Contains(inv.args[at].Text, "/")) { // the expression is optional
		return -1
	}
	return at
}
