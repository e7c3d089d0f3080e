package policy

import (
	"path"
	"slices"
	"strings"

	"github.com/hookback/hookback/agentclient/policy/programs"
)

// runsTest looks for a program, possibly with a subcommand and an option, in a command
// line. For rules that ask or deny it errs toward a match: the program counts wherever its
// name is a word, since sudo, xargs or find may run it, and in quoted scripts.
type runsTest struct {
	program     string
	subcommands []string
	options     []string // names without dashes; at least one must be present; none: any call
	windows     bool
}

func newRunsTest(command string, options []string, windows bool) *runsTest {
	words := strings.Fields(command)
	t := &runsTest{program: programs.ProgramName(words[0], windows), subcommands: words[1:], windows: windows}
	for _, o := range options {
		t.options = append(t.options, strings.TrimLeft(o, "-"))
	}
	return t
}

// match is the test of a rule that asks or denies. The result is indeterminate if the
// line can't be read completely, or the shell computes a program or a possible option.
func (t *runsTest) match(text string) Verdict {
	if len(text) > maxMatchBytes {
		return Indeterminate
	}
	return t.matchLine(text, 0)
}

func (t *runsTest) matchLine(text string, depth int) Verdict {
	commands, complete := parseLine(text, t.windows)
	best := NoMatch
	if !complete && depth == 0 {
		best = Indeterminate
	}
	for _, words := range commands {
		if depth == 0 {
			best = max(best, t.matchComputed(words))
		}
		for i, w := range words {
			if t.isProgram(w) {
				best = max(best, t.matchOptions(words[i+1:]))
			}
			if w.quoted && depth < maxScriptDepth && strings.ContainsAny(w.text, " \t\n;&|") && containsFold(w.text, t.program) {
				best = max(best, t.matchLine(w.text, depth+1))
			}
		}
	}
	return best
}

// maxScriptDepth limits the scripts in quoted words that are read, such as sh -c "…".
const maxScriptDepth = 4

func containsFold(text, part string) bool {
	return strings.Contains(strings.ToLower(text), strings.ToLower(part))
}

// matchComputed returns indeterminate if the command's program is known only at run time.
func (t *runsTest) matchComputed(words []lineWord) Verdict {
	for len(words) > 1 && isAssignment(words[0].text) {
		words = words[1:]
	}
	if strings.Contains(path.Base(words[0].text), expansion) {
		return Indeterminate
	}
	if !programs.RunsCode(texts(words[:1])) {
		return NoMatch
	}
	for i := 1; i < len(words); i++ { // sudo $COMMAND, sh -c "$SCRIPT"
		if strings.HasPrefix(words[i].text, expansion) && (words[i].splits || isScriptOption(words[i-1].text) || words[0].text == "eval") {
			return Indeterminate
		}
	}
	return NoMatch
}

// isScriptOption reports whether a shell reads the word after it as a script: -c, -lc.
func isScriptOption(word string) bool {
	return strings.HasPrefix(word, "-") && strings.HasSuffix(word, "c")
}

// isAssignment reports whether a word is NAME=value.
func isAssignment(word string) bool {
	name, _, ok := strings.Cut(word, "=")
	return ok && name != "" && !strings.ContainsAny(name, "-/.\\"+expansion)
}

func (t *runsTest) isProgram(w lineWord) bool {
	name := programs.ProgramName(w.text, t.windows)
	if w.pattern {
		ok, err := path.Match(name, t.program)
		return ok || err != nil
	}
	return strings.EqualFold(name, t.program)
}

// matchOptions tests the words after the program.
func (t *runsTest) matchOptions(words []lineWord) Verdict {
	all := texts(words)
	for _, s := range t.subcommands {
		if !slices.ContainsFunc(all, func(w string) bool { return strings.EqualFold(w, s) || strings.HasPrefix(w, expansion) }) {
			return NoMatch
		}
	}
	if len(t.options) == 0 || t.hasOption(all) {
		return Match
	}
	for _, w := range words {
		switch {
		case w.text == "--":
			return NoMatch
		case w.splits, strings.HasPrefix(w.text, expansion), w.pattern && IsOption(w.text, t.windows) && w.text[0] != '-':
			return Indeterminate // it may become an option
		case strings.HasPrefix(w.text, "-") && strings.Contains(w.text, expansion):
			return Indeterminate
		}
	}
	return NoMatch
}

// hasOption reports whether one of the options is among the words. Case does not count.
func (t *runsTest) hasOption(words []string) bool {
	words = append([]string{""}, words...)
	names := slices.Clone(t.options)
	for i, w := range words {
		words[i] = strings.ToLower(w)
		if t.windows && strings.HasPrefix(w, "/") {
			words[i] = "-" + words[i][1:]
		}
	}
	for i, name := range names {
		names[i] = strings.ToLower(name)
	}
	return programs.HasOption(words, names...)
}

// matchStart is the test of a rule that allows: the command is the program and the
// subcommand, in this form, with any operands.
func (t *runsTest) matchStart(text string) bool {
	words, ok := simpleWords(text, t.windows)
	return ok && Strict.CompareWords("starts_with", append([]string{t.program}, t.subcommands...), words)
}

func texts(words []lineWord) []string {
	list := make([]string, len(words))
	for i, w := range words {
		list[i] = w.text
	}
	return list
}
