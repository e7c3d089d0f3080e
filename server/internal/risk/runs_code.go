package risk

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/hookback/hookback/agentclient/call"
	"github.com/hookback/hookback/agentclient/call/paths"
	"github.com/hookback/hookback/agentclient/call/programs"
)

// Rules about calls that run more than they show: options, variables, settings and code.

var (
	optionExecutes = rule{"option_executes", high, "One of its options runs a program, or loads code or settings."}
	optionWrites   = rule{"option_writes", medium, "One of its options writes a file, although the command usually only reads."}
	setsVariable   = rule{"sets_variable", high, "It sets a variable that can make the program run other code."}
	runsLater      = rule{"runs_later", high, "It changes a file or a setting that runs commands later."}
	codeRuns       = rule{"runs_code", high, "Its code runs other programs, or deletes files."}
)

// checkOptions adds a finding if an option of the call executes or writes. The commands that find runs
// on its results are assessed by themselves.
func (a *assessor) checkOptions(inv *invocation) {
	if !programs.HasOptionTable(inv.name) || inv.name == "find" && !inv.hasArgument("-fprint", "-fprint0", "-fprintf", "-fls") {
		return
	}
	words := make([]string, 1, len(inv.args)+1)
	words[0] = inv.name
	for i := 0; i < len(inv.args); i++ {
		if inv.name == "git" && inv.args[i].Text == "-c" && i+1 < len(inv.args) && !isGitProgramKey(inv.args[i+1].Text) {
			i++ // a setting that names no program
			continue
		}
		words = append(words, inv.args[i].Text)
	}
	switch word, effect := programs.ExecutingOption(words); {
	case inv.name == "find":
		a.add(optionWrites, inv.span)
	case effect == programs.Executes && word != "-x" && word != "-X" || effect == programs.Executes && inv.name != "fd":
		a.add(optionExecutes, inv.span)
	case effect == programs.Writes:
		a.add(optionWrites, inv.span)
	}
}

// hubVariables decide, like every HOOKBACK_…, which hub approves, or where its settings are.
var hubVariables = newSet("HOME XDG_CONFIG_HOME")

// checkAssignment assesses NAME=value. isPrefix is set if it applies to one command only: then every
// name counts that is not known to be inert.
func (a *assessor) checkAssignment(w *call.Word, sp call.Span, isPrefix bool) {
	name, value, _ := strings.Cut(w.Text, "=")
	name = strings.TrimSuffix(name, "+")
	switch {
	case hubVariables[name], strings.HasPrefix(name, "HOOKBACK_"):
		a.add(changesHub, sp)
	case hookVariables[name]:
		a.add(changesHooks, sp)
	case isPrefix && w.Dynamic, programs.ExecutingVariable(name, value, isPrefix):
		a.add(setsVariable, sp)
	}
}

// checkSSHOptions adds a finding if an option of ssh runs a command on this machine.
func (a *assessor) checkSSHOptions(inv *invocation) {
	for i := range inv.args {
		text, ok := strings.CutPrefix(inv.args[i].Text, "-o")
		if !ok {
			continue
		}
		if text == "" && i+1 < len(inv.args) {
			text = inv.args[i+1].Text
		}
		name := strings.ToLower(strings.TrimSpace(text))
		for _, executes := range []string{"proxycommand", "localcommand", "knownhostscommand", "pkcs11provider", "securitykeyprovider", "include", "xauthlocation", "match"} {
			if strings.HasPrefix(name, executes) && !strings.HasSuffix(name, "=none") {
				a.add(optionExecutes, inv.span)
				return
			}
		}
	}
}

// gitProgramKeys are settings of git that name a program or load more settings. * matches any part.
var gitProgramKeys = strings.Fields(`core.pager core.editor core.sshcommand core.fsmonitor core.hookspath core.askpass core.gitproxy core.alternaterefscommand core.attributesfile
	alias.* pager.* sequence.editor credential.helper credential.*.helper diff.external diff.*.command diff.*.textconv difftool.*.cmd mergetool.*.cmd merge.*.driver
	filter.*.clean filter.*.smudge filter.*.process gpg.program gpg.*.program include.path includeif.*.path interactive.difffilter sendemail.*cmd browser.*.cmd
	man.*.cmd init.templatedir uploadpack.packobjectshook remote.*.uploadpack remote.*.receivepack remote.*.vcs url.*.insteadof url.*.pushinsteadof protocol.*.allow
	submodule.*.update trailer.*.command tar.*.command`)

