package policy

import (
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/hookback/hookback/agentclient/call"
	"github.com/hookback/hookback/agentclient/call/matcher"
	"github.com/hookback/hookback/agentclient/call/programs"
)

const onWindows = runtime.GOOS == "windows"

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
		if !matcher.IsShellArgument(m.Name) {
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
	if len(lines) > 0 && matcher.SetsEnvironment(c.object(), false) {
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

// namesExactly reports whether a condition of the rule requires exactly this command.
func (r *rule) namesExactly(line commandLine) bool {
	return slices.ContainsFunc(r.when, func(c condition) bool {
		return c.Op == "equals" && c.isCommand() && c.Text == line.text
	})
}

// grantedOptions returns the options that the conditions of a rule name.
func grantedOptions(when []condition) matcher.Options {
	options := matcher.Options{Windows: onWindows}
	for i := range when {
		c := &when[i]
		if !c.isCommand() {
			continue
		}
		switch c.Op {
		case "equals":
			words, _ := simpleWords(c.Text, onWindows)
			options.Add(words)
		case "glob", "contains":
			options.AddOperand(c.Op, matcher.SplitPattern(c.Text), matcher.Strict)
		case "regex":
			options.AddOperand("contains", strings.FieldsFunc(c.Text, func(r rune) bool { return strings.ContainsRune(` ()|^$?*+\[]{}"'`, r) }), matcher.Strict)
		}
	}
	return options
}

// onWords returns the condition's test for a command line. A rule that allows compares
// complete words; a glob of other rules also matches the words without their quotes.
func (c condition) onWords() func(*value) matcher.Verdict {
	switch {
	case c.Op == "glob" && !c.forAllow:
		return func(n *value) matcher.Verdict {
			got := c.Match(n)
			if text, ok := n.Text(); ok && got == matcher.NoMatch {
				words, _ := simpleWords(text, onWindows)
				got = matcher.MatchIf(matcher.NewGlob(c.Text, true).Match(strings.Join(words, " ")))
			}
			return got
		}
	case c.forAllow && (c.Op == "glob" || c.Op == "contains"):
		operand := matcher.SplitPattern(c.Text)
		return matcher.Strict.TextTest(func(text string) bool {
			words, ok := simpleWords(text, onWindows)
			return ok && matcher.Strict.CompareWords(c.Op, operand, words)
		})
	case c.forAllow && c.Op == "regex":
		compiled := sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(c.Text) })
		return matcher.Strict.TextTest(func(text string) bool {
			at := compiled().FindStringIndex(text)
			return at != nil && (at[0] == 0 || text[at[0]-1] == ' ') && (at[1] == len(text) || text[at[1]] == ' ')
		})
	default:
		return c.Match
	}
}

// isScriptOption reports whether a shell reads the word after it as a script: -c, -lc.
func isScriptOption(word string) bool {
	return strings.HasPrefix(word, "-") && strings.HasSuffix(word, "c")
}
