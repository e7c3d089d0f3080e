package call

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"github.com/hookback/hookback/agentclient/call/programs"
)

// How programs run the code in their words. Everything else that programs.RunsCode knows runs code in
// another language, or names it.
const (
	shells = " sh bash zsh dash ksh ash rbash mksh lksh oksh loksh pdksh posh yash hush osh sash busybox toybox bash-static "
	// otherShells have languages of their own.
	otherShells = " fish csh tcsh elvish nu xonsh rc es ion oil ysh murex "
	// wrappers run the command in their operands, after that number of operands.
	wrappers = ` sudo doas pkexec run0 gsudo runuser nohup setsid nice ionice timeout:1 gtimeout:1 time stdbuf unbuffer caffeinate chronic
 env xargs strace ltrace valgrind perf:1 flock:1 watch entr script screen tmux:1 systemd-run systemd-inhibit setpriv unshare nsenter chroot:1 capsh
 firejail bwrap proot fakeroot setarch linux32 linux64 catchsegv rlwrap arch dotenv cross-env concurrently aws-vault:2 chamber:2 op:1 doppler:1 direnv:2
 chrt:1 taskset:1 exec command builtin coproc busybox toybox ssh:1 rsh:1 mosh:1 autossh:1 sshpass pssh adb:1 parallel npx bunx pnpx uvx nix-shell watchexec nodemon
 docker:2 podman:2 nerdctl:2 docker-compose:2 podman-compose:2 kubectl:2 oc:2 crictl:2 ctr:2 lxc:2 multipass:2 vagrant:1 heroku:1 ip:3
 npm:1 pnpm:1 bun:1 go:1 cargo:1 dotnet:1 bundle:1 mise:1 asdf:1 conda:1 mamba:1 poetry:1 pipenv:1 uv:1 rye:1 hatch:1 pdm:1 pipx:1 nix:1 stack:1 cabal:1
 wsl wine winpty runas prlimit choom uname26 i386 x86_64 start-stop-daemon daemonize daemon dbus-run-session dbus-launch systemd-cat numactl
 cgexec faketime:1 torsocks torify tsocks proxychains proxychains4 cpulimit schedtool sem env_parallel sg:1 runcon:1 machinectl:2 ssh-agent xvfb-run
 gh:2 minikube:1 colima:1 limactl:2 flatpak:2 launchctl:2 tsh:2
 tini dumb-init gosu:1 su-exec:1 noglob nocorrect tsp envchain:1 infisical:1 lerna:1 devbox:1
 gdb lldb rr git:2 coreutils uutils ld.so ld-linux.so.2 ld-linux-x86-64.so.2 ld-linux-aarch64.so.1 pdsh clush et parallel-ssh `
	// joiners run all their operands as one line.
	joiners = " ssh rsh watch parallel sem env_parallel autossh adb concurrently wsl pdsh clush et pssh parallel-ssh "
	// elsewhere are programs that run commands in another file system.
	elsewhere = " ssh rsh docker podman nerdctl kubectl oc mosh adb "
	// evaluators are builtins that evaluate the index of a variable in their words.
	evaluators = " unset read mapfile readarray getopts wait let "
)

func has(list, name string) bool { return name != "" && strings.Contains(list, " "+name+" ") }

// isShell reports whether a program is a shell, also with a version (bash5, ksh93).
func isShell(name string) bool {
	return has(shells, strings.TrimRight(name, "0123456789.-")) || has(otherShells, name)
}

func texts(words []Word) []string {
	all := make([]string, len(words))
	for i, w := range words {
		all[i] = w.Text
	}
	return all
}

// operandsBefore returns how many operands a wrapper has before the command.
func operandsBefore(name string) (n int, ok bool) {
	n, ok = wrapperOperands()[name]
	return n, ok
}

var wrapperOperands = sync.OnceValue(func() map[string]int {
	m := map[string]int{}
	for w := range strings.FieldsSeq(wrappers) {
		program, count, counted := strings.Cut(w, ":")
		if m[program] = 0; counted {
			m[program] = int(count[0] - '0')
		}
	}
	return m
})

