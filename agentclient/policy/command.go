package policy

import (
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/hookback/hookback/agentclient/call"
	"github.com/hookback/hookback/agentclient/policy/programs"
)

const onWindows = runtime.GOOS == "windows"

// shellArguments are the argument names that tools use for a command line. The operands
// of a command may be in a separate list.
var (
	commandNames   = []string{"command", "commands", "cmd", "command_line", "commandline", "shell_command", "script"}
	operandNames   = []string{"args", "argv", "arguments"}
	shellArguments = slices.Concat(commandNames, operandNames)
)

// environmentNames are the argument names that tools use for environment variables.
var environmentNames = []string{"env", "envs", "environment", "environment_variables", "env_vars"}

// containsName reports whether the name is in the list, in any case and with any separators:
// shellCommand is shell_command.
func containsName(names []string, name string) bool {
	plain := nameSeparators.Replace(name)
	return slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(nameSeparators.Replace(n), plain) })
}

var nameSeparators = strings.NewReplacer("_", "", "-", "")

func isShellArgument(name string) bool { return containsName(shellArguments, name) }

func isCommandName(name string) bool { return containsName(commandNames, name) }

// commandLine is one command of a call.
type commandLine struct {
	text  string
	words []string // nil: not a simple command
	parts []call.Word
}

// commandLines returns the commands of a call, as its program would receive them.
func (c *callArguments) commandLines() []commandLine {
	if c.lines != nil {
		return c.lines
	}
	c.lines = []commandLine{}
	for _, l := range c.reading().WholeLines() {
		parts, ok := simpleCommand(l.Text, onWindows)
		line := commandLine{text: l.Text, parts: parts}
		if ok {
			line.words = call.Texts(parts)
		}
		if !isExtracted(line.words, c.Command) && !slices.ContainsFunc(c.lines, func(l commandLine) bool { return l.text == line.text }) {
			c.lines = append(c.lines, line)
		}
	}
	return c.lines
}

// isExtracted reports whether an adapter's command is the script of a list such as
// ["bash", "-lc", "ls"].
func isExtracted(words []string, command string) bool {
	return command != "" && len(words) == 3 && isScriptOption(words[1]) && words[2] == command
}

// isAllowable reports whether a rule may allow the call at all: its arguments are
// unambiguous, every command is a single simple command, and none of its text mentions
// the policy file.
func (c *callArguments) isAllowable() bool {
	args := c.object()
	if args == nil || len(c.reading().Unread) > 0 || args.HasAmbiguousNames() || c.Command != "" && !isSimpleCommand(c.Command) {
		return false
	}
	seen := c.Command != ""
	for _, m := range args.Members() {
		if !isShellArgument(m.Name) {
			continue
		}
		seen = true
		if !m.EveryText(isSimpleCommand) {
			return false
		}
	}
	if c.Alias == "Bash" && !seen {
		return false // a shell call whose command is unknown
	}
	allowed := func(text string) bool { return !strings.Contains(strings.ToLower(text), FileName) }
	return allowed(c.Command) && args.EveryText(allowed)
}

// coversCommands reports whether a rule that allows covers the commands of a call: each
// is harmless, or all its options are in the rule and none executes a program. A program
// whose operands are or name code needs a rule for exactly that command.
func (r *rule) coversCommands(c *callArguments) bool {
	lines := c.commandLines()
	if len(lines) > 0 && SetsEnvironment(c.object(), false) {
		return false // GIT_PAGER and the like run programs
	}
	dir := programs.WorkingDir{Project: c.Dir, Dir: c.reading().Dir}
	for _, line := range lines {
		_, effect := programs.ExecutingOption(line.words)
		switch {
		case line.words == nil, effect == programs.Executes:
			return false
		case call.IsHarmless(line.parts, dir):
		case programs.RunsCode(line.words):
			if !r.namesExactly(line) || len(lines) > 1 {
				return false
			}
		case !r.options.Cover(line.words):
			return false
		}
	}
	return true
}

// SetsEnvironment reports whether an object has a member with environment variables. It reads
// the arguments of commands, or with everywhere into all objects.
func SetsEnvironment(v *Value, everywhere bool) bool {
	return slices.ContainsFunc(v.Members(), func(m call.Member) bool {
		if containsName(environmentNames, m.Name) && (len(m.Members()) > 0 || m.Literal() != "" || m.Kind() == call.TextKind) {
			return true
		}
		return (everywhere || isShellArgument(m.Name)) && SetsEnvironment(m.Value, everywhere)
	})
}

// namesExactly reports whether a condition of the rule requires exactly this command.
func (r *rule) namesExactly(line commandLine) bool {
	return slices.ContainsFunc(r.when, func(c condition) bool {
		return c.op == "equals" && c.isCommand() && c.text == line.text
	})
}

// grantedOptions returns the options that the conditions of a rule name.
func grantedOptions(when []condition) Options {
	options := Options{Windows: onWindows}
	for i := range when {
		c := &when[i]
		if !c.isCommand() {
			continue
		}
		switch c.op {
		case "equals":
			words, _ := simpleWords(c.text, onWindows)
			options.Add(words)
		case "glob", "contains":
			options.AddOperand(c.op, SplitPattern(c.text), Strict)
		case "regex":
			options.add(strings.FieldsFunc(c.text, func(r rune) bool { return strings.ContainsRune(` ()|^$?*+\[]{}"'`, r) }), true, nil)
		}
	}
	return options
}

// onWords returns the condition's test for a command line. A rule that allows compares
// complete words; a glob of other rules also matches the words without their quotes.
func (c condition) onWords() func(*Value) Verdict {
	switch {
	case c.op == "glob" && !c.forAllow:
		return func(n *Value) Verdict {
			got := c.match(n)
			if text, ok := n.Text(); ok && got == NoMatch {
				words, _ := simpleWords(text, onWindows)
				got = MatchIf(newGlob(c.text, true).match(strings.Join(words, " ")))
			}
			return got
		}
	case c.forAllow && (c.op == "glob" || c.op == "contains"):
		operand := SplitPattern(c.text)
		return Strict.textTest(func(text string) bool {
			words, ok := simpleWords(text, onWindows)
			return ok && Strict.CompareWords(c.op, operand, words)
		})
	case c.forAllow && c.op == "regex":
		compiled := sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(c.text) })
		return Strict.textTest(func(text string) bool {
			at := compiled().FindStringIndex(text)
			return at != nil && (at[0] == 0 || text[at[0]-1] == ' ') && (at[1] == len(text) || text[at[1]] == ' ')
		})
	default:
		return c.match
	}
}

// isScriptOption reports whether a shell reads the word after it as a script: -c, -lc.
func isScriptOption(word string) bool {
	return strings.HasPrefix(word, "-") && strings.HasSuffix(word, "c")
}
