package risk

import (
	"slices"
	"strings"

	"github.com/hookback/hookback/server/internal/risk/paths"
	"github.com/hookback/hookback/server/internal/risk/shell"
)

var (
	backgroundProcess = rule{"background", low, "It keeps running in the background after the call returns."}
	dynamicScript     = rule{"obfuscated", medium, "It runs text as a command that is known only at run time."}
	runsDecoded       = rule{"obfuscated", high, "It decodes hidden text and runs it as a program."}
	runsDownload      = rule{"pipe_to_shell", high, "It downloads a program and runs it immediately, without review."}
	changesAutorun    = rule{"autostart", high, "It changes a file that runs automatically later, or that grants access."}
)

// commandIndex returns the index of the wrapped command: the first argument that is neither an
// option, an option's value nor an assignment. It returns -1 if there is none.
func (inv *invocation) commandIndex(valued ...string) int {
	for i := 0; i < len(inv.args); i++ {
		text := inv.args[i].Text
		switch {
		case text == "--":
			return i + 1
		case len(text) > 1 && text[0] == '-':
			if slices.Contains(valued, text) {
				i++
			}
		case shell.IsAssignment(&inv.args[i]):
		default:
			return i
		}
	}
	return -1
}

// wrapper returns a handler for wrappers whose command follows their options. valued lists the
// options whose value is the next word.
func wrapper(valued ...string) func(a *assessor, inv *invocation) {
	return wrapperSkipping(0, valued...)
}

// wrapperSkipping returns a handler for wrappers with n operands before the wrapped command.
func wrapperSkipping(n int, valued ...string) func(a *assessor, inv *invocation) {
	return func(a *assessor, inv *invocation) {
		if i := inv.commandIndex(valued...); i >= 0 {
			a.assessFrom(inv, i+n)
		}
	}
}

// subcommandWrapper returns a handler for programs that wrap a command only with the given
// subcommands.
func subcommandWrapper(subs ...string) func(a *assessor, inv *invocation) {
	return func(a *assessor, inv *invocation) {
		if name, rest := inv.subcommand(); slices.Contains(subs, name) {
			a.assessFrom(rest, rest.commandIndex("-e", "--extra", "--env-file", "-p", "-c"))
		}
	}
}

func (a *assessor) su(inv *invocation) {
	if script := inv.optionValue("-c", "--command"); script != nil {
		a.assessWordAsScript(inv, script, shell.POSIX)
	}
}

func (a *assessor) env(inv *invocation) {
	if s := inv.optionValue("-S", "--split-string"); s != nil {
		a.assessWordAsScript(inv, s, shell.POSIX)
		return
	}
	i := inv.commandIndex("-u", "--unset", "-C", "--chdir")
	for j := range inv.args[:max(i, 0)] {
		if shell.IsAssignment(&inv.args[j]) {
			a.checkAssignment(&inv.args[j], inv.span, true)
		}
	}
	if i >= 0 {
		a.assessFrom(inv, i)
		return
	}
	if inv.findOption("iu0") == nil {
		a.addEnvironment(inv)
	}
}

func (a *assessor) watch(inv *invocation) {
	if i := inv.commandIndex("-n", "--interval"); i >= 0 {
		a.assessJoined(inv, inv.args[i:])
	}
}

// assessJoined assesses words that a program joins into one command line.
func (a *assessor) assessJoined(inv *invocation, words []shell.Word) {
	switch len(words) {
	case 0:
	case 1:
		a.assessWordAsScript(inv, &words[0], shell.POSIX)
	default:
		next := *inv
		a.assessWords(&next, words)
	}
}

func (a *assessor) xargs(inv *invocation) {
	if i := inv.commandIndex("-n", "-P", "-L", "-I", "-J", "-d", "-s", "-a", "-j", "-E", "--max-args", "--max-procs", "--delimiter", "--jobs", "--arg-file"); i >= 0 {
		inv.pipedInput = true
		a.assessFrom(inv, i)
	}
}

// shell handles sh and similar shells, whose script is in -c, in a file or on standard input.
func (a *assessor) shell(inv *invocation) {
	for i := range inv.args {
		w := &inv.args[i]
		if !strings.HasPrefix(w.Text, "-") && !strings.HasPrefix(w.Text, "+") {
			if w.Process {
				a.assessRunOutput(inv, w.Subs, inv.span)
			}
			a.checkDownloaded(inv, w)
			return
		}
		if isCluster(w.Text) && strings.Contains(w.Text, "c") {
			if i+1 < len(inv.args) {
				a.assessScriptWord(inv, &inv.args[i+1])
			}
			return
		}
	}
	a.assessPipedScript(inv)
}