// add adds a command, and those that it runs.
func (l *line) add(cmd Command) {
	cmd.Shell, cmd.Depth, cmd.Dir, cmd.By, cmd.index = POSIX, l.depth, l.dir, l.by, len(l.c.Commands)
	if l.stdin.kind == pipeInput {
		cmd.Input = Range{l.stdin.from, l.stdin.to}
	}
	if len(l.c.Commands) == maxCommands {
		l.unread(cmd.Span, "it runs more than %d commands", maxCommands)
	}
	if len(l.c.Commands) >= maxCommands || l.depth > maxScripts+maxNesting {
		return
	}
	l.begin(cmd)
	defer func() { l.adds = -1 }()
	l.variables(&cmd)
	if len(cmd.Words) == 0 {
		l.writes("", &cmd)
		return
	}
	program := cmd.Words[0]
	if program.Dynamic && !l.hasKnownName(program) || program.Pattern && program.Text != "[" {
		l.unread(program.Span, "the program is known only at run time")
		return
	}
	name := programs.ProgramName(program.Text, false)
	mayIndex := func(w Word) bool { return w.Dynamic || strings.Contains(w.Text, "[") }
	isOption := func(w Word) bool { return w.Text == "-v" || w.Text == "-R" }
	if has(evaluators, name) && slices.ContainsFunc(cmd.Words[1:], mayIndex) ||
		(name == "printf" || name == "test" || name == "[") && slices.ContainsFunc(cmd.Words[1:], isOption) {
		l.evaluates = true
	}
	givesMeaning := func(w Word) bool { return strings.HasPrefix(w.Text, "-") && w.Text != "-r" } // hash -r forgets
	if has(codeBuiltins, name) && slices.ContainsFunc(cmd.Words[1:], givesMeaning) ||
		name == "shopt" && slices.Contains(texts(cmd.Words), "expand_aliases") {
		l.unread(cmd.Span, "a builtin gives its words another meaning")
	}
	if has(codeRunners, name) || has(setters, name) {
		clear(l.values) // the name may be the value of a variable, unlike those that were counted
	}
	dir, dirs := l.dir, l.dirs
	isElsewhere := l.dirOption(name, &cmd)
	l.operandFiles(name, &cmd)
	l.changeDir(name, &cmd)
	l.writes(name, &cmd)
	l.runsFiles(name, &cmd)
	l.runs(name, &cmd)
	if isElsewhere {
		l.dir, l.dirs = dir, dirs
	}
}

// begin adds a command, whose files follow.
func (l *line) begin(cmd Command) {
	l.c.Commands, l.adds = append(l.c.Commands, cmd), cmd.index
	for i := range cmd.Redirects {
		if at := cmd.Redirects[i].File; at >= 0 {
			l.c.Files[at].Command, l.c.Files[at].Word = cmd.index, nil
		}
	}
}

// dirOptions are the options that tell a program where to work.
var dirOptions = map[string]string{
	"git": " -C --work-tree ", "env": " -C --chdir ", "sudo": " -D --chdir ", "make": " -C --directory ", "gmake": " -C --directory ", "tar": " -C --directory ",
	"go": " -C ", "ninja": " -C ", "cargo": " -C ", "pnpm": " -C --dir ", "npm": " -C --prefix ", "yarn": " --cwd ", "bun": " --cwd ", "uv": " --directory ",
	"bsdtar": " -C ", "cmake": " -S --build ", "mvn": " -f --file ", "mvnw": " -f --file ", "gradle": " -p --project-dir ", "gradlew": " -p --project-dir ",
	"terraform": " -chdir ", "tofu": " -chdir ", "patch": " -d --directory ",
}

// dirOption changes to the directory in an option of a program. It reports whether there is one.
func (l *line) dirOption(name string, cmd *Command) (found bool) {
	for i, w := range cmd.Words[1:] {
		option, to, isAttached := strings.Cut(w.Text, "=")
		if !isAttached && i+2 < len(cmd.Words) {
			to = cmd.Words[i+2].Text
		}
		at := shortOption(w.Text, "CD")
		if at > 0 && name != "git" && has(dirOptions[name], "-"+w.Text[at:at+1]) { // env -Cdir, env -iC dir
			option, to = "-"+w.Text[at:at+1], cmp.Or(w.Text[at+1:], to)
		}
		if has(dirOptions[name], option) {
			if i > 0 || at > 1 || has(" tar bsdtar cmake mvn mvnw gradle gradlew ", name) { // or it is a value, or has no effect on other files
				l.mayBeIn(l.dir)
			}
			l.dir, found = joinDir(l.dir, to), true
			l.listDir()
		}
	}
	return found
}

