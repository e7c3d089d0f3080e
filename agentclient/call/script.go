package call

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/hookback/hookback/agentclient/call/programs"
)

// Code of programs that is not read, and what of it runs no other program.

// filters are programs whose first operand is a script.
const filters = " awk gawk mawk nawk sed gsed "

// isFilter reports whether all scripts in a command of sed or awk only filter text, and so run no program.
func isFilter(cmd *Command) bool {
	found := scriptsOf(cmd.name(), cmd.Words[1:], true)
	isEach := func(is func(text string) bool) bool {
		for i, w := range cmd.Words[1:] {
			text, isCode := found.code[i]
			if !isCode {
				text = w.Text
			}
			if (isCode || w.Dynamic || strings.ContainsAny(text, " \t\n;&|()!")) && !is(text) {
				return false
			}
		}
		return len(found.files) == 0
	}
	switch name := cmd.name(); {
	case name == "python":
		return len(cmd.Words) > 2 && cmd.Words[1].Text == "-m" && cmd.Words[2].Text == "json.tool"
	case strings.HasSuffix(name, "awk"):
		return isEach(func(text string) bool {
			text = strings.ReplaceAll(text, "||", "")
			return !strings.ContainsAny(text, "|@\x00") && !strings.Contains(text, "system") && !strings.Contains(text, "getline") && !strings.Contains(text, "load") &&
				!strings.Contains(strings.Join(strings.Fields(text), ""), `>"`) // print > "file"
		})
	case has(filters, name):
		return isEach(sedFilter().MatchString)
	}
	return false
}

// isSQL reports whether a text for a database client is SQL that runs no program.
func isSQL(client, text string) bool {
	if !has(" psql mysql mariadb sqlite3 duckdb sqlcmd clickhouse-client ", client) || strings.ContainsAny(text, "\\\x00") {
		return false
	}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && strings.IndexByte(".:!", line[0]) >= 0 { // a command of the client
			return false
		}
	}
	lower := strings.ToLower(strings.ToUpper(text))
	return !slices.ContainsFunc(sqlPrograms, func(part string) bool { return strings.Contains(lower, part) })
}

// sqlPrograms are parts of SQL that may run a program, and of commands of the clients.
var sqlPrograms = []string{"program", "system", "shell", "edit", "load", "exec", "source", "xp_", "script", "pager", "tee"}

// sedFilter matches scripts of s/a/b/, of texts to add and of commands such as /a/p. Its regular expressions have no
// delimiter in brackets, where programs differ about the end.
var sedFilter = sync.OnceValue(func() *regexp.Regexp {
	expression := func(delimiter string) string {
		return strings.ReplaceAll(`(?:[^][\x00\\\nD]|\\[^\n]|\[\^?[^][\x00\\\nD]+\])*`, "D", delimiter)
	}
	replaces := ""
	for _, d := range []string{"/", "|", "#", ",", ":", "@", "%", "_", "+", "~"} {
		quoted := regexp.QuoteMeta(d)
		replaces += "|" + quoted + expression(d) + quoted + strings.ReplaceAll(`(?:[^\x00\\\nD]|\\[^\n])*`, "D", d) + quoted
	}
	address := `(?:[0-9]+|\$|/` + expression("/") + `/)`
	command := `(?:` + address + `(?:,(?:[+~][0-9]+|` + address + `))?)?\s*!?\s*(?:[pdqDPgGhHxnN=]|s(?:` + replaces[1:] + `)[gpiI0-9]*|y(?:` + replaces[1:] + `)|[aic](?:\\\n)?[^\x00\\\n]*)`
	return regexp.MustCompile(`^\s*` + command + `(?:\s*[;\n]\s*` + command + `)*\s*;?\s*$`)
})

