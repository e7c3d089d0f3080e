package call

import (
	"slices"
	"strings"

	"github.com/hookback/hookback/agentclient/policy/programs"
)

// How programs run what their words say. Everything else that programs.RunsCode knows runs code in
// another language, or names it.
const (
	shells = " sh bash zsh dash ksh ash fish rbash busybox toybox "
	// wrappers run the command in their operands, after as many operands as the number says.
	wrappers = ` sudo doas pkexec run0 gsudo runuser nohup setsid nice ionice timeout:1 gtimeout:1 time stdbuf unbuffer caffeinate chronic
 env xargs strace ltrace valgrind perf:1 flock:1 watch entr script screen tmux:1 systemd-run systemd-inhibit setpriv unshare nsenter chroot:1 capsh
 firejail bwrap proot fakeroot setarch linux32 linux64 catchsegv rlwrap dotenv cross-env concurrently aws-vault:2 chamber:2 op:1 doppler:1 direnv:2
 chrt:1 taskset:1 exec command builtin coproc busybox toybox ssh:1 rsh:1 mosh:1 autossh:1 sshpass pssh adb:1 parallel npx bunx pnpx uvx nix-shell watchexec nodemon
 docker:2 podman:2 nerdctl:2 docker-compose:2 podman-compose:2 kubectl:2 oc:2 crictl:2 ctr:2 lxc:2 multipass:2 vagrant:1 heroku:1 ip:3
 npm:1 pnpm:1 bun:1 go:1 cargo:1 dotnet:1 bundle:1 mise:1 asdf:1 conda:1 mamba:1 poetry:1 pipenv:1 uv:1 rye:1 hatch:1 pdm:1 pipx:1 nix:1 stack:1 cabal:1
 wsl wine runas `
	// joiners run all their operands as one line.
	joiners = " ssh rsh watch parallel autossh adb concurrently wsl "
	// evaluators are builtins that evaluate the index of a variable in their words.
	evaluators = " test [ unset read printf mapfile readarray getopts wait let "
)

func has(list, name string) bool { return name != "" && strings.Contains(list, " "+name+" ") }

func texts(words []Word) []string {
	all := make([]string, len(words))
	for i, w := range words {
		all[i] = w.Text
	}
	return all
}

// operandsBefore returns how many operands a wrapper has before the command.
func operandsBefore(name string) (n int, ok bool) {
	for _, w := range strings.Fields(wrappers) {
		program, count, counted := strings.Cut(w, ":")
		if program == name {
			if counted {
				n = int(count[0] - '0')
			}
			return n, true
		}
	}
	return 0, false
}

// add adds a command, and those that it runs.
func (l *line) add(cmd Command) {
	cmd.Shell, cmd.Depth, cmd.Dir = POSIX, l.depth, l.dir
	if len(l.c.Commands) == maxCommands {
		l.unread(cmd.Span, "it runs more than %d commands", maxCommands)
	}
	if len(l.c.Commands) >= maxCommands || l.depth > maxScripts+maxNesting {
		return
	}
	l.c.Commands = append(l.c.Commands, cmd)
	if len(cmd.Words) == 0 {
		return
	}
	program := cmd.Words[0]
	if program.Dynamic || program.Pattern && program.Text != "[" {
		l.unread(program.Span, "the program is known only at run time")
		return
	}
	name := programs.ProgramName(program.Text, false)
	if has(evaluators, name) && slices.ContainsFunc(cmd.Words[1:], func(w Word) bool { return strings.Contains(w.Text, "[") }) {
		l.evaluates = true
	}
	l.operandFiles(name, &cmd)
	l.changeDir(name, &cmd)
	l.runs(name, &cmd)
}

// changeDir follows cd.
func (l *line) changeDir(name string, cmd *Command) {
	if name != "cd" && name != "pushd" && name != "popd" {
		return
	}
	to := ""
	for _, w := range cmd.Words[1:] {
		if !w.Dynamic && !w.Pattern && !strings.HasPrefix(w.Text, "-") {
			to = w.Text
		}
	}
	if to == "" || cmd.Before == Or || cmd.Before == Pipe || l.dir == "" && !strings.HasPrefix(to, "/") {
		l.dir = ""
		return
	}
	l.dir = joinDir(l.dir, to)
}

