package risk

import (
	"slices"
	"strings"

	"github.com/hookback/hookback/agentclient/policy/programs"
	"github.com/hookback/hookback/server/internal/risk/shell"
)

// invocation is a program and its arguments, in the form that the rules use.
type invocation struct {
	name       string
	args       []shell.Word
	span       shell.Span // the whole command
	cmd        *shell.Command
	dir        string // directory it runs in; empty if unknown
	dialect    shell.Dialect
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
func (a *assessor) assessScript(src *shell.Source, d shell.Dialect, outer *shell.Scope, depth int) {
	if a.byteBudget -= len(src.Text); a.byteBudget < 0 || depth > shell.MaxNesting {
		a.add(unreadable, src.Whole())
		return
	}
	if at := strings.Index(src.Text, ":(){"); at >= 0 && d == shell.POSIX {
		a.add(forkBomb, src.Slice(at, min(len(src.Text), at+16)))
	}
	commands, errPos := shell.Parse(src, d, &a.wordBudget, outer)
	linkPipes(commands)
	for _, c := range commands {
		a.assessCommand(c, d, depth)
	}
	if errPos >= 0 {
		a.add(unreadable, src.Slice(min(errPos, len(src.Text)), len(src.Text)))
	}
}

// linkPipes sets for each command which command reads its output and whether the output is sent to
// the network.
func linkPipes(commands []*shell.Command) {
	for _, c := range slices.Backward(commands) {
		sends := downloads(c)
		for _, before := range c.Upstream {
			before.Downstream = c
			before.SentAway = sends || c.SentAway
		}
	}
}

func (a *assessor) assessCommand(c *shell.Command, d shell.Dialect, depth int) {
	for i := range c.Assigns {
		w := &c.Assigns[i]
		a.checkObfuscated(w)
		name, value, _ := strings.Cut(w.Text, "=")
		if value != "" || len(w.Subs) > 0 {
			a.assigned[strings.TrimSuffix(name, "+")] = true
		}
		if len(w.Subs) > 0 && strings.Contains(w.Text, "hookback") {
			a.hubProcesses[strings.TrimSuffix(name, "+")] = true
		}
		a.checkAssignment(w, w.Span.ThroughIfShort(c.Span), len(c.Words) > 0)
	}
	dir := a.currentDir(c.Scope)
	if len(c.Words) > 0 {
		r := &invocation{cmd: c, dir: dir, dialect: d, depth: depth}
		a.assessWords(r, c.Words)
	}
	for i := range c.Redirects {
		a.checkRedirect(c, &c.Redirects[i], dir)
	}
	if len(c.Words) > 0 {
		a.addDownloaded(c)
	}
	if c.Background {
		a.add(backgroundProcess, c.Span)
	}
}

// assessWords assesses words as a program and its arguments.
func (a *assessor) assessWords(inv *invocation, words []shell.Word) {
	for len(words) > 0 && inv.depth > 0 && shell.IsAssignment(&words[0]) {
		a.checkAssignment(&words[0], words[0].Span, true)
		words = words[1:]
	}
	if len(words) == 0 {
		return
	}
	if inv.depth++; inv.depth > shell.MaxNesting {
		a.add(unreadable, words[0].Span)
		return
	}
	program := &words[0]
	for i := range words {
		a.checkObfuscated(&words[i])
		if inv.dialect == shell.PowerShell {
			a.checkStaticCall(&words[i])
		}
	}
	inv.name, inv.args = programName(program.Text, inv.dialect), words[1:]
	if full, ok := powershellAliases[inv.name]; ok && inv.dialect == shell.PowerShell {
		inv.name = full
	}
	inv.span = program.Span.Through(words[len(words)-1].Span)
	a.checkHookback(inv, hubProgram(program))
	switch {
	case len(program.Subs) > 0 || strings.Contains(program.Text, "$IFS") || strings.Contains(program.Text, "${IFS"),
		program.Bare && strings.HasPrefix(program.Text, "{") && strings.Contains(program.Text, ","),
		program.Bare && strings.ContainsAny(program.Text, "?*") && strings.Contains(program.Text, "/"),
		a.isVariableProgram(inv, program):
		a.add(dynamicCommand, program.Span)
		return
	case inv.name == "for" || inv.name == "select" || inv.name == "read":
		for i := range inv.args[:min(1, len(inv.args))] {
			a.assigned[inv.args[i].Text] = true
		}
	}
	a.checkDownloaded(inv, program)
	a.checkHubFiles(inv)
	a.checkSettingsFiles(inv)
	a.checkHubRoutes(inv)
	a.checkWrappedHookback(inv)
	a.checkOptions(inv)
	a.applyRuleTable(inv)
	for _, handle := range programHandlers[inv.name] {
		handle(a, inv)
	}
}

// isVariableProgram reports whether a variable decides which program runs. The directories $HOME and
// $PWD don't, and PowerShell runs a variable only after an ampersand.
func (a *assessor) isVariableProgram(inv *invocation, program *shell.Word) bool {
	if len(program.Vars) == 0 {
		return false
	}
	if inv.dialect == shell.PowerShell {
		return strings.HasSuffix(strings.TrimRight(program.Src.Text[:program.From], " "), "&")
	}
	v := program.Vars[0]
	known := (v.Name == "HOME" || v.Name == "PWD") && !a.assigned[v.Name] && strings.Contains(program.Text, "/")
	return !known || len(program.Vars) > 1
}

func (a *assessor) checkObfuscated(w *shell.Word) {
	if w.Obfuscated {
		a.add(obfuscatedCommand, w.Span)
	}
}

// programName returns the canonical name of a program in a dialect.
func programName(text string, d shell.Dialect) string {
	name := programs.ProgramName(text, d != shell.POSIX)
	if at := strings.LastIndexByte(name, '@'); at > 0 { // npx PACKAGE@VERSION
		name = name[:at]
	}
	return name
}

// findOption returns the first argument that contains one of the short options, alone or in a
// cluster, or is one of the long options, with or without =value. It returns nil if none does.
func (inv *invocation) findOption(short string, long ...string) *shell.Word {
	for i := range inv.args {
		text := inv.args[i].Text
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
func (inv *invocation) findArgument(texts ...string) *shell.Word {
	for i := range inv.args {
		if slices.Contains(texts, inv.args[i].Text) {
			return &inv.args[i]
		}
	}
	return nil
}

// operands returns the arguments that are not options. valued lists the options whose value is the
// next word.
func (inv *invocation) operands(valued ...string) []shell.Word {
	var list []shell.Word
	for i := 0; i < len(inv.args); i++ {
		switch text := inv.args[i].Text; {
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
func (inv *invocation) optionValue(options ...string) *shell.Word {
	for i := range inv.args {
		if slices.Contains(options, inv.args[i].Text) && i+1 < len(inv.args) {
			return &inv.args[i+1]
		}
		if name, rest, ok := strings.Cut(inv.args[i].Text, "="); ok && slices.Contains(options, name) && strings.HasPrefix(name, "-") {
			w := inv.args[i]
			w.Text = rest
			return &w
		}
	}
	return nil
}

// subcommand returns the first operand, as in git and docker, and an invocation with the arguments
// after it.
func (inv *invocation) subcommand(valued ...string) (name string, rest *invocation) {
	for i := 0; i < len(inv.args); i++ {
		text := inv.args[i].Text
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
func (a *assessor) assessWordAsScript(inv *invocation, w *shell.Word, d shell.Dialect) {
	if a.byteBudget < 0 {
		return
	}
	a.assessScript(w.Span.InnerSource(w.Text), d, inv.cmd.Scope, inv.depth+1)
}