// hasKnownName reports whether the last part of the path of a program is known, as in "$GOPATH/bin/x".
// Without quotes that needs a variable of the environment, which the line does not set.
func (l *line) hasKnownName(w Word) bool {
	at := strings.LastIndexByte(w.Text, '/')
	isSet := func(v Var) bool {
		return v.IsAssigned || len(v.Name) < 2 || strings.ToUpper(v.Name) != v.Name || v.Name[0] < 'A'
	}
	return at >= 0 && !strings.Contains(w.Text[at:], Expansion) && !w.isMany &&
		(!w.Splits || strings.Count(w.Text, Expansion) == len(w.Vars) && !slices.ContainsFunc(w.Vars, isSet))
}

// maxDir is longer than any path that a system can open.
const maxDir = 4096

// codeBuiltins run or rename the values of their options.
const codeBuiltins = " mapfile readarray compgen complete hash history bind enable fc "

// codeVariables are parts of the names of variables that programs run, such as GIT_SSH_COMMAND and PS4.
var codeVariables = []string{"COMMAND", "EDITOR", "PAGER", "OPTIONS", "LESSOPEN", "_SSH", "WRAPPER", "CONFIG_VALUE", "CONFIG_PARAMETERS", "_RSH", "_SHELL", "FLAGS",
	"VISUAL", "ASKPASS", "EXTERNAL_DIFF", "BROWSER", "LESSCLOSE", "PERL5DB", "VIMINIT", "EXINIT", "DEFAULT_OPTS", "BASH_FUNC", "FUNCTIONS[", "ALIASES["}

// variables adds the code in variables that a shell or a program runs.
func (l *line) variables(cmd *Command) {
	words := cmd.Assignments
	if len(cmd.Words) > 0 && has(" export declare typeset readonly local env ", cmd.Words[0].Text) {
		words = append(slices.Clone(words), cmd.Words[1:]...)
	}
	for _, w := range words {
		name, value, _ := strings.Cut(w.Text, "=")
		isCode := name == "ENV" || name == "BASH_ENV" || strings.HasPrefix(name, "BASH_ALIASES") || len(name) == 3 && strings.HasPrefix(name, "PS") ||
			slices.ContainsFunc(codeVariables, func(part string) bool { return strings.Contains(strings.ToUpper(name), part) })
		if isCode && value != "" {
			l.runsFile(Word{Text: value, Span: w.Span}, Word{Text: "sh"}, cmd)
			l.addScript(name, value, w.Span)
		}
	}
}

// changeDir follows cd.
func (l *line) changeDir(name string, cmd *Command) {
	if words := texts(cmd.Words); (name == "builtin" || name == "command") && len(words) > 1 && has(" cd chdir pushd popd ", words[1]) {
		name, cmd = words[1], &Command{Words: cmd.Words[1:], Before: cmd.Before}
	}
	if !has(" cd chdir pushd popd ", name) {
		return
	}
	l.mayBeIn(l.dir)
	to := ""
	if name != "popd" && name != "pushd" && len(cmd.Words) == 1 {
		to = "~"
	}
	for _, w := range cmd.Words[1:] {
		switch {
		case w.Dynamic && strings.Contains(w.Text, "/"): // $(pwd)/x
			l.mayBeIn(joinDir(l.dir, w.Text))
		case !w.Dynamic && !strings.HasPrefix(w.Text, "-"):
			to = w.Text
		}
	}
	if to == "" || cmd.Before == Or || cmd.Before == Pipe || l.dir == "" && volumeOf(to) == "" {
		l.dir = ""
		return
	}
	if l.dir = joinDir(l.dir, to); len(l.dir) > maxDir {
		l.dir = ""
	}
}