// codeOption matches an option and its value, also attached, if the option has code in many programs.
var codeOption = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(^| )--?([ce]|eval|exec|execute|command|cmd|call|code|run|script|shell|up|down|(pre|post|on)-[\w-]+|[\w-]+-(hook|command|cmd|script|exec|filter|interpreter|eval))[ =]`)
})

// options reads the words that a program may run because of one of its options, or because it runs
// what its words say, as an interpreter. Other words with more than a name in them are text.
func (l *line) options(name string, cmd *Command) {
	all := texts(cmd.Words)
	option, effect := programs.ExecutingOption(all)
	runs := effect == programs.Executes || programs.RunsCode(all) || name == "git" && slices.Contains(all, "config")
	runs = runs && (effect == programs.Executes || !isFilter(cmd))
	isCode := func(text string) bool { return strings.ContainsAny(text, " \t\n;&|()!\"'`") }
	code := scriptsOf(name, cmd.Words[1:], has(filters, name)).code
	// names: the option has a program, as in --pre=rm and --pre rm.
	names := effect == programs.Executes && !strings.HasPrefix(option, "--git-dir") && !strings.HasPrefix(option, "--exec-path")
	for i, w := range cmd.Words[1:] {
		text, isScript := code[i]
		if !isScript {
			text = w.Text
		}
		switch {
		case !runs && w.IsQuoted && isCode(text) && codeOption().MatchString(cmd.Words[i].Text+" "+text) && !programs.IsKnown(name):
			l.addScript(name, text, w.Span)
		case name == "git" && strings.HasPrefix(strings.ToLower(text), "alias."):
			l.addScript(name, "git "+strings.Join(all[i+1:], " "), w.Span)
		case runs && (cmd.Words[i].Text == "-c" || cmd.Words[i].Text == "-e") && w.Dynamic && strings.Trim(text, Expansion+" ;\n") == "":
			l.unread(w.Span, "it runs code that is known only at run time")
		case !runs && w.IsQuoted && isCode(text):
			l.c.Texts = append(l.c.Texts, w.Span)
		case runs && (isScript || isCode(text)) && !isSQL(name, text),
			names && (text == option || cmd.Words[i].Text == option && !strings.Contains(option, "=")):
			l.addScript(name, text, w.Span)
			if has(shellRunners, name) || name == "npx" && has(" -c --call ", cmd.Words[i].Text) {
				l.script(Word{Text: withoutOption(text), Dynamic: w.Dynamic, Vars: w.Vars, Span: w.Span}, cmd)
			}
		case runs && w.IsProcess:
			l.outputScripts(name, w.Subs)
		}
	}
	if runs && l.stdin.kind == pipeInput {
		l.outputScripts(name, Range{l.stdin.from, l.stdin.to})
		isAll := len(all) == 1 || all[1] == "-"
		if _, known := l.inputText(); isAll && !known && has(" python node nodejs ruby perl php ", name) {
			l.unread(cmd.Span, "%s runs the output of another command", name)
		}
	}
	if name == "socat" && runs || has(" nc ncat netcat ", name) && programs.HasOption(all, "e", "c", "exec", "sh-exec", "lua-exec") ||
		slices.ContainsFunc(all, func(w string) bool { return strings.HasPrefix(w, "--config-env") }) {
		l.unread(cmd.Span, "what it runs is known only at run time")
	}
	if len(cmd.Redirects) == 0 && runs && l.stdin.kind == hereInput && !isSQL(name, l.stdin.script.Text) { // of sudo python
		l.addScript(name, l.stdin.script.Text, l.stdin.script.Span)
	}
	for i := range cmd.Redirects {
		if r := &cmd.Redirects[i]; strings.HasPrefix(r.Op, "<<") {
			if runs && !isSQL(name, r.Target.Text) {
				l.addScript(name, r.Target.Text, r.Target.Span)
			} else {
				l.c.Texts = append(l.c.Texts, r.Target.Span)
			}
		}
	}
}

// shellRunners run words with more than a name in them by a shell.
const shellRunners = " flock script nix-shell watchexec nodemon hyperfine chokidar onchange sg sbatch "

// withoutOption returns the value in --name=value or -nvalue, and other words as they are.
func withoutOption(text string) string {
	switch _, value, ok := strings.Cut(text, "="); {
	case strings.HasPrefix(text, "--") && ok:
		return value
	case strings.HasPrefix(text, "-") && len(text) > 2:
		return text[2:]
	default:
		return text
	}
}

func (l *line) addScript(program, text string, at Span) {
	l.c.Scripts = append(l.c.Scripts, Script{program, text, at, l.adds})
}

// outputScripts adds the texts that commands may write, which a program runs.
func (l *line) outputScripts(name string, writers Range) {
	for _, writer := range l.c.Commands[writers.From:writers.To] {
		all := slices.Clone(writer.Words)
		for i := range writer.Redirects {
			all = append(all, writer.Redirects[i].Target)
		}
		for _, w := range all {
			text := strings.NewReplacer(`\n`, "\n", `\t`, "\t").Replace(w.Text)
			if strings.ContainsAny(text, " \t\n;&|()!\"'`") && !isSQL(name, text) {
				l.addScript(name, text, w.Span)
			}
		}
	}
}