// assessPipedScript assesses the script that a shell reads from standard input.
func (a *assessor) assessPipedScript(inv *invocation) {
	for i := range inv.cmd.Redirects {
		switch in := &inv.cmd.Redirects[i]; in.Op {
		case "<<", "<<<":
			a.add(pipedScript, inv.span)
			a.assessWordAsScript(inv, &in.Target, shell.POSIX)
			return
		case "<":
			if in.Target.Process {
				a.assessRunOutput(inv, in.Target.Subs, inv.span)
			}
			return
		}
	}
	if len(inv.cmd.Upstream) > 0 {
		sp := inv.cmd.Upstream[0].Span.Through(inv.span)
		if !a.assessRunOutput(inv, inv.cmd.Upstream, sp) {
			a.add(pipedScript, sp)
		}
	}
}

// assessScriptWord assesses a word that is run as a script.
func (a *assessor) assessScriptWord(inv *invocation, w *shell.Word) {
	if len(w.Subs) > 0 && a.assessRunOutput(inv, w.Subs, inv.span) {
		return
	}
	if len(w.Vars) > 0 && strings.HasPrefix(w.Text, "$") && shell.NameLen(strings.Trim(w.Text[1:], "{}")) == len(strings.Trim(w.Text[1:], "{}")) {
		if !a.assigned[w.Vars[0].Name] {
			a.add(dynamicScript, inv.span)
		}
		return
	}
	a.assessWordAsScript(inv, w, shell.POSIX)
}

// assessRunOutput assesses a program that runs the output of writers. It reports whether it added a
// finding about them.
func (a *assessor) assessRunOutput(inv *invocation, writers []*shell.Command, sp shell.Span) bool {
	for _, c := range writers {
		if a.pipeBudget--; a.pipeBudget < 0 {
			return false
		}
		if downloads(c) {
			found := runsDownload
			if slices.ContainsFunc(inv.cmd.Words, func(w shell.Word) bool { return w.Text == "sudo" || w.Text == "doas" }) {
				found = rule{"pipe_to_shell", critical, "It downloads a program and runs it immediately as administrator, without review."}
			}
			a.add(found, sp)
			return true
		}
		if decodes(c) {
			a.add(runsDecoded, sp)
			return true
		}
		if a.assessRunOutput(inv, c.Upstream, sp) {
			return true
		}
		if name := commandName(c); name == "echo" || name == "printf" {
			a.assessEchoed(inv, c)
		}
	}
	return false
}

// assessEchoed assesses the text that echo writes to a shell.
func (a *assessor) assessEchoed(inv *invocation, c *shell.Command) {
	for i := range c.Words[1:] {
		if w := &c.Words[i+1]; !strings.HasPrefix(w.Text, "-") {
			a.assessWordAsScript(inv, w, shell.POSIX)
		}
	}
}

func commandName(c *shell.Command) string {
	if len(c.Words) == 0 {
		return ""
	}
	return programName(c.Words[0].Text, shell.POSIX)
}

// downloads reports whether a command writes data from the network to its output.
func downloads(c *shell.Command) bool {
	for i := range c.Words {
		switch name := strings.ToLower(programName(c.Words[i].Text, shell.POSIX)); name {
		case "curl", "wget", "iwr", "irm", "invoke-webrequest", "invoke-restmethod", "aria2c", "http", "https", "fetch", "nc", "ncat":
			return true
		case "sudo", "doas", "env", "timeout", "time", "nice", "command", "exec":
		default:
			if i == 0 ||
				!strings.HasPrefix(c.Words[i-1].Text, "-") && !strings.HasPrefix(c.Words[i].Text, "-") &&
					!shell.IsNumber(strings.TrimRight(name, "smh")) {
				return false
			}
		}
	}
	return false
}

// decodes reports whether a command decodes unreadable data to text.
func decodes(c *shell.Command) bool {
	has := func(options ...string) bool {
		return slices.ContainsFunc(c.Words, func(w shell.Word) bool { return slices.Contains(options, w.Text) })
	}
	switch commandName(c) {
	case "base64", "base32", "gbase64":
		return has("-d", "-D", "--decode", "-di", "-id")
	case "xxd":
		return has("-r", "-rp", "-pr", "-r -p")
	case "openssl":
		return has("-d")
	case "rev", "uudecode":
		return true
	case "tr":
		return len(c.Words) == 3 && strings.Contains(c.Words[1].Text, "-") && strings.Contains(c.Words[2].Text, "n-z")
	default:
		return false
	}
}

