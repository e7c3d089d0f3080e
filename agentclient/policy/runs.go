package policy

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/hookback/hookback/agentclient/call"
	"github.com/hookback/hookback/agentclient/call/matcher"
	"github.com/hookback/hookback/agentclient/call/programs"
)

// runsTest looks for a program, possibly with a subcommand and an option, in the commands of a call.
type runsTest struct {
	program     string
	subcommands []string
	options     []string // names without dashes; at least one must be present; none: any call
}

func newRunsTest(command string, options []string) *runsTest {
	words := strings.Fields(command)
	t := &runsTest{program: programs.ProgramName(words[0], onWindows), subcommands: words[1:]}
	for _, o := range options {
		t.options = append(t.options, strings.TrimLeft(o, "-"))
	}
	return t
}

// match is the test of a rule that asks or denies. The result is indeterminate, with the reason, if
// a part of the call that can't be read may run the program, or a word may become one of the options.
func (t *runsTest) match(c *call.Call) (best matcher.Verdict, why string) {
	for i := range c.Commands {
		words, windows := c.Commands[i].Words, c.Commands[i].Shell != call.POSIX || onWindows
		if len(words) == 0 {
			continue
		}
		name := programs.ProgramName(words[0].Text, windows)
		if rest, ok := strings.CutPrefix(name, t.program+"-"); ok && t.program == "git" { // git-reset is git reset
			name, words = t.program, append([]call.Word{{Text: t.program}, {Text: rest}}, words[1:]...)
		}
		fits, err := path.Match(name, t.program)
		switch {
		case strings.EqualFold(name, t.program):
		case words[0].Pattern && words[0].Text != "[" && (fits || err != nil):
		case c.Commands[i].Shell != call.POSIX && strings.EqualFold(t.program, programs.PowerShellName(strings.ToLower(name))):
		default:
			if best == matcher.NoMatch && t.mayRunBy(name, words) {
				best, why = matcher.Indeterminate, fmt.Sprintf("%s may run %s", name, t.program)
			}
			continue
		}
		if got := t.matchOptions(words[1:], windows); got > best {
			best, why = got, "one of its words is known only at run time"
		}
	}
	if best == matcher.Match {
		return matcher.Match, ""
	}
	for _, s := range c.Scripts {
		isAttached := s.Program == "sed" || strings.HasPrefix(s.Text, "-") // 1erm x, -I'rm x'
		isOther := s.Program == "git" && t.program == "git" && len(t.subcommands) > 0 && !containsWord(s.Text, t.subcommands[0])
		isPart := isAttached && strings.Contains(strings.ToLower(s.Text), strings.ToLower(t.program))
		if containsWord(s.Text, t.program) && !isOther || isPart {
			return matcher.Indeterminate, fmt.Sprintf("%s runs code that names %s", s.Program, t.program)
		}
	}
	if len(c.Unread) > 0 {
		return matcher.Indeterminate, c.Unread[0].Reason
	}
	return best, why
}

// mayRunBy reports whether the words of a program that no table knows may be the command of the test. The
// tables are asked last: a hook starts for each call and would parse them.
func (t *runsTest) mayRunBy(name string, words []call.Word) bool {
	if programs.IsPlainWrapper(name) || name != "" && name[0] >= '0' && name[0] <= '9' { // 5 of timeout 5
		return false // the command that it runs is in the reading
	}
	mayRun := func() bool { return !programs.IsKnown(name) || programs.RunsCode(call.Texts(words)) }
	for i := 1; i < len(words); i++ {
		if i > 4096 {
			return mayRun()
		}
		_, value, _ := strings.Cut(words[i].Text, "=") // --on-error=rm
		if len(words[i].Text) >= len(t.program) &&
			(strings.EqualFold(programs.ProgramName(words[i].Text, false), t.program) || strings.EqualFold(value, t.program)) {
			rest := slices.DeleteFunc(slices.Clone(words[i+1:]), func(w call.Word) bool { return w.Text == "--" })
			return t.matchOptions(rest, false) != matcher.NoMatch && mayRun()
		}
	}
	return false
}

// containsWord reports whether a text contains a word, in any case.
func containsWord(text, word string) bool {
	isPart := func(c byte) bool {
		return c == '_' || c == '-' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
	}
	text, word = strings.ToLower(text), strings.ToLower(word)
	for from := 0; ; {
		at := strings.Index(text[from:], word)
		if at < 0 {
			return false
		}
		at += from
		end := at + len(word)
		if (at == 0 || !isPart(text[at-1])) && (end == len(text) || !isPart(text[end])) {
			return true
		}
		from = at + 1
	}
}

// matchOptions tests the words after the program.
func (t *runsTest) matchOptions(words []call.Word, windows bool) matcher.Verdict {
	for i, s := range t.subcommands {
		if !hasSubcommand(words, s, i) {
			return matcher.NoMatch
		}
	}
	all := call.Texts(words)
	if len(t.options) == 0 || t.hasOption(all, windows) {
		return matcher.Match
	}
	for _, w := range words {
		switch {
		case w.Text == "--":
			return matcher.NoMatch
		case strings.HasPrefix(w.Text, call.Expansion+"/") && !w.Splits && len(w.Vars) > 0 && !w.Vars[0].IsAssigned && len(w.Vars[0].Name) > 1:
			// a directory of the environment
		case w.Splits, strings.HasPrefix(w.Text, call.Expansion), w.Pattern && matcher.IsOption(w.Text, windows):
			return matcher.Indeterminate // it may become an option
		case strings.HasPrefix(w.Text, "-") && strings.Contains(w.Text, call.Expansion):
			return matcher.Indeterminate
		}
	}
	return matcher.NoMatch
}

// hasSubcommand reports whether the words have a subcommand, or a word that may become it at run time, in
// the place of operand n. A word after an option may be its value.
func hasSubcommand(words []call.Word, subcommand string, n int) bool {
	operands := 0
	mayBe := func(w call.Word) bool {
		fits, _ := path.Match(strings.ToLower(strings.ReplaceAll(w.Text, call.Expansion, "*")), strings.ToLower(subcommand))
		return fits && (w.Pattern || w.Dynamic)
	}
	for i, w := range words {
		switch {
		case operands <= n && (strings.EqualFold(w.Text, subcommand) || strings.HasPrefix(w.Text, call.Expansion) || mayBe(w)):
			return true
		case !strings.HasPrefix(w.Text, "-") && (i == 0 || !strings.HasPrefix(words[i-1].Text, "-")):
			operands++
		}
	}
	return false
}

// hasOption reports whether one of the options is among the words. Case does not count.
func (t *runsTest) hasOption(words []string, windows bool) bool {
	words = append([]string{""}, words...)
	names := slices.Clone(t.options)
	for i, w := range words {
		words[i] = strings.ToLower(w)
	}
	for i, name := range names {
		names[i] = strings.ToLower(name)
	}
	return programs.HasOption(words, names...) || windows && slices.ContainsFunc(words, func(w string) bool {
		// /s, and -Recurse or a beginning of it
		text := strings.TrimLeft(w, "-/")
		return text != "" && text != w && slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, text) })
	})
}

// matchStart is the test of a rule that allows: the command is the program and the
// subcommand, in this form, with any operands.
func (t *runsTest) matchStart(text string) bool {
	words, ok := simpleWords(text, onWindows)
	return ok && matcher.Strict.CompareWords("starts_with", append([]string{t.program}, t.subcommands...), words)
}
