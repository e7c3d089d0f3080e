package call

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/hookback/hookback/agentclient/call/programs"
)

// writtenFile is a file that a call writes, and may run: its text is a script then. Files are compared
// by their base names, because the directory may be unknown.
type writtenFile struct {
	parts     []Word // the text, one part for each command that writes some of it
	source    Word   // of a copy or a link
	isUnknown bool   // some of the text is unknown
	inPath    bool   // the name has a directory, which PATH may have too
}

// interpreters run a file that is one of their operands, or their input.
const interpreters = " python node deno ruby perl php lua luajit R Rscript julia groovy scala kotlin swift tclsh wish expect java elixir osascript " +
	"ts-node tsx esno bun go cargo dotnet pytest make gmake just psql mysql sqlite3 gdb lldb at crontab awk gawk mawk sed gsed systemctl vim vi ed ex emacs powershell pwsh "

// impliedFiles are the files that a program runs without an operand.
var impliedFiles = map[string]string{
	"task": "Taskfile.yml Taskfile.yaml", "rake": "Rakefile", "pip": "setup.py", "cmake": "CMakeLists.txt", "direnv": ".envrc", "foreman": "Procfile",
	"vite": "vite.config.*", "vitest": "*.config.*", "webpack": "webpack.config.*", "jest": "jest.config.*", "eslint": "eslint.config.* .eslintrc.*",
	"make": "Makefile makefile GNUmakefile", "gmake": "Makefile GNUmakefile", "just": "justfile", "npm": "package.json", "pnpm": "package.json",
	"yarn": "package.json", "bun": "package.json", "pytest": "conftest.py", "cargo": "build.rs",
	"git": "pre-commit commit-msg prepare-commit-msg post-commit pre-push post-checkout post-merge pre-rebase post-rewrite config .gitconfig",
}

// writes keeps the text that a command writes into files.
func (l *line) writes(name string, cmd *Command) {
	for i := range cmd.Redirects {
		r := &cmd.Redirects[i]
		if strings.Contains(r.Op, ">") && (r.Op != ">&" || !isNumber(r.Target.Text)) {
			text, known := output(cmd)
			l.write(r.Target, text, known && (r.FD == "" || r.FD == "1"))
		}
	}
	if len(cmd.Words) == 0 {
		return
	}
	operands, _ := operandsOf(cmd.Words[1:])
	switch {
	case name == "tee" || name == "sponge":
		text, known := l.inputText()
		for _, w := range operands {
			l.write(w, text, known)
		}
	case name == "curl" || name == "wget" || name == "sort":
		for _, w := range cmd.Words[1:] {
			w.Text = strings.TrimPrefix(strings.TrimPrefix(w.Text, "-o"), "-O")
			l.write(w, Word{}, false)
		}
	case name == "npm" && len(cmd.Words) > 2 && cmd.Words[1].Text == "pkg":
		l.write(Word{Text: "package.json"}, join(cmd.Words[2:]), true)
	case name == "find":
		for i, w := range cmd.Words[1:] {
			if strings.HasPrefix(cmd.Words[i].Text, "-fprint") {
				l.write(w, Word{}, false)
			}
		}
	case name == "dd":
		var from Word
		for _, w := range operands {
			if file, ok := strings.CutPrefix(w.Text, "if="); ok {
				from = Word{Text: file, Dynamic: w.Dynamic, Span: w.Span}
			} else if file, ok := strings.CutPrefix(w.Text, "of="); ok {
				l.copies(from, Word{Text: file, Span: w.Span})
			}
		}
	case has(" cp mv ln install link rsync ", name) && len(operands) > 1:
		for _, w := range operands[:len(operands)-1] {
			l.copies(w, operands[len(operands)-1])
		}
	}
}

func isNumber(text string) bool { return text != "" && strings.Trim(text, "0123456789-") == "" }

func (l *line) copies(from, to Word) {
	if from.Text == "" || from.Text == "/dev/stdin" || from.Text == "-" {
		text, known := l.inputText()
		l.write(to, text, known)
	} else if f := l.written(to); f != nil && path.Base(from.Text) != path.Base(to.Text) {
		if f.source = from; !strings.Contains(from.Text, "/") {
			f.source.Text = "./" + from.Text
		}
	}
}

func (l *line) write(to, text Word, known bool) {
	if f := l.written(to); f != nil {
		f.parts = append(f.parts, text)
		f.isUnknown = f.isUnknown || !known
	}
}