func (a *assessor) eval(inv *invocation) {
	if len(inv.args) == 0 {
		if len(inv.cmd.Upstream) > 0 { // iwr … | iex
			a.assessRunOutput(inv, inv.cmd.Upstream, inv.cmd.Upstream[0].Span.Through(inv.span))
		}
		return
	}
	for i := range inv.args {
		if len(inv.args[i].Subs) > 0 {
			a.assessRunOutput(inv, inv.args[i].Subs, inv.span)
			return
		}
	}
	if len(inv.args) == 1 {
		a.assessScriptWord(inv, &inv.args[0])
		return
	}
	if inv.args[0].IsDynamic() {
		a.add(dynamicScript, inv.span)
		return
	}
	a.assessFrom(inv, 0)
}

func (a *assessor) source(inv *invocation) {
	if len(inv.args) > 0 && inv.args[0].Process {
		a.assessRunOutput(inv, inv.args[0].Subs, inv.span)
	}
	if len(inv.args) > 0 {
		a.checkDownloaded(inv, &inv.args[0])
	}
}

func (a *assessor) trap(inv *invocation) {
	if len(inv.args) > 1 && inv.args[0].Text != "-" {
		a.assessWordAsScript(inv, &inv.args[0], shell.POSIX)
	}
}

func (a *assessor) pwsh(inv *invocation) {
	for i := range inv.args {
		switch text := strings.ToLower(inv.args[i].Text); {
		case strings.HasPrefix(text, "-enc") || text == "-e" || text == "-ec":
			a.add(runsDecoded, inv.span)
			return
		case strings.HasPrefix(text, "-c") && i+1 < len(inv.args):
			if i+2 == len(inv.args) {
				a.assessWordAsScript(inv, &inv.args[i+1], shell.PowerShell)
			} else {
				next := *inv
				next.dialect = shell.PowerShell
				a.assessWords(&next, inv.args[i+1:])
			}
			return
		}
	}
}

func (a *assessor) cmdExe(inv *invocation) {
	for i := range inv.args {
		if text := strings.ToLower(inv.args[i].Text); (text == "/c" || text == "/k") && i+1 < len(inv.args) {
			next := *inv
			if next.dialect = shell.WindowsCmd; i+2 == len(inv.args) {
				a.assessWordAsScript(inv, &inv.args[i+1], shell.WindowsCmd)
			} else {
				a.assessWords(&next, inv.args[i+1:])
			}
			return
		}
	}
}

func (a *assessor) ssh(inv *invocation) {
	i := inv.commandIndex("-i", "-p", "-l", "-o", "-F", "-J", "-L", "-R", "-D", "-b", "-c", "-E", "-m", "-O", "-Q", "-S", "-W", "-w", "-e", "-I")
	if i < 0 || i+1 >= len(inv.args) {
		if i >= 0 && len(inv.cmd.Redirects)+len(inv.cmd.Upstream) > 0 {
			a.assessPipedScript(inv)
		}
		return
	}
	remoteAssessor := &assessor{ // the working directory has no meaning on the remote host
		wordBudget: a.wordBudget, byteBudget: a.byteBudget, pipeBudget: a.pipeBudget, assigned: a.assigned, hubProcesses: a.hubProcesses, findings: a.findings,
	}
	remote := *inv
	remote.dir, remote.cmd = "", &shell.Command{Span: inv.cmd.Span, Words: inv.cmd.Words, Scope: &shell.Scope{Resolved: true}}
	remoteAssessor.assessJoined(&remote, inv.args[i+1:])
	a.wordBudget, a.byteBudget, a.pipeBudget, a.findings =
		remoteAssessor.wordBudget, remoteAssessor.byteBudget, remoteAssessor.pipeBudget, remoteAssessor.findings
}

func (a *assessor) docker(inv *invocation) {
	name, rest := inv.subcommand("-H", "--context", "-f", "--file", "-p", "--project-name")
	if name == "compose" {
		name, rest = rest.subcommand("-f", "--file", "-p", "--project-name", "--env-file", "--profile")
	}
	if name == "exec" || name == "run" {
		i := rest.commandIndex("-e", "--env", "-u", "--user", "-w", "--workdir", "-v", "--volume", "-p", "--publish", "--name", "--network", "--entrypoint", "--env-file", "--mount", "--platform")
		if i >= 0 {
			a.assessInContainer(rest, i+1)
		}
	}
}

// assessInContainer assesses a command that runs in a different file system.
func (a *assessor) assessInContainer(inv *invocation, i int) {
	outer := a.WorkingDir
	a.WorkingDir = paths.WorkingDir{}
	defer func() { a.WorkingDir = outer }()
	next := *inv
	next.dir = ""
	a.assessFrom(&next, i)
}

func (a *assessor) kubectl(inv *invocation) {
	at := slices.IndexFunc(inv.args, func(w shell.Word) bool { return w.Text == "--" })
	if sub := operandIndex(inv.args); at >= 0 && inv.args[sub].Text == "exec" {
		a.assessInContainer(inv, at+1)
	}
}