// runs reads the code that a command runs.
func (l *line) runs(name string, cmd *Command) {
	words := cmd.Words[1:]
	skip, wraps := operandsBefore(name)
	wraps = wraps && programs.RunsCode(texts(cmd.Words))
	if len(words) > 0 && (words[0].Text == "compose" || words[0].Text == "container") {
		skip++
	}
	switch {
	case isShell(name) && l.runsShell(name, cmd):
		if has(otherShells, name) { // fish --command='…'
			l.options(name, cmd)
		}
	case name == "command" && programs.HasOption(texts(cmd.Words[:min(2, len(cmd.Words))]), "v", "V"): // only prints a path
	case name == "source" || name == ".":
		if len(words) > 0 && words[0].Dynamic {
			l.unread(words[0].Span, "a shell runs text that is known only at run time")
		} else if len(words) > 0 {
			l.scriptFile(words[0], cmd)
		}
	case name == "trap":
		if words = afterDashes(words); len(words) > 0 {
			l.script(words[0], cmd)
		}
	case name == "apply_patch" || name == "applypatch",
		l.stdin.kind == hereInput && (name == "patch" || name == "git" && len(words) > 0 && words[0].Text == "apply"):
		l.patches(cmd)
	case name == "alias":
		for _, w := range words {
			if _, value, ok := strings.Cut(w.Text, "="); ok {
				l.scriptText(value+" $_", w, cmd) // with the words after its name
			}
		}
	case name == "env" && l.splitString(cmd):
	case name == "find" || name == "fd" || name == "fdfind":
		l.found(cmd)
	case (name == "powershell" || name == "pwsh" || name == "cmd") && l.runsScript(name, cmd):
	case name == "su":
		for i, w := range words {
			if i > 0 && has(" -c --command --session-command ", words[i-1].Text) {
				l.script(w, cmd)
			}
		}
		l.input(cmd)
		l.options(name, cmd) // su -c'…'
	case name == "eval":
		l.joined(afterDashes(words), cmd)
	case name == "xargs":
		l.xargs(cmd)
	case has(" newgrp at batch ", name):
		l.input(cmd)
		l.options(name, cmd)
	case has(" parallel sem env_parallel ", name) && !slices.ContainsFunc(words, func(w Word) bool { return strings.HasPrefix(w.Text, ":::") }):
		more := *cmd
		more.Words = append(slices.Clone(cmd.Words), l.inputWords(cmd)...)
		l.wrapped(0, &more)
	case wraps:
		if (name == "ssh" || name == "rsh") && operandCount(words) <= 1 {
			l.input(cmd) // of the shell on the host
		}
		isCertain := l.wrapped(skip, cmd)
		_, effect := programs.ExecutingOption(texts(cmd.Words))
		if isCertain && (programs.IsPlainWrapper(name) || effect != programs.Executes && has(" docker podman nerdctl kubectl oc ", name)) {
			return // its other words are text
		}
		if effect == programs.Executes || !has(joiners, name) { // whose words were read
			l.options(name, cmd)
		}
	default:
		l.options(name, cmd)
		for i, w := range words[:max(0, len(words)-1)] { // of a program that no table knows
			if isShell(programs.ProgramName(w.Text, false)) && strings.HasPrefix(words[i+1].Text, "-") && !programs.IsKnown(name) {
				l.command(words[i:], cmd)
				break
			}
		}
	}
}

// operandCount returns how many words are neither options nor what follows one.
func operandCount(words []Word) (n int) {
	for i, w := range words {
		isOption := func(w Word) bool { return strings.HasPrefix(w.Text, "-") }
		if !isOption(w) && (i == 0 || !isOption(words[i-1])) {
			n++
		}
	}
	return n
}

// RunsElsewhere reports whether a command runs in another file system, by a program such as ssh or docker.
func (c *Call) RunsElsewhere(cmd *Command) bool {
	for cmd.By >= 0 {
		if cmd = &c.Commands[cmd.By]; has(elsewhere, cmd.name()) {
			return true
		}
	}
	return false
}

func afterDashes(words []Word) []Word {
	if len(words) > 0 && words[0].Text == "--" {
		return words[1:]
	}
	return words
}

// patches reads the patch in the argument or the input of apply_patch.
func (l *line) patches(cmd *Command) {
	outer, from := l.c.Dir, len(l.c.Files)
	l.c.Dir = l.dir
	defer func() {
		l.c.Dir = outer
		for i := range l.c.Files[from:] {
			l.c.Files[from+i].Command = cmd.index
		}
	}()
	switch {
	case len(cmd.Words) > 1 && l.stdin.kind != hereInput:
		l.c.readPatch(cmd.Words[len(cmd.Words)-1].Text, cmd.Words[len(cmd.Words)-1].Span)
	case l.stdin.kind == hereInput:
		l.c.readPatch(l.stdin.script.Text, l.stdin.script.Span)
	default:
		l.unread(cmd.Span, "the patch can't be read")
	}
}

