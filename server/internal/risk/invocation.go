package risk

import (
	"path"
	"slices"
	"strings"
)

// invocation is a program with its words, as a rule sees it.
type invocation struct {
	name       string
	args       []shellWord
	span       span // all of it
	cmd        *command
	dir        string // where it runs; empty: not known
	dialect    dialect
	depth      int
	pipedInput bool // by xargs: its last words come from a list
}

var (
	unreadable        = rule{"unreadable", medium, "The rules could not read this command to its end: read it yourself with care."}
	obfuscatedCommand = rule{"obfuscated", high, "It is written so that it is hard to see what runs."}
	dynamicCommand    = rule{"obfuscated", high, "Which program runs is put together only when it runs."}
	forkBomb          = rule{"system", critical, "It starts itself again and again until the machine stops answering."}
)

// assessScript judges a text as a shell script.
func (a *assessor) assessScript(src *source, d dialect, outer *scope, depth int) {
	if a.byteBudget -= len(src.text); a.byteBudget < 0 || depth > maxNesting {
		a.add(unreadable, span{src, 0, len(src.text)})
		return
	}
	if at := strings.Index(src.text, ":(){"); at >= 0 && d == posix {
		a.add(forkBomb, span{src, at, min(len(src.text), at+16)})
	}
	commands, errPos := parse(src, d, &a.wordBudget, outer)
	linkPipes(commands)
	for _, c := range commands {
		a.assessCommand(c, d, depth)
	}
	if errPos >= 0 {
		a.add(unreadable, span{src, min(errPos, len(src.text)), len(src.text)})
	}
}

// linkPipes notes of every command who reads what it prints.
func linkPipes(commands []*command) {
	for _, c := range slices.Backward(commands) {
		sends := downloads(c)
		for _, before := range c.upstream {
			before.downstream = c
			before.sentAway = sends || c.sentAway
		}
	}
}

func (a *assessor) assessCommand(c *command, d dialect, depth int) {
	for i := range c.assigns {
		w := &c.assigns[i]
		a.checkObfuscated(w)
		name, value, _ := strings.Cut(w.text, "=")
		if value != "" || len(w.subs) > 0 {
			a.assigned[strings.TrimSuffix(name, "+")] = true
		}
	}
	dir := a.currentDir(c.scope)
	if len(c.words) > 0 {
		r := &invocation{cmd: c, dir: dir, dialect: d, depth: depth}
		a.assessWords(r, c.words)
	}
	for i := range c.redirects {
		a.checkRedirect(c, &c.redirects[i], dir)
	}
	if c.background {
		a.add(backgroundProcess, c.span)
	}
}

// assessWords judges words as a program and its arguments.
func (a *assessor) assessWords(inv *invocation, words []shellWord) {
	for len(words) > 0 && inv.depth > 0 && isAssignment(&words[0]) {
		words = words[1:]
	}
	if len(words) == 0 {
		return
	}
	if inv.depth++; inv.depth > maxNesting {
		a.add(unreadable, words[0].span)
		return
	}
	program := &words[0]
	for i := range words {
		a.checkObfuscated(&words[i])
	}
	inv.name, inv.args = programName(program.text, inv.dialect), words[1:]
	inv.span = program.span.through(words[len(words)-1].span)
	switch {
	case len(program.subs) > 0 || strings.Contains(program.text, "$IFS") || strings.Contains(program.text, "${IFS"),
		program.bare && strings.HasPrefix(program.text, "{") && strings.Contains(program.text, ","),
		program.bare && strings.ContainsAny(program.text, "?*") && strings.Contains(program.text, "/"):
		a.add(dynamicCommand, program.span)
		return
	case inv.name == "for" || inv.name == "select" || inv.name == "read":
		for i := range inv.args[:min(1, len(inv.args))] {
			a.assigned[inv.args[i].text] = true
		}
	}
	a.applyRuleTable(inv)
	for _, handle := range programHandlers[inv.name] {
		handle(a, inv)
	}
}

func (a *assessor) checkObfuscated(w *shellWord) {
	if w.obfuscated {
		a.add(obfuscatedCommand, w.span)
	}
}

