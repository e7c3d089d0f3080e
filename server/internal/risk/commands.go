package risk

import (
	"slices"
	"strings"

	"github.com/hookback/hookback/agentclient/call"
	"github.com/hookback/hookback/agentclient/call/paths"
	"github.com/hookback/hookback/agentclient/call/programs"
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/risk/oversight"
)

var (
	unreadable        = rule{"unreadable", high, "It can't be read completely. Read it carefully yourself."}
	obfuscatedCommand = rule{"obfuscated", high, "It is obfuscated: it hides which command runs."}
	dynamicCommand    = rule{"obfuscated", high, "The program that it runs is determined only at run time."}
	forkBomb          = rule{"system", critical, "It starts copies of itself until the machine stops responding (fork bomb)."}
)

// assessCommands assesses the commands of the call.
func (a *assessor) assessCommands() {
	a.followPipes()
	a.files = map[int][]int{}
	for i := range a.call.Files {
		if f := &a.call.Files[i]; f.Word != nil {
			a.files[f.Command] = append(a.files[f.Command], i)
		}
	}
	for i := range a.call.Commands {
		a.assessCommand(i)
	}
	isOversight := func(f schema.Finding) bool { return f.Code == "oversight" }
	for i := 0; i < len(a.call.Scripts) && !slices.ContainsFunc(a.findings, isOversight); i++ { // also of a pipe
		a.checkOversightInCode(a.call.Scripts[i].Text, a.call.Scripts[i].Span)
	}
	for i := range a.call.Lines {
		if l := &a.call.Lines[i]; l.Shell == call.PowerShell {
			a.checkPowerShellLine(l)
		}
	}
}

// followPipes finds for each command which command reads its output and whether the output is sent to
// the network.
func (a *assessor) followPipes() {
	commands := a.call.Commands
	a.flow = make([]flow, len(commands))
	for i := range slices.Backward(commands) {
		sends := downloads(&commands[i]) || a.flow[i].isSent
		for j := range a.writers(&commands[i]) {
			at := commands[i].Input.From + j
			a.flow[at] = flow{reader: i, isSent: a.flow[at].isSent || sends}
		}
	}
}

func (a *assessor) assessCommand(i int) {
	c := &a.call.Commands[i]
	inv := &invocation{cmd: c, index: i, dir: c.Dir, span: wordsSpan(c), whole: wordsSpan(c)}
	outer := a.WorkingDir
	if by := a.runners(c); a.call.RunsElsewhere(c) { // its paths mean nothing here
		inv.dir, a.WorkingDir = "", paths.WorkingDir{}
	} else {
		inv.pipedInput = len(by) > 0 && slices.Contains([]string{"xargs", "parallel", "find", "fd", "fdfind"}, by[0])
		if inv.pipedInput {
			inv.whole = wordsSpan(&a.call.Commands[c.By])
		}
	}
	a.assessAssignments(c, inv.span)
	if len(c.Words) > 0 {
		a.assessInvocation(inv)
	}
	if c.Before != call.RunBy { // the command that runs it has the same ones
		for j := range c.Redirects {
			a.checkEscapes(&c.Redirects[j].Target)
			a.checkRedirect(inv, &c.Redirects[j])
		}
	}
	a.addDownloaded(c)
	if c.IsBackground {
		a.add(backgroundProcess, inv.span)
	}
	a.WorkingDir = outer
}

func (a *assessor) assessAssignments(c *call.Command, at call.Span) {
	for i := range c.Assignments {
		w := &c.Assignments[i]
		a.checkEscapes(w)
		name, value, _ := strings.Cut(w.Text, "=")
		name = strings.TrimSuffix(name, "+")
		if value != "" {
			a.assigned[name] = true
		}
		a.checkAssignment(w, throughIfShort(w.Span, at), len(c.Words) > 0)
	}
}