// splitString reads the command in env -S. It reports whether there is one.
func (l *line) splitString(cmd *Command) bool {
	for i, w := range cmd.Words[1:] {
		text, found := strings.CutPrefix(w.Text, "--split-string=")
		switch {
		case found:
		case w.Text == "--split-string" || strings.HasPrefix(w.Text, "-") && !strings.HasPrefix(w.Text, "--") && strings.HasSuffix(w.Text, "S"):
			text = strings.Join(texts(cmd.Words[i+2:]), " ")
		case strings.HasPrefix(w.Text, "-") && !strings.HasPrefix(w.Text, "--") && strings.Contains(w.Text, "S"):
			text = w.Text[strings.Index(w.Text, "S")+1:] + " " + strings.Join(texts(cmd.Words[i+2:]), " ")
		default:
			continue
		}
		l.scriptText(strings.NewReplacer(`\_`, " ", `\t`, " ", `\n`, " ").Replace(text), w, cmd)
		return true
	}
	return false
}

// runsShell reads the script of sh -c, and of its input. It reports whether the shell runs one.
func (l *line) runsShell(name string, cmd *Command) bool {
	words := cmd.Words[1:]
	if (name == "busybox" || name == "toybox") && (len(words) == 0 || !has(shells, words[0].Text)) {
		return false
	}
	takesScript, readsInput, values := false, false, 0
	for i := range words {
		w := &words[i]
		isOption := len(w.Text) > 1 && (w.Text[0] == '-' || w.Text[0] == '+')
		switch {
		case values > 0:
			values--
			if w.Dynamic {
				l.unread(w.Span, "a shell runs text that is known only at run time")
			}
		case w.Text == "--rcfile" || w.Text == "--init-file":
			values++
		case isOption && !strings.HasPrefix(w.Text, "--"):
			takesScript = takesScript || strings.Contains(w.Text, "c")
			readsInput = readsInput || strings.Contains(w.Text, "s")
			values += strings.Count(w.Text, "o") + strings.Count(w.Text, "O") // -o pipefail
		case isOption, w.Text == "-", has(shells, w.Text) && !takesScript:
		case takesScript:
			l.script(*w, cmd)
			return true
		case readsInput:
			l.input(cmd)
			return true
		case w.Dynamic:
			l.unread(w.Span, "a shell runs text that is known only at run time")
			return true
		default:
			l.scriptFile(*w, cmd)
			return true
		}
	}
	if takesScript { // xargs adds it
		l.unread(cmd.Span, "a shell runs text that is known only at run time")
		return true
	}
	l.input(cmd)
	return true
}

// scriptFile reads a script in a file.
func (l *line) scriptFile(w Word, cmd *Command) {
	switch {
	case has(" /dev/stdin /dev/fd/0 /proc/self/fd/0 ", w.Text):
		l.input(cmd)
	case strings.HasPrefix(w.Text, "/dev/") || strings.HasPrefix(w.Text, "/proc/"):
		l.unread(w.Span, "a shell runs input that is known only at run time")
	default:
		l.runsFile(w, cmd.Words[0], cmd)
	}
}

// script reads a word as the script of a shell.
func (l *line) script(w Word, by *Command) { l.scriptText(w.Text, w, by) }

func (l *line) scriptText(text string, w Word, by *Command) {
	if l.c.scriptBytes += len(text) + 64; l.c.scriptBytes > maxScriptBytes {
		l.tooOften(w.Span)
		return
	}
	if strings.Contains(text, "{}") { // xargs and find put a name there
		l.unread(w.Span, "a shell runs text that is known only at run time")
	}
	if name := by.name(); has(otherShells, name) && strings.ContainsAny(text, "$`(){}[]\\^%!#=~") {
		l.unread(w.Span, "it has a script of %s, whose language is not read", name)
	}
	if w.Dynamic {
		if strings.Trim(text, Expansion+"\"' ") == "" {
			l.unread(w.Span, "a shell runs text that is known only at run time")
			return
		}
		text = strings.ReplaceAll(w.withVariables(text), Expansion, "$_") // any variable
	}
	inner := &line{c: l.c, text: text, at: l.inside(text, w), by: by.index, adds: -1, depth: max(l.depth, by.Depth) + 1, dir: l.dir, stdin: l.stdin, assigned: map[string]bool{}}
	inner.read(RunBy)
	if by.name() == "eval" && inner.dir != l.dir {
		l.mayBeIn(l.dir)
		l.dir = inner.dir
	}
}