// written returns the known content of a file, or nil if it is no file that can run.
func (l *line) written(to Word) *writtenFile {
	name := path.Base(to.Text)
	if to.Text == "" || strings.HasPrefix(to.Text, "/dev/") || len(l.c.written) >= maxCommands {
		return nil
	}
	if l.c.written == nil {
		l.c.written = map[string]*writtenFile{}
	}
	if l.c.written[name] == nil {
		l.c.written[name] = &writtenFile{}
	}
	f := l.c.written[name]
	f.inPath = f.inPath || strings.Contains(to.Text, "/")
	if l.c.ran[name] && !strings.Contains(name, Expansion) {
		l.unread(to.Span, "it changes a file that it runs")
	}
	return f
}

// inputText returns the text in the standard input, if it is known.
func (l *line) inputText() (text Word, known bool) {
	switch {
	case l.stdin.kind == hereInput:
		return l.stdin.script, true
	case l.stdin.kind == pipeInput && l.stdin.to == l.stdin.from+1:
		return output(&l.c.Commands[l.stdin.from])
	}
	return text, false
}

// runsFiles reads the text that the call wrote into the files that a command runs. A program runs its own file.
func (l *line) runsFiles(name string, cmd *Command) {
	program := cmd.Words[0]
	if strings.Contains(program.Text, "/") && !program.Dynamic && volumeOf(program.Text) == "" {
		l.addMayBe(l.dir, program, ReadFile)
	}
	if f := l.c.written[path.Base(program.Text)]; strings.Contains(program.Text, "/") || f != nil && (f.inPath || l.assigned["PATH"]) {
		l.runsFile(program, program, cmd)
	}
	if name == "npm" && slices.Contains(texts(cmd.Words), "pkg") { // which changes its file
		return
	}
	for implied := range strings.FieldsSeq(impliedFiles[name]) {
		l.runsFile(Word{Text: implied, Pattern: strings.Contains(implied, "*"), Span: program.Span}, program, cmd)
	}
	if !has(interpreters, name) || name == "go" && !programs.RunsCode(texts(cmd.Words)) {
		return
	}
	if name == "go" {
		l.runsFile(Word{Text: "*.go", Pattern: true, Span: program.Span}, program, cmd)
	}
	for _, w := range cmd.Words[1:] {
		l.runsFile(w, program, cmd)
		if suffix := map[string]string{"python": ".py", "systemctl": ".service"}[name]; suffix != "" { // python -m
			w.Text += suffix
			l.runsFile(w, program, cmd)
		}
	}
	for i := range cmd.Redirects {
		if r := &cmd.Redirects[i]; r.Op == "<" {
			l.runsFile(r.Target, program, cmd)
		}
	}
}

// runsFile reads the text of a file that a program runs, if the call wrote it before.
func (l *line) runsFile(file, program Word, by *Command) {
	key := path.Base(file.Text)
	f := l.c.written[key]
	if file.Pattern || key == "{}" {
		for _, name := range slices.Sorted(maps.Keys(l.c.written)) {
			if matches, _ := path.Match(key, name); (matches || key == "{}") && name != key {
				l.runsFile(Word{Text: name, Span: file.Span}, program, by)
			}
		}
	}
	if f == nil {
		if l.c.ran == nil {
			l.c.ran = map[string]bool{}
		}
		l.c.ran[key] = true
		return
	}
	isItself := file.Text == program.Text
	if f.source.Text != "" && isItself {
		l.command(append([]Word{f.source}, by.Words[1:]...), by)
	} else if f.source.Text != "" && by.Depth < maxScripts {
		inner := *l
		inner.depth++
		inner.runsFile(f.source, program, by)
	}
	if f.isUnknown && strings.Trim(key, Expansion) != "" {
		l.unread(file.Span, "it runs a file that it writes")
	}
	all := f.parts
	if len(all) > 1 {
		all = append([]Word{joinParts(f.parts)}, f.parts...)
	}
	for _, part := range all {
		l.runsText(part, isItself, programs.ProgramName(program.Text, false), by)
	}
}

// runsText reads the text of a file that a program runs, or which is the program.
func (l *line) runsText(text Word, isItself bool, name string, by *Command) {
	if first, _, _ := strings.Cut(text.Text, "\n"); isItself && strings.HasPrefix(first, "#!") {
		words := strings.Fields(first[2:])
		name = programs.ProgramName(words[max(0, len(words)-1)], false)
		isItself = isShell(name)
	}
	if isItself || isShell(name) || name == "source" || name == "." || name == "git" {
		l.script(text, by)
		return
	}
	l.addScript(name, text.Text, text.Span)
}

func joinParts(parts []Word) (all Word) {
	all.Span = parts[0].Span
	for _, part := range parts {
		all.Text += part.Text
		all.Dynamic = all.Dynamic || part.Dynamic
	}
	return all
}