// runs reads the code that a command runs.
func (l *line) runs(name string, cmd *Command) {
	words := cmd.Words[1:]
	skip, wraps := operandsBefore(name)
	wraps = wraps && programs.RunsCode(texts(cmd.Words))
	switch {
	case has(shells, name) && l.runsShell(name, cmd):
	case name == "source" || name == ".":
		if len(words) > 0 && words[0].Dynamic {
			l.unread(words[0].Span, "a shell runs text that is known only at run time")
		} else if len(words) > 0 && (strings.HasPrefix(words[0].Text, "/dev/") || strings.HasPrefix(words[0].Text, "/proc/")) {
			l.input(cmd)
		}
	case name == "trap" && len(words) > 0:
		l.script(words[0], cmd)
	case name == "alias":
		for _, w := range words {
			if _, value, ok := strings.Cut(w.Text, "="); ok {
				l.scriptText(value, w, cmd)
			}
		}
	case name == "find" || name == "fd" || name == "fdfind":
		l.found(cmd)
	case name == "eval":
		l.joined(words, cmd)
	case has(joiners, name):
		l.joined(words, cmd)
		fallthrough
	case wraps:
		l.wrapped(skip, cmd)
		l.options(name, cmd)
	default:
		l.options(name, cmd)
	}
}

// runsShell reads the script of sh -c, and of its input. It reports whether the shell runs one.
func (l *line) runsShell(name string, cmd *Command) bool {
	words := cmd.Words[1:]
	if (name == "busybox" || name == "toybox") && (len(words) == 0 || !has(shells, words[0].Text)) {
		return false
	}
	takesScript := false
	for i := range words {
		w := &words[i]
		isOption := len(w.Text) > 1 && (w.Text[0] == '-' || w.Text[0] == '+')
		switch {
		case isOption && !strings.HasPrefix(w.Text, "--") && strings.Contains(w.Text, "c"):
			takesScript = true
		case isOption, w.Text == "-", has(shells, w.Text) && !takesScript:
		case takesScript:
			l.script(*w, cmd)
			return true
		case w.Dynamic:
			l.unread(w.Span, "a shell runs text that is known only at run time")
			return true
		case strings.HasPrefix(w.Text, "/dev/") || strings.HasPrefix(w.Text, "/proc/"):
			l.input(cmd)
			return true
		default:
			return true // a file
		}
	}
	l.input(cmd)
	return true
}

// input reads what a shell reads from its standard input.
func (l *line) input(cmd *Command) {
	switch l.stdin.kind {
	case hereInput:
		l.script(l.stdin.script, cmd)
	case unknownInput:
		l.unread(cmd.Span, "a shell runs input that is known only at run time")
	case pipeInput:
		for i := l.stdin.from; i < l.stdin.to; i++ {
			l.pipedFrom(&l.c.Commands[i], cmd)
		}
	}
}

// quiet are builtins without output.
const quiet = " cd true false : test [ export unset read local declare readonly typeset shift return exit trap set "