// gitConfig adds a finding if git config sets a program.
func (a *assessor) gitConfig(inv *invocation) {
	name, rest := inv.subcommand("-C", "-c", "--git-dir", "--work-tree")
	if name != "config" || rest.hasArgument("--get", "--get-all", "--get-regexp", "--unset", "--unset-all", "--list", "-l", "get", "unset", "list") {
		return
	}
	operands := rest.operands("-f", "--file", "--blob", "--type", "--default", "--comment")
	if len(operands) > 0 && operands[0].Text == "set" {
		operands = operands[1:]
	}
	if len(operands) < 2 || operands[1].Text == "true" || operands[1].Text == "false" {
		return
	}
	if isGitProgramKey(operands[0].Text) {
		a.add(runsLater, inv.span)
	}
}

// isGitProgramKey reports whether a setting, with or without =value, names a program or loads more
// settings.
func isGitProgramKey(setting string) bool {
	name, _, _ := strings.Cut(setting, "=")
	key := strings.ReplaceAll(strings.ToLower(name), "/", "_")
	return slices.ContainsFunc(gitProgramKeys, func(pattern string) bool { ok, _ := path.Match(pattern, key); return ok })
}

// scripts returns the code in the words and the input of a command that is not known to only filter text.
func (a *assessor) scripts(inv *invocation) (found []string) {
	for i := range a.call.Scripts {
		if s := &a.call.Scripts[i]; s.Command == inv.index {
			found = append(found, s.Text)
		}
	}
	return found
}

// awk assesses the programs of awk by their calls.
func (a *assessor) awk(inv *invocation) {
	for _, script := range a.scripts(inv) {
		text := strings.Join(strings.Fields(script), "")
		switch {
		case strings.Contains(text, "system("), strings.Contains(text, `|"`), strings.Contains(text, `"|`), strings.Contains(text, "|&"),
			strings.Contains(text, "|getline"):
			a.add(codeRuns, inv.span)
		case strings.Contains(text, `>"`):
			a.add(optionWrites, inv.span)
			a.checkWritten(inv, awkTarget, script)
		}
	}
}

// sed assesses the scripts of sed: the command e and the flag e of s run a program, w writes a file.
func (a *assessor) sed(inv *invocation) {
	for _, script := range a.scripts(inv) {
		switch executes, writes := sedEffects(script); {
		case executes:
			a.add(codeRuns, inv.span)
		case writes:
			a.add(optionWrites, inv.span)
			a.checkWritten(inv, sedTarget, script)
		}
	}
}

// sedEffects reads a script of sed. It errs on the side of no effect where the script is malformed.
func sedEffects(script string) (executes, writes bool) {
	for s := script; s != ""; {
		switch c := s[0]; {
		case strings.IndexByte(" \t\n;{}!,$~+0123456789", c) >= 0:
			s = s[1:]
		case c == '/' || c == '\\' && len(s) > 1:
			if c == '\\' {
				s = s[1:]
			}
			s = strings.TrimLeft(skipDelimited(s[1:], s[0]), "IM")
		case c == 's' || c == 'y':
			if len(s) < 2 {
				return executes, writes
			}
			rest := skipDelimited(skipDelimited(s[2:], s[1]), s[1])
			end := strings.IndexAny(rest, ";}\n")
			if end < 0 {
				end = len(rest)
			}
			flags, _, file := strings.Cut(rest[:end], "w")
			executes, writes = executes || c == 's' && strings.Contains(flags, "e"), writes || file
			s = rest[end:]
		case c == 'e':
			return true, writes
		case c == 'w' || c == 'W':
			writes = true
			s = s[lineEnd(s):]
		case strings.IndexByte("aicrRbtT:", c) >= 0:
			s = s[lineEnd(s):]
		default:
			s = s[1:]
		}
	}
	return executes, writes
}

// skipDelimited returns the text after the next unescaped delimiter.
func skipDelimited(s string, delimiter byte) string {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case delimiter:
			return s[i+1:]
		}
	}
	return ""
}

// detach adds a finding about a program that starts a command elsewhere.
func (a *assessor) detach(inv *invocation) {
	a.add(detached, inv.span)
}

// tmux adds a finding about the command of a new session.
func (a *assessor) tmux(inv *invocation) {
	name, rest := inv.subcommand("-L", "-S", "-f", "-c")
	if !slices.Contains([]string{"new", "new-session", "new-window", "neww", "split-window", "splitw", "run-shell", "run", "respawn-pane", "respawn-window", "send-keys", "send", "if-shell"}, name) {
		return
	}
	i := rest.commandIndex("-s", "-n", "-c", "-t", "-x", "-y", "-e", "-F", "-d")
	if i >= 0 || rest.hasOption("d") {
		a.add(detached, inv.span)
	}
}

