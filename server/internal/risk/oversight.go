package risk

import (
	"regexp"
	"slices"
	"strings"

	"github.com/hookback/hookback/agentclient/call"
	"github.com/hookback/hookback/agentclient/call/paths"
	"github.com/hookback/hookback/agentclient/call/programs"
	"github.com/hookback/hookback/server/internal/risk/oversight"
)

// Rules about human oversight: calls that disable approval are riskier than they look.

var (
	answersHub   = rule{"oversight", high, "It answers a request in your place, or manages the hub."}
	runsHookback = rule{"oversight", high, "It runs Hookback so that it may change, skip or answer the requests for your approval."}
)

// hookVariables decide whether an agent runs its hooks, or where its settings are.
var hookVariables = newSet("CLAUDE_CONFIG_DIR CLAUDE_CODE_SIMPLE CLAUDE_CODE_SAFE_MODE CODEX_HOME COPILOT_HOME OPENCODE_PURE OPENCODE_CONFIG_DIR")

// networkPrograms reach addresses that their arguments name.
var networkPrograms = newSet(`curl wget http https xh curlie invoke-restmethod invoke-webrequest irm iwr nc ncat netcat socat openssl telnet websocat wscat lynx w3m links
	elinks aria2c axel httpx grpcurl ab hey wrk k6 vegeta siege fetch chromium google-chrome firefox open xdg-open start start-process bitsadmin certutil lwp-request GET POST`)

// checkHubRoutes adds a finding if a program that reaches addresses names one of the hub's routes that
// answer or manage requests, or if text with one is sent to the network.
func (a *assessor) checkHubRoutes(inv *invocation) {
	sent := a.flow[inv.index].isSent ||
		slices.ContainsFunc(inv.cmd.Redirects, func(r call.Redirect) bool { return strings.HasPrefix(r.Target.Text, "/dev/tcp/") })
	if !networkPrograms[inv.name] && !sent {
		return
	}
	changes := curlData.matchesAny(inv.name, inv.args) || sent
	for i := range inv.cmd.Redirects {
		if in := &inv.cmd.Redirects[i]; strings.HasPrefix(in.Op, "<<") && oversight.NamesHubRoute(in.Target.Text, true) {
			a.add(answersHub, inv.span)
		}
	}
	for i := range inv.args {
		text := inv.args[i].Text
		changes = changes || len(text) < 64 && oversight.MayChange(text) || strings.HasPrefix(text, "--post") || strings.HasPrefix(text, "--body")
	}
	for i := range inv.args {
		if oversight.NamesHubRoute(inv.args[i].Text, changes) {
			a.add(answersHub, throughIfShort(inv.span, inv.args[i].Span))
			return
		}
	}
}

// checkHubFiles adds a finding if a program names a file of the hub. echo and printf only print it, and
// the pattern of a search is no file.
func (a *assessor) checkHubFiles(inv *invocation) {
	if inv.name == "echo" || inv.name == "printf" {
		return
	}
	pattern := inv.searchPattern()
	for i := range inv.args {
		text := inv.args[i].Written()
		if i != pattern && (oversight.IsHubFile(inv.dir, text) || containers[inv.name] && oversight.IsHubFile(inv.dir, mounted(text))) {
			a.add(changesHub, throughIfShort(inv.span, inv.args[i].Span))
			return
		}
	}
}

// fileReaders print files or copy them elsewhere. Handlers check what the last six write.
var fileReaders = newSet("less more bat yq awk gawk mawk nawk get-content select-string sed cp mv scp rsync ln install")

// checkSettingsFiles adds a finding if a program that is not known to only read names a file that
// decides whether agents ask.
func (a *assessor) checkSettingsFiles(inv *invocation) {
	sub, _ := inv.subcommand("-C", "-c")
	isGit := inv.name == "git"
	at := slices.IndexFunc(inv.args, func(w call.Word) bool {
		text := w.Written()
		return namesSettings(inv.dir, text) || containers[inv.name] && oversight.HoldsSettings(inv.dir, mounted(text)) ||
			isGit && gitWrites[sub] && oversight.HoldsSettings(inv.dir, text)
	})
	edits := inv.name != "sed" && programs.EditsInPlace(inv.words())
	if at < 0 || fileReaders[inv.name] && !edits || oversight.Program(inv.name) != "" { // checkHookback knows what Hookback reads
		return
	}
	if isGit && (sub == "add" || sub == "commit") || readsUnit.MatchString(strings.Join(inv.words(), " ")) {
		return
	}
	words := inv.words()
	for i, text := range words[1:] {
		if oversight.IsPath(inv.dir, text) || inv.name == "diff" && !strings.HasPrefix(text, "-") {
			words[i+1] = "x.json"
		}
	}
	if !programs.Harmless(words, programs.WorkingDir{Project: a.CWD}) {
		a.add(changesHooks, throughIfShort(inv.span, inv.args[at].Span))
	}
}