func (a *assessor) assessInvocation(inv *invocation) {
	words := inv.cmd.Words
	for len(words) > 1 && inv.cmd.By >= 0 && isAssignment(&words[0]) {
		a.checkAssignment(&words[0], words[0].Span, true)
		words = words[1:]
	}
	program := &words[0]
	for i := range words {
		a.checkEscapes(&words[i])
		if inv.cmd.Shell == call.PowerShell {
			a.checkStaticCall(&words[i])
		}
	}
	inv.name, inv.args = programName(program.Text, inv.cmd.Shell), words[1:]
	if inv.pipedInput {
		inv.args = slices.DeleteFunc(slices.Clone(inv.args), func(w call.Word) bool {
			return strings.Trim(w.Text, call.Expansion) == "{}" || w.Dynamic && w.Span.From == w.Span.To
		})
	}
	if inv.cmd.Shell == call.PowerShell {
		inv.name = programs.PowerShellName(inv.name)
	}
	a.checkProgram(inv, program)
	switch {
	case a.isDynamicProgram(inv, program):
		a.add(dynamicCommand, program.Span)
		return
	case isVariable(a.text(program.Span)): // its value is known, but not to a person who only looks at the command
		a.add(dynamicCommand, program.Span)
	case inv.name == "read" || inv.name == "printf" && inv.hasArgument("-v"):
		for i := range inv.args {
			if i == 0 {
				a.assigned[inv.args[i].Text] = true
			}
			if inv.name == "printf" && (i == 0 || inv.args[i-1].Text != "-v") {
				continue
			}
			a.checkAssignment(&call.Word{Text: inv.args[i].Text + "="}, inv.span, false)
		}
	}
	a.checkDownloaded(inv, program)
	a.checkHubFiles(inv)
	a.checkSettingsFiles(inv)
	a.checkHubRoutes(inv)
	a.checkOptions(inv)
	a.applyRuleTable(inv)
	known := len(a.findings)
	for _, handle := range programHandlers[inv.name] {
		handle(a, inv)
	}
	a.checkFound(inv, known)
}

// checkProgram adds a finding if a command runs Hookback, itself or by a program that is not known to run others.
func (a *assessor) checkProgram(inv *invocation, program *call.Word) {
	if name := a.hubProgram(program); name != "" {
		a.checkHookback(inv, name)
		return
	}
	wraps := len(programHandlers[inv.name]) == 0 && programs.RunsCode(call.Texts(inv.cmd.Words)) // with options that are not known
	if wraps && oversight.RunsHookback(a.text(inv.span)) {
		a.add(runsHookback, inv.span)
	}
}

// isDynamicProgram reports whether a variable, a substitution or a pattern decides which program runs. The
// directories $HOME and $PWD don't, and PowerShell runs a variable only after an ampersand.
func (a *assessor) isDynamicProgram(inv *invocation, program *call.Word) bool {
	if inv.cmd.Shell == call.PowerShell && strings.HasPrefix(program.Text, call.Expansion) {
		before := a.strings[program.Span.Pointer]
		return strings.HasSuffix(strings.TrimRight(before[:min(len(before), program.Span.From)], " "), "&")
	}
	directory := func(v call.Var) bool { return v.Name == "PWD" && !v.IsAssigned && strings.Contains(program.Text, "/") }
	switch {
	case len(program.Vars) == 1 && directory(program.Vars[0]) && program.Subs == (call.Range{}):
		return false
	case program.Pattern && strings.Contains(program.Text, "/"):
		return true
	default:
		return program.Dynamic
	}
}

// isVariable reports whether a word as it is written has a variable, and no directory next to it.
func isVariable(text string) bool {
	_, after, ok := strings.Cut(text, "$")
	return ok && after != "" && !strings.ContainsAny(after[:1], `'"`) && !strings.ContainsAny(text, "/ \n")
}

func (a *assessor) checkEscapes(w *call.Word) {
	if w.IsEscaped {
		a.add(obfuscatedCommand, w.Span)
	}
}
