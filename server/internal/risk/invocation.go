package risk

import (
	"slices"
	"strings"

	"github.com/hookback/hookback/agentclient/policy/programs"
)

// invocation is a program and its arguments, in the form that the rules use.
type invocation struct {
	name       string
	args       []shellWord
	span       span // the whole command
	cmd        *command
	dir        string // directory it runs in; empty if unknown
	dialect    dialect
	depth      int
	pipedInput bool // run by xargs or find: its last arguments come from a list
}

var (
	unreadable        = rule{"unreadable", high, "The rules could not parse the whole command. Read it carefully yourself."}
	obfuscatedCommand = rule{"obfuscated", high, "It is obfuscated: it hides which command runs."}
	dynamicCommand    = rule{"obfuscated", high, "The program that it runs is determined only at run time."}
	forkBomb          = rule{"system", critical, "It starts copies of itself until the machine stops responding (fork bomb)."}
)

// assessScript parses src as a shell script and assesses its commands.
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

// linkPipes sets for each command which command reads its output and whether the output is sent to
// the network.
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
		a.checkAssignment(w, w.span.throughIfShort(c.span), len(c.words) > 0)
	}
	dir := a.currentDir(c.scope)
	if len(c.words) > 0 {
		r := &invocation{cmd: c, dir: dir, dialect: d, depth: depth}
		a.assessWords(r, c.words)
	}
	for i := range c.redirects {
		a.checkRedirect(c, &c.redirects[i], dir)
	}
	if len(c.words) > 0 {
		a.addDownloaded(c)
	}
	if c.background {
		a.add(backgroundProcess, c.span)
	}
}

// assessWords assesses words as a program and its arguments.
func (a *assessor) assessWords(inv *invocation, words []shellWord) {
	for len(words) > 0 && inv.depth > 0 && isAssignment(&words[0]) {
		a.checkAssignment(&words[0], words[0].span, true)
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
		if inv.dialect == powershell {
			a.checkStaticCall(&words[i])
		}
	}
	inv.name, inv.args = programName(program.text, inv.dialect), words[1:]
	if full, ok := powershellAliases[inv.name]; ok && inv.dialect == powershell {
		inv.name = full
	}
	inv.span = program.span.through(words[len(words)-1].span)
	switch {
	case len(program.subs) > 0 || strings.Contains(program.text, "$IFS") || strings.Contains(program.text, "${IFS"),
		program.bare && strings.HasPrefix(program.text, "{") && strings.Contains(program.text, ","),
		program.bare && strings.ContainsAny(program.text, "?*") && strings.Contains(program.text, "/"),
		a.isVariableProgram(inv, program):
		a.add(dynamicCommand, program.span)
		return
	case inv.name == "for" || inv.name == "select" || inv.name == "read":
		for i := range inv.args[:min(1, len(inv.args))] {
			a.assigned[inv.args[i].text] = true
		}
	}
	a.checkDownloaded(inv, program)
	a.checkHubFiles(inv)
	a.checkHubRoutes(inv)
	a.checkOptions(inv)
	a.applyRuleTable(inv)
	for _, handle := range programHandlers[inv.name] {
		handle(a, inv)
	}
}

// isVariableProgram reports whether a variable decides which program runs. The directories $HOME and
// $PWD don't, and PowerShell runs a variable only after an ampersand.
func (a *assessor) isVariableProgram(inv *invocation, program *shellWord) bool {
	if len(program.vars) == 0 {
		return false
	}
	if inv.dialect == powershell {
		return strings.HasSuffix(strings.TrimRight(program.src.text[:program.from], " "), "&")
	}
	v := program.vars[0]
	known := (v.name == "HOME" || v.name == "PWD") && !a.assigned[v.name] && strings.Contains(program.text, "/")
	return !known || len(program.vars) > 1
}

func (a *assessor) checkObfuscated(w *shellWord) {
	if w.obfuscated {
		a.add(obfuscatedCommand, w.span)
	}
}

// maxProgramPath is longer than any path that a system can execute.
const maxProgramPath = 4 << 10

// programName returns the canonical name of a program in a dialect.
func programName(text string, d dialect) string {
	return programs.ProgramName(text, d != posix)
}

// findOption returns the first argument that contains one of the short options, alone or in a
// cluster, or is one of the long options, with or without =value. It returns nil if none does.
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

// findArgument returns the first argument that equals one of the texts, or nil.
func (inv *invocation) findArgument(texts ...string) *shellWord {
	for i := range inv.args {
		if slices.Contains(texts, inv.args[i].text) {
			return &inv.args[i]
		}
	}
	return nil
}

// operands returns the arguments that are not options. valued lists the options whose value is the
// next word.
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

// optionValue returns the value of the first of the given options, written as the next word or
// after =. It returns nil if none is present.
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

// subcommand returns the first operand, as in git and docker, and an invocation with the arguments
// after it.
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

// assessFrom assesses the arguments from index i as a command.
func (a *assessor) assessFrom(inv *invocation, i int) {
	if i >= 0 && i < len(inv.args) {
		next := *inv
		a.assessWords(&next, inv.args[i:])
	}
}

// assessWordAsScript assesses the text of a word as a script.
func (a *assessor) assessWordAsScript(inv *invocation, w *shellWord, d dialect) {
	if a.byteBudget < 0 {
		return
	}
	a.assessScript(w.span.innerSource(w.text), d, inv.cmd.scope, inv.depth+1)
}