// readsUnit matches the words of systemctl that only print: no option before the verb has a value that could be it.
var readsUnit = regexp.MustCompile(`^systemctl (--(user|no-pager) )*(status|show|cat) [\w@.-]+$`)

// containers run programs that see the directories in their words.
var containers = newSet("docker podman nerdctl")

// mounted returns the directory that a word gives to a container, as in SOURCE:TARGET.
func mounted(text string) string {
	for part := range strings.SplitSeq(text, ",") {
		if name, source, ok := strings.Cut(part, "="); ok && (name == "src" || name == "source") {
			return source
		}
	}
	source, _, _ := strings.Cut(text, ":")
	return source
}

// gitWrites are the subcommands of git that change the files they name.
var gitWrites = newSet("checkout restore rm mv stash clean worktree")

// namesSettings reports whether an argument is a file that decides whether agents ask, alone or attached to
// an option as in --output=FILE and -oFILE.
func namesSettings(dir, text string) bool {
	_, value, _ := strings.Cut(text, "=")
	if start := strings.IndexAny(text, "./~$"); strings.HasPrefix(text, "-") && start > 0 && value == "" {
		value = text[start:]
	}
	return oversight.IsPath(dir, text) || value != "" && oversight.IsPath(dir, value)
}

// checkSettingsFolder adds a finding if the directory in w, which is deleted or moved, holds an agent's
// settings.
func (a *assessor) checkSettingsFolder(dir string, w *call.Word, sp call.Span) {
	if oversight.HoldsSettings(dir, w.Written()) {
		a.add(changesHooks, sp)
	}
}

// hubProgram returns the program of Hookback that a word names, also as $(which hookback), or an empty
// string.
func (a *assessor) hubProgram(w *call.Word) string {
	for _, c := range a.commandsIn(w.Subs) {
		if n := len(c.Words); n > 1 && slices.Contains([]string{"which", "command", "type", "whereis", "where"}, commandName(&c)) {
			return oversight.Program(c.Words[n-1].Text)
		}
	}
	return oversight.Program(w.Text)
}

// checkHookback adds a finding if a program of Hookback is called and not known to only read.
func (a *assessor) checkHookback(inv *invocation, program string) {
	expands := slices.ContainsFunc(inv.args, func(w call.Word) bool { return !w.IsQuoted && w.Dynamic })
	if expands || inv.pipedInput || !oversight.Reads(program, call.Texts(inv.args)) {
		a.add(runsHookback, inv.span)
	}
}

// goRun handles go run with the path of a program of Hookback.
func (a *assessor) goRun(inv *invocation) {
	name, run := inv.subcommand("-C")
	if name != "run" {
		return
	}
	i := run.commandIndex(strings.Fields("-C -p -exec -tags -ldflags -gcflags -asmflags -mod -modfile -overlay -pgo -toolexec")...)
	if i < 0 || i >= len(run.args) || len(run.args[i].Text) > paths.MaxLength {
		return
	}
	folder := run.args[i].Text
	program := oversight.Program(folder)
	if dir := strings.TrimRight(inv.dir+"/"+strings.TrimPrefix(folder, "./"), "/."); strings.HasSuffix(dir, "hookback/server") {
		program = "hookback-server"
	} else if program == "" && strings.HasPrefix(folder, ".") {
		program = oversight.Program(dir)
		if !strings.HasSuffix(dir, "/cmd/"+program) {
			program = ""
		}
	}
	rest := *run
	rest.args = run.args[i+1:]
	if program != "" {
		a.checkHookback(&rest, program)
	}
}

// checkOversightInCode adds findings for code that runs Hookback, names data of the hub, or writes a file
// that decides whether agents ask.
func (a *assessor) checkOversightInCode(text string, sp call.Span) {
	if oversight.RunsHookback(text) {
		a.add(runsHookback, sp)
	}
	if hubName.MatchString(text) && killingCalls.MatchString(text) {
		a.add(stopsHub, sp)
	}
	writes := containsAny(text, writingCalls)
	writesFolder := containsAny(text, movingCalls) || writes && containsAny(text, []string{"settings.", "hooks.json", "config.toml"})
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return strings.ContainsRune("'\"`,;()<>\n", r) }) {
		switch {
		case oversight.IsHubFile("", word):
			a.add(changesHub, sp)
		case writes && oversight.IsPath("", word), writesFolder && oversight.HoldsSettings("", word):
			a.add(changesHooks, sp)
		}
	}
}

// writingCalls are parts of calls in code that write, move or delete files, movingCalls of those that do so with
// whole directories.
var (
	movingCalls  = strings.Fields("rename rmtree rmSync .rm( rm_rf unlink remove move")
	writingCalls = append(strings.Fields("write Write 'w ,\"w 'a ,\"a 'r+ dump( delete replace copy truncate chmod _put_ '> \">"), movingCalls...)
)