// install handles install -m with a mode that gives the file the rights of its owner.
func (a *assessor) install(inv *invocation) {
	mode := call.OptionValue(inv.args, "-m", "--mode")
	if mode == nil {
		for i := range inv.args {
			if text, ok := strings.CutPrefix(inv.args[i].Text, "-m"); ok && text != "" {
				mode = &call.Word{Text: text}
			}
		}
	}
	if mode == nil {
		return
	}
	digits := strings.TrimLeft(mode.Text, "0")
	if len(digits) == 4 && strings.Trim(digits, "01234567") == "" && digits[0] != '1' ||
		strings.ContainsAny(mode.Text, "st") && strings.ContainsAny(mode.Text, "+=") {
		a.add(rule{"privileges", high, "It gives a program more rights than the user who runs it."}, inv.span)
	}
}

// sqlProgram adds a finding if a statement or a command of an SQL client runs a program.
func (a *assessor) sqlProgram(inv *invocation) {
	texts := inv.args
	for i := range inv.cmd.Redirects {
		if strings.HasPrefix(inv.cmd.Redirects[i].Op, "<<") {
			texts = append(slices.Clip(texts), inv.cmd.Redirects[i].Target)
		}
	}
	for i := range texts {
		text := strings.ToLower(strings.Join(strings.Fields(texts[i].Text[:min(len(texts[i].Text), paths.MaxLength)]), " "))
		for _, runs := range []string{"to program", "from program", `\!`, ".shell", ".system", ".load ", ".import |", "load_extension(", "into outfile", "into dumpfile", "sys_exec(", "xp_cmdshell"} {
			if strings.Contains(text, runs) {
				a.add(codeRuns, inv.span)
				return
			}
		}
	}
}

// runningCalls are calls in code that run a program or delete files, by language. The calls of perl,
// ruby and php need no parentheses.
var runningCalls = map[string][]string{
	"python": {"os.system(", "os.popen(", "subprocess.", "os.exec", "os.spawn", "pty.spawn", "os.remove(", "os.unlink(", "os.rmdir(", ".unlink(", "shutil.move("},
	"node":   {"child_process", "execSync(", "spawnSync(", "unlinkSync(", "fs.unlink(", "Bun.spawn", "Bun.$"},
	"php":    {"system(", "exec(", "passthru(", "popen(", "proc_open(", "unlink(", "rmdir("},
	"perl":   {"system", "exec", "qx", "`", "unlink", "rmdir", "popen"},
	"ruby":   {"system", "exec", "%x", "`", "popen", "spawn", "File.delete", "FileUtils.rm"},
	"lua":    {"os.execute", "io.popen", "os.remove"},
	"deno":   {"Deno.Command", "Deno.run", "Deno.remove"},
}

// runsPrograms reports whether code calls something that runs a program or deletes files.
func runsPrograms(language, text string) bool {
	switch language {
	case "bun":
		language = "node"
	case "luajit":
		language = "lua"
	}
	return slices.ContainsFunc(runningCalls[language], func(call string) bool {
		at := strings.Index(text, call)
		return at == 0 || at > 0 && (!isLetter(text[at-1]) || !isLetter(call[0]))
	})
}

// staticCalls are the methods of .NET types that change something, in lower case.
var staticCalls = []string{"delete", "move", "write", "start", "load"}

// checkStaticCall adds a finding if a word of PowerShell calls a method such as [IO.File]::Delete.
func (a *assessor) checkStaticCall(w *call.Word) {
	text := strings.ToLower(w.Text)
	for {
		_, after, ok := strings.Cut(text, "]::")
		if !ok {
			return
		}
		if slices.ContainsFunc(staticCalls, func(call string) bool { return strings.HasPrefix(after, call) }) {
			a.add(codeRuns, w.Span)
			return
		}
		text = after
	}
}

// invokeExpression adds a finding for text that PowerShell runs as a command.
func (a *assessor) invokeExpression(inv *invocation) {
	a.add(rule{"obfuscated", high, "It runs text as a command."}, inv.span)
}

var (
	awkTarget = regexp.MustCompile(`>\s*"([^"]+)"`)
	sedTarget = regexp.MustCompile(`w\s*([^\s;]+)\s*$`)
)

// checkWritten assesses the files that a script of awk or sed writes.
func (a *assessor) checkWritten(inv *invocation, target *regexp.Regexp, script string) {
	for _, m := range target.FindAllStringSubmatch(script, 16) {
		a.checkWrite(inv.dir, &call.Word{Text: m[1]}, inv.span)
	}
}
