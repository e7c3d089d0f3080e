package risk

import (
	"path"
	"slices"
	"strings"

	"github.com/hookback/hookback/agentclient/call"
	"github.com/hookback/hookback/agentclient/call/paths"
	"github.com/hookback/hookback/agentclient/call/programs"
)

var (
	pipedScript   = rule{"pipe_to_shell", high, "It runs text from a pipe or a here-document as a shell script."}
	dynamicScript = rule{"obfuscated", medium, "It runs text as a command that is known only at run time."}
	runsDecoded   = rule{"obfuscated", high, "It decodes hidden text and runs it as a program."}
	runsDownload  = rule{"pipe_to_shell", high, "It downloads a program and runs it immediately, without review."}
	runsAsAdmin   = rule{"pipe_to_shell", critical, "It downloads a program and runs it immediately as administrator, without review."}
)

func (a *assessor) env(inv *invocation) {
	i := inv.commandIndex("-u", "--unset", "-C", "--chdir", "-S", "--split-string")
	for j := range inv.args[:max(i, 0)] {
		if isAssignment(&inv.args[j]) {
			a.checkAssignment(&inv.args[j], inv.span, true)
		}
	}
	if i < 0 && !programs.HasFlag(inv.words(), "i", "S", "ignore-environment", "split-string") {
		a.addEnvironment(inv)
	}
}

// shell handles sh and similar shells, whose script is in -c, in a file or on standard input.
func (a *assessor) shell(inv *invocation) {
	for i := range inv.args {
		w := &inv.args[i]
		if !strings.HasPrefix(w.Text, "-") && !strings.HasPrefix(w.Text, "+") {
			if w.IsProcess {
				a.checkRunOutput(inv, a.commandsIn(w.Subs), inv.span)
			}
			a.checkDownloaded(inv, w)
			return
		}
		if programs.IsOption(inv.name, w.Text, "c") {
			if i+1 < len(inv.args) {
				a.checkScriptWord(inv, &inv.args[i+1])
			}
			return
		}
	}
	a.checkPipedScript(inv)
}

// checkPipedScript assesses the script that a shell reads from standard input.
func (a *assessor) checkPipedScript(inv *invocation) {
	for i := range inv.cmd.Redirects {
		switch in := &inv.cmd.Redirects[i]; in.Op {
		case "<<", "<<-", "<<<":
			a.add(pipedScript, inv.span)
			return
		case "<":
			if in.Target.IsProcess {
				a.checkRunOutput(inv, a.commandsIn(in.Target.Subs), inv.span)
			}
			return
		}
	}
	if sp, piped := a.pipeSpan(inv); piped && !a.checkRunOutput(inv, a.writers(inv.cmd), sp) {
		a.add(pipedScript, sp)
	}
}

// pipeSpan returns the place from the first command of a pipe to the command that reads it.
func (a *assessor) pipeSpan(inv *invocation) (sp call.Span, piped bool) {
	writers := a.writers(inv.cmd)
	if len(writers) == 0 {
		return inv.span, false
	}
	return through(wordsSpan(&writers[0]), inv.span), true
}

// checkScriptWord assesses a word that is run as a script.
func (a *assessor) checkScriptWord(inv *invocation, w *call.Word) {
	if a.checkRunOutput(inv, a.commandsIn(w.Subs), inv.span) {
		return
	}
	isOutput := w.Subs != (call.Range{}) && inv.name != "eval" // eval "$(ssh-agent)" is common
	if w.Text == call.Expansion && (isOutput || len(w.Vars) == 1 && !w.Vars[0].IsAssigned && !a.assigned[w.Vars[0].Name]) {
		a.add(dynamicScript, inv.span)
	}
}

// checkRunOutput assesses a program that runs the output of writers. It reports whether it added a
// finding about them.
func (a *assessor) checkRunOutput(inv *invocation, writers []call.Command, sp call.Span) bool {
	for i := range writers {
		if a.pipeBudget--; a.pipeBudget < 0 {
			return false
		}
		switch c := &writers[i]; {
		case downloads(c) &&
			slices.ContainsFunc(append(a.runners(inv.cmd), inv.name), func(name string) bool { return name == "sudo" || name == "doas" }):
			a.add(runsAsAdmin, sp)
			return true
		case downloads(c):
			a.add(runsDownload, sp)
			return true
		case decodes(c):
			a.add(runsDecoded, sp)
			return true
		}
	}
	return false
}

// checkDownloaded adds a finding if a word names a file that the script downloaded before.
func (a *assessor) checkDownloaded(inv *invocation, w *call.Word) {
	if len(a.downloaded) > 0 && a.downloaded[path.Clean(w.Text)] {
		a.add(runsDownload, inv.span)
	}
}

// addDownloaded records the files that a command writes with data from the network.
func (a *assessor) addDownloaded(c *call.Command) {
	isDownload := func(c call.Command) bool { return downloads(&c) }
	if writers := a.writers(c); !downloads(c) &&
		(commandName(c) != "tee" || !slices.ContainsFunc(writers[:min(len(writers), maxWriters)], isDownload)) {
		return
	}
	if a.downloaded == nil {
		a.downloaded = map[string]bool{}
	}
	for i := range c.Redirects {
		if strings.Contains(c.Redirects[i].Op, ">") {
			a.downloaded[path.Clean(c.Redirects[i].Target.Text)] = true
		}
	}
	for i := range c.Words[1:] {
		switch text := c.Words[i+1].Text; {
		case strings.Contains(text, "://"):
			a.downloaded[path.Base(text)] = true
		case text != "" && len(text) < paths.MaxLength && text[0] != '-':
			a.downloaded[path.Clean(text)] = true
		}
	}
}

// decodes reports whether a command decodes unreadable data to text.
func decodes(c *call.Command) bool {
	has := func(options ...string) bool {
		return slices.ContainsFunc(c.Words, func(w call.Word) bool { return slices.Contains(options, w.Text) })
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
	if sp, piped := a.pipeSpan(inv); len(inv.args) == 0 {
		if piped { // iwr … | iex
			a.checkRunOutput(inv, a.writers(inv.cmd), sp)
		}
		return
	}
	for i := range inv.args {
		if inv.args[i].Subs != (call.Range{}) {
			a.checkRunOutput(inv, a.commandsIn(inv.args[i].Subs), inv.span)
			return
		}
	}
	if len(inv.args) == 1 {
		a.checkScriptWord(inv, &inv.args[0])
	} else if inv.args[0].Dynamic {
		a.add(dynamicScript, inv.span)
	}
}

func (a *assessor) source(inv *invocation) {
	if len(inv.args) > 0 {
		a.checkRunOutput(inv, a.commandsIn(inv.args[0].Subs), inv.span)
		a.checkDownloaded(inv, &inv.args[0])
	}
}

func (a *assessor) pwsh(inv *invocation) {
	for i := range inv.args {
		if text := strings.ToLower(inv.args[i].Text); strings.HasPrefix(text, "-enc") || text == "-e" || text == "-ec" {
			a.add(runsDecoded, inv.span)
			return
		}
	}
}

// ssh handles a shell on the host that reads its script from standard input.
func (a *assessor) ssh(inv *invocation) {
	i := inv.commandIndex("-i", "-p", "-l", "-o", "-F", "-J", "-L", "-R", "-D", "-b", "-c", "-E", "-m", "-O", "-Q", "-S", "-W", "-w", "-e", "-I")
	if i >= 0 && i+1 >= len(inv.args) && len(inv.cmd.Redirects)+len(a.writers(inv.cmd)) > 0 {
		a.checkPipedScript(inv)
	}
}