// checkHubProcess adds a finding if a signal is sent to a process of Hookback.
func (a *assessor) checkHubProcess(inv *invocation) {
	debugs := inv.name == "gdb" || inv.name == "lldb"
	if inv.hasArgument("-0", "-l", "-L", "--list") || debugs && !inv.hasOption("p", "pid") {
		return
	}
	found := slices.Clip(a.writers(inv.cmd))
	for i := range inv.args {
		found = append(found, a.commandsIn(inv.args[i].Subs)...)
	}
	named := slices.ContainsFunc(append(found, *inv.cmd), selectsHub)
	isNamed := func(name *regexp.Regexp) bool {
		return a.mentions(inv.cmd, name) || (inv.pipedInput || inv.cmd.Shell == call.PowerShell) &&
			slices.ContainsFunc(a.writers(inv.cmd), func(c call.Command) bool { return a.mentions(&c, name) })
	}
	named = named || isNamed(hubName)
	if !named && slices.ContainsFunc(inv.args, func(w call.Word) bool { return len(w.Vars) > 0 }) {
		named = slices.ContainsFunc(a.substitutesHub(), func(sp call.Span) bool { return sp != inv.cmd.Span })
	}
	switch {
	case named:
		a.add(stopsHub, inv.span)
	case isNamed(hubPort):
		a.add(stopsPort, inv.span)
	}
}

// findSubstitutesOfHub returns the places of the commands in substitutions that name the hub, as in P=$(pgrep hookback).
func (a *assessor) findSubstitutesOfHub() (places []call.Span) {
	for i := range a.call.Commands {
		if c := &a.call.Commands[i]; c.Depth > 0 && c.Before != call.RunBy && hubName.MatchString(a.text(c.Span)) {
			places = append(places, c.Span)
		}
	}
	return places
}

// selectsHub reports whether a pattern of pgrep, pkill or killall -r matches the name of the hub, or all processes
// of a user do.
func selectsHub(c call.Command) bool {
	name := commandName(&c)
	inv := &invocation{args: c.Words[min(1, len(c.Words)):]}
	list := inv.operands("-u", "-U", "-t", "-g", "-G", "-P", "-s", "--euid", "--uid", "--terminal", "--signal")
	byUser := name == "pkill" && inv.hasArgument("-u", "-U", "--euid", "--uid")
	if name != "pkill" && name != "pgrep" && (name != "killall" || !inv.hasOption("r", "regexp")) {
		return false
	}
	return len(list) == 0 && byUser || slices.ContainsFunc(list, func(w call.Word) bool {
		pattern, err := regexp.Compile("(?i)" + w.Text)
		return err == nil && len(w.Text) < 256 && (pattern.MatchString("hookback") || strings.Contains(w.Text, "hook") && pattern.MatchString("hookback-server"))
	})
}

var (
	// hubName is also that of a variable with the id of its process, and grep does not find itself by [h]ookback.
	hubName = regexp.MustCompile(`(?i)\[?h\]?ookback|\bhook\*|(grep|awk) +[/'"]*hook\b`)
	// hubPort is the port on which the hub listens by default, in a command that finds its process.
	hubPort = regexp.MustCompile(`(:|\b(port|grep)[ =])4000\b`)
	// stopsHubProcess is Stop-Process, Kill() or taskkill next to a process of the hub.
	stopsHubProcess = regexp.MustCompile(`(?is)(get-process|gps|win32_process|wmic)\b[^;]*\bhook(back|\*).*(kill|stop|spps|terminate|delete)|` +
		`(kill|stop-process|spps).*(get-process|gps)\s[^;|]*\bhook(back|\*)|(remove|move|rename)-item[^;]*(get-command|gcm)\s+hookback`)
	killingCalls = regexp.MustCompile(`\bkill(pg)?[( '"]|send_signal|\.terminate\(|pkill|killall|taskkill|stop-process|` +
		`\b(systemctl|launchctl|docker|podman|tmux)\b[^\n]*\b(stop|kill|disable|mask|restart|bootout|rm)\b`)
	setsHubVariable = regexp.MustCompile(`(?i)\$env:hookback_\w+\s*=|(set|new|clear|remove)-item\s[^;|]*env:\\?hookback|` +
		`setenvironmentvariable\(['"]hookback`)
)

// checkPowerShellLine adds findings for what a line of PowerShell does to the hub by objects and drives.
func (a *assessor) checkPowerShellLine(l *call.Line) {
	if stopsHubProcess.MatchString(l.Text) {
		a.add(stopsHub, l.Span)
	}
	if setsHubVariable.MatchString(l.Text) {
		a.add(changesHub, l.Span)
	}
}

// mentions reports whether a command has a name among its words.
func (a *assessor) mentions(c *call.Command, name *regexp.Regexp) bool {
	a.pipeBudget--
	return a.pipeBudget >= 0 && name.MatchString(a.text(wordsSpan(c)))
}

var curlData = alternatives{
	"-d", "-F", "-T", "--data", "--data-raw", "--data-binary", "--data-urlencode", "--data-ascii", "--form", "--form-string", "--upload-file", "--json",
}