// maxProgramPath is more than any system starts a program by.
const maxProgramPath = 4 << 10

// programName is what a program goes by, without its folder.
func programName(text string, d dialect) string {
	text = text[max(0, len(text)-maxProgramPath):] // a word of a megabyte may be asked about at every depth
	if d != posix || len(text) > 2 && text[1] == ':' {
		text = strings.ToLower(strings.ReplaceAll(text, `\`, "/"))
	}
	name := strings.TrimSuffix(path.Base(text), ".exe")
	name = strings.TrimSuffix(strings.TrimSuffix(name, ".cmd"), ".bat")
	if rest, ok := strings.CutPrefix(name, "python"); ok && strings.Trim(rest, "0123456789.") == "" {
		return "python"
	}
	if rest, ok := strings.CutPrefix(name, "pip"); ok && strings.Trim(rest, "0123456789.") == "" {
		return "pip"
	}
	if strings.HasPrefix(name, "mkfs.") {
		return "mkfs"
	}
	return name
}

// findOption reports whether one of the options is given: -x alone or among others, or a
// long one, with or without =value.
func (inv *invocation) findOption(short string, long ...string) *shellWord {
	for i := range inv.args {
		text := inv.args[i].text
		switch {
		case text == "--":
			return nil
		case len(text) > 1 && text[0] == '-' && text[1] != '-':
			if strings.ContainsAny(text[1:], short) && isCluster(text) || slices.Contains(long, text) {
				return &inv.args[i]
			}
		case strings.HasPrefix(text, "--"):
			if name, _, _ := strings.Cut(text, "="); slices.Contains(long, name) {
				return &inv.args[i]
			}
		}
	}
	return nil
}

// findArgument returns the argument that is one of the texts.
func (inv *invocation) findArgument(texts ...string) *shellWord {
	for i := range inv.args {
		if slices.Contains(texts, inv.args[i].text) {
			return &inv.args[i]
		}
	}
	return nil
}

// operands are the arguments that are no options. valued are the options whose
// value is the next word.
func (inv *invocation) operands(valued ...string) []shellWord {
	var list []shellWord
	for i := 0; i < len(inv.args); i++ {
		switch text := inv.args[i].text; {
		case text == "--":
			return append(list, inv.args[i+1:]...)
		case len(text) > 1 && text[0] == '-':
			if slices.Contains(valued, text) {
				i++
			}
		default:
			list = append(list, inv.args[i])
		}
	}
	return list
}

// optionValue returns what is given with one of the options, as a word of its own or
// behind =.
func (inv *invocation) optionValue(options ...string) *shellWord {
	for i := range inv.args {
		if slices.Contains(options, inv.args[i].text) && i+1 < len(inv.args) {
			return &inv.args[i+1]
		}
		if name, rest, ok := strings.Cut(inv.args[i].text, "="); ok && slices.Contains(options, name) && strings.HasPrefix(name, "-") {
			w := inv.args[i]
			w.text = rest
			return &w
		}
	}
	return nil
}

// subcommand is the first operand of git, docker and their like, with what follows it.
func (inv *invocation) subcommand(valued ...string) (name string, rest *invocation) {
	for i := 0; i < len(inv.args); i++ {
		text := inv.args[i].text
		if strings.HasPrefix(text, "-") {
			if slices.Contains(valued, text) {
				i++
			}
			continue
		}
		inner := *inv
		inner.args = inv.args[i+1:]
		return text, &inner
	}
	return "", inv
}

// assessFrom judges the arguments from i on as a command of their own.
func (a *assessor) assessFrom(inv *invocation, i int) {
	if i >= 0 && i < len(inv.args) {
		next := *inv
		a.assessWords(&next, inv.args[i:])
	}
}

// assessWordAsScript judges the text of a word as a script.
func (a *assessor) assessWordAsScript(inv *invocation, w *shellWord, d dialect) {
	if a.byteBudget < 0 {
		return
	}
	a.assessScript(w.span.innerSource(w.text), d, inv.cmd.scope, inv.depth+1)
}