// pipedFrom reads what a command writes into a pipe that a shell runs.
func (l *line) pipedFrom(writer, shell *Command) {
	if len(writer.Words) == 0 {
		return
	}
	words := writer.Words[1:]
	switch name := programs.ProgramName(writer.Words[0].Text, false); {
	case has(quiet, name):
		return
	case name == "echo":
		for len(words) > 0 && strings.HasPrefix(words[0].Text, "-") && strings.Trim(words[0].Text, "-neE") == "" {
			words = words[1:]
		}
		if !slices.ContainsFunc(words, func(w Word) bool { return strings.Contains(w.Text, `\`) }) {
			l.joined(words, shell)
			return
		}
	case name == "printf" && len(words) == 1 && !strings.ContainsAny(words[0].Text, `\%`):
		l.script(words[0], shell)
		return
	case name == "cat" && len(words) == 0:
		for i := range writer.Redirects {
			if r := &writer.Redirects[i]; strings.HasPrefix(r.Op, "<<") {
				l.script(r.Target, shell)
				return
			}
		}
	}
	l.unread(shell.Span, "a shell runs the output of another command")
}

// script reads a word as the script of a shell.
func (l *line) script(w Word, by *Command) { l.scriptText(w.Text, w, by) }

func (l *line) scriptText(text string, w Word, by *Command) {
	if w.Dynamic {
		if strings.Trim(text, Expansion+"\"' ") == "" {
			l.unread(w.Span, "a shell runs text that is known only at run time")
			return
		}
		text = strings.ReplaceAll(text, Expansion, "$_") // a variable
	}
	inner := &line{c: l.c, text: text, at: w.Span, depth: max(l.depth, by.Depth) + 1, dir: l.dir, assigned: map[string]bool{}}
	inner.read(RunBy)
}

// joined reads words that a program joins into one line.
func (l *line) joined(words []Word, by *Command) {
	if len(words) == 0 {
		return
	}
	line := Word{Text: strings.Join(texts(words), " "), Span: words[0].Span}
	for _, w := range words {
		line.Dynamic = line.Dynamic || w.Dynamic
		line.Span.To = w.Span.To
	}
	l.script(line, by)
}

// wrapped reads the command in the operands of another. Where an option may take the next word as its
// value, both readings count.
func (l *line) wrapped(skip int, cmd *Command) {
	afterOption := false
	for i := 1; i < len(cmd.Words); i++ {
		w := cmd.Words[i]
		switch {
		case w.Text == "--":
			afterOption = false
			continue
		case len(w.Text) > 1 && w.Text[0] == '-':
			afterOption = !strings.Contains(w.Text, "=")
			continue
		case isAssignment(w.Text):
			continue
		}
		mayBeOperand := afterOption || skip > 0 || strings.Trim(w.Text, "0123456789.smhdkKMG%,-") == ""
		if !mayBeOperand || !w.Dynamic && !w.Pattern {
			l.command(cmd.Words[i:], cmd)
		}
		if !mayBeOperand {
			return
		}
		if !afterOption {
			skip--
		}
		afterOption = false
	}
}

func isAssignment(text string) bool {
	name, _, ok := strings.Cut(text, "=")
	return ok && name != "" && !strings.ContainsAny(name, "-/.\\"+Expansion)
}

// command adds words as a command that another one runs.
func (l *line) command(words []Word, by *Command) {
	inner := *l
	inner.depth++
	inner.add(Command{Words: slices.Clone(words), Before: RunBy, Span: by.Span})
}

// found reads the commands that find runs on its results.
func (l *line) found(cmd *Command) {
	for i := 1; i < len(cmd.Words); i++ {
		switch cmd.Words[i].Text {
		case "-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch":
			from := i + 1
			for i++; i < len(cmd.Words) && cmd.Words[i].Text != ";" && cmd.Words[i].Text != "+"; i++ {
			}
			if words := cmd.Words[min(from, len(cmd.Words)):min(i, len(cmd.Words))]; len(words) > 0 {
				l.command(words, cmd)
			}
		}
	}
}

// options reads the words that a program may run because of one of its options, or because it runs
// what its words say, as an interpreter. Other words with more than a name in them are text.
func (l *line) options(name string, cmd *Command) {
	all := texts(cmd.Words)
	_, effect := programs.ExecutingOption(all)
	runs := effect == programs.Executes || programs.RunsCode(all) || name == "git" && slices.Contains(all, "config")
	isCode := func(text string) bool { return strings.ContainsAny(text, " \t\n;&|()!") }
	for _, w := range cmd.Words[1:] {
		switch text := w.Text; {
		case !runs && w.IsQuoted && isCode(text):
			l.c.Texts = append(l.c.Texts, w.Span)
		case runs && isCode(text):
			l.c.Scripts = append(l.c.Scripts, Script{name, text, w.Span})
		}
	}
	for i := range cmd.Redirects {
		if r := &cmd.Redirects[i]; strings.HasPrefix(r.Op, "<<") {
			if runs {
				l.c.Scripts = append(l.c.Scripts, Script{name, r.Target.Text, r.Target.Span})
			} else {
				l.c.Texts = append(l.c.Texts, r.Target.Span)
			}
		}
	}
}