// name returns the program of a command, or "" if it has only assignments or redirects.
func (cmd *Command) name() string {
	if len(cmd.Words) == 0 {
		return ""
	}
	return programs.ProgramName(cmd.Words[0].Text, false)
}

// mayWrap reports whether the words may be read as a command of another one: not too many were.
func (l *line) mayWrap(words []Word) bool {
	l.c.wrapped += len(words)
	if l.c.wrapped > maxWrapped {
		l.tooOften(words[0].Span)
	}
	return l.c.wrapped <= maxWrapped
}

func (l *line) tooOften(at Span) {
	const reason = "it runs commands by other commands too often"
	if n := len(l.c.Unread); n == 0 || l.c.Unread[n-1].Reason != reason {
		l.unread(at, reason)
	}
}

// joined reads words that a program joins into one line.
func (l *line) joined(words []Word, by *Command) {
	if len(words) > 0 {
		l.script(join(words), by)
	}
}

func join(words []Word) (line Word) {
	line.Text = strings.Join(texts(words), " ")
	for i, w := range words {
		if i == 0 {
			line.Span = w.Span
		}
		line.Dynamic = line.Dynamic || w.Dynamic || w.Pattern
		line.Span.To = w.Span.To
	}
	return line
}

// wrapped reads the command in the operands of another. Where an option may take the next word as its
// value, both readings count. It reports whether one word is certainly the command.
func (l *line) wrapped(skip int, cmd *Command) bool {
	name, afterOption := cmd.name(), false
	for i := 1; i < len(cmd.Words); i++ {
		w := cmd.Words[i]
		switch {
		case w.Text == "--":
			afterOption = false
			continue
		case len(w.Text) > 1 && w.Text[0] == '-':
			afterOption = !strings.Contains(w.Text, "=")
			continue
		case isAssignment(w.Text), strings.Contains(w.Text, "=") && name == "env":
			continue
		}
		mayBeOperand := afterOption || skip > 0 || strings.Trim(w.Text, "0123456789.smhdkKMG%,-") == ""
		switch {
		case mayBeOperand && w.Splits && skip > 0 && !has(wrappersWithFiles, name):
			l.unread(w.Span, "the program is known only at run time")
		case mayBeOperand && (w.Dynamic || w.Pattern):
		case has(joiners, name):
			if !l.mayWrap(cmd.Words[i:]) {
				return false
			}
			l.joined(cmd.Words[i:], cmd)
		default:
			l.command(cmd.Words[i:], cmd)
		}
		if !mayBeOperand {
			return true
		}
		if !afterOption {
			skip--
		}
		afterOption = false
	}
	return false
}

func isAssignment(text string) bool {
	name, _, ok := strings.Cut(text, "=")
	return ok && name != "" && !strings.ContainsAny(name, "-/.\\"+Expansion)
}

// command adds words as a command that another one runs.
func (l *line) command(words []Word, by *Command) {
	if !l.mayWrap(words) {
		return
	}
	inner := *l
	inner.depth++
	inner.by = by.index
	inner.add(Command{Words: slices.Clone(words), Before: RunBy, Span: by.Span})
}

// found reads the commands that find runs on its results.
func (l *line) found(cmd *Command) {
	for i := 1; i < len(cmd.Words); i++ {
		if cmd.Words[i].isMany {
			l.unread(cmd.Words[i].Span, "what it runs is known only at run time")
		}
		switch option, program, _ := strings.Cut(cmd.Words[i].Text, "="); option {
		case "-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch":
			from := i + 1
			for i++; i < len(cmd.Words) && cmd.Words[i].Text != ";" && cmd.Words[i].Text != "+"; i++ {
			}
			words := slices.Clone(cmd.Words[min(from, len(cmd.Words)):min(i, len(cmd.Words))])
			if program != "" { // fd --exec=rm
				words = slices.Insert(words, 0, Word{Text: program, Span: cmd.Words[from-1].Span})
			}
			if len(words) > 0 {
				l.command(words, cmd)
			}
		}
	}
}
