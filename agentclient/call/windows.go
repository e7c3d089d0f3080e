package call

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/hookback/hookback/agentclient/call/programs"
)

// windowsReader splits a line of PowerShell or cmd.exe into statements and words. It knows their
// separators, quotes, escapes and variables; what else it meets is unread.
type windowsReader struct {
	*line
	shell   Shell
	pos     int
	words   []Word
	word    Word
	text    strings.Builder
	started bool
	from    int
	before  Operator

	redirects []Redirect
	isCall    bool  // after the call operator &
	piped     Range // commands that write to the next one
}

func (l *line) readWindows(sh Shell, before Operator) {
	if len(l.text) > maxLine || nesting(l.text) > maxNesting {
		l.unread(l.at, "the command is too long or nested too deeply")
		return
	}
	r := windowsReader{line: l, shell: sh, before: before}
	for r.pos < len(r.line.text) {
		c := r.line.text[r.pos]
		r.pos++
		r.next(c)
	}
	r.endCommand(None)
}

func (r *windowsReader) next(c byte) {
	text := r.line.text
	isPS := r.shell == PowerShell
	switch {
	case c == ' ' || c == '\t':
		r.endWord()
	case c == '\n' || c == '\r' || isPS && c == ';':
		r.endCommand(Sequence)
	case c == '&' || c == '|':
		op := Background
		if c == '|' {
			op = Pipe
		}
		if r.pos < len(text) && text[r.pos] == c {
			r.pos++
			op = map[byte]Operator{'&': And, '|': Or}[c]
		} else if c == '&' && isPS && !r.started && len(r.words) == 0 {
			if strings.HasPrefix(strings.TrimLeft(text[r.pos:], " "), "(") {
				r.unread(r.span(r.pos-1, r.pos), "the program is known only at run time")
			}
			r.isCall = true
			return
		} else if c == '&' && !isPS {
			op = Sequence
		}
		r.endCommand(op)
	case c == '(' || c == ')' || isPS && (c == '{' || c == '}'):
		r.endCommand(Sequence)
	case isPS && c == '<' && strings.HasPrefix(text[r.pos:], "#"):
		r.skipTo("#>")
		r.pos = min(r.pos+2, len(text))
	case c == '<' || c == '>':
		r.redirect(c)
	case isPS && c == '=' && r.isAssigned():
		r.endCommand(Sequence)
	case isPS && c == '#' && !r.started:
		r.skipTo("\n")
	case isPS && c == '@' && r.pos < len(text) && (text[r.pos] == '\'' || text[r.pos] == '"'):
		r.hereString(text[r.pos])
	case c == '"' || isPS && c == '\'':
		r.quoted(c)
	case isPS && c == '`' || !isPS && c == '^':
		if r.pos < len(text) {
			if text[r.pos] != '\n' {
				r.add(text[r.pos : r.pos+1])
			}
			r.pos++
		}
	case isPS && c == '$' || !isPS && (c == '%' || c == '!'):
		r.variable()
	case c >= 0x80:
		r.other()
	default:
		r.add(text[r.pos-1 : r.pos])
	}
}

// isAssigned reports whether the statement has only a variable so far.
func (r *windowsReader) isAssigned() bool {
	if len(r.words) == 1 && !r.started {
		return strings.HasPrefix(r.words[0].Text, Expansion) && !r.words[0].IsQuoted
	}
	return len(r.words) == 0 && strings.HasPrefix(r.text.String(), Expansion) && !r.word.IsQuoted
}

func (r *windowsReader) add(text string) {
	if !r.started {
		r.from = r.pos - 1
	}
	r.started = true
	r.text.WriteString(text)
}

// other reads a character outside of ASCII. PowerShell reads typographic quotes and dashes as ASCII ones.
func (r *windowsReader) other() {
	c, size := utf8.DecodeRuneInString(r.line.text[r.pos-1:])
	text := r.line.text[r.pos-1 : r.pos-1+size]
	switch c {
	case '–', '—', '―':
		text = "-"
	case '‘', '’', '‚', '‛', '“', '”', '„':
		r.unread(r.span(r.pos-1, r.pos-1+size), "it contains a typographic quote, which PowerShell reads as a quote")
	}
	r.add(text)
	r.pos += size - 1
}

func (r *windowsReader) skipTo(end string) {
	if i := strings.Index(r.line.text[r.pos:], end); i >= 0 {
		r.pos += i
		return
	}
	r.pos = len(r.line.text)
}

// hereString reads @'…'@, which ends at the start of a line.
func (r *windowsReader) hereString(quote byte) {
	end := "\n" + string(quote) + "@"
	rest := r.line.text[r.pos+1:]
	at := strings.Index(rest, end)
	if at < 0 {
		r.unread(r.span(r.pos-1, len(r.line.text)), "a text has no end")
		r.pos = len(r.line.text)
		return
	}
	r.word.IsQuoted = true
	r.word.Dynamic = r.word.Dynamic || quote == '"' && strings.Contains(rest[:at], "$")
	r.add(strings.TrimPrefix(rest[:at], "\n"))
	r.pos += 1 + at + len(end)
}

func (r *windowsReader) quoted(quote byte) {
	text := r.line.text
	r.add("")
	r.word.IsQuoted = true
	for r.pos < len(text) {
		c := text[r.pos]
		r.pos++
		switch {
		case c == quote && r.shell == PowerShell && r.pos < len(text) && text[r.pos] == quote: // '' is a quote
			r.text.WriteByte(c)
			r.pos++
		case c == quote:
			return
		case quote == '"' && r.shell == PowerShell && c == '`' && r.pos < len(text):
			r.text.WriteByte(text[r.pos])
			r.pos++
		case quote == '"' && (r.shell == PowerShell && c == '$' || r.shell == Cmd && (c == '%' || c == '!')):
			r.variable()
		default:
			r.text.WriteByte(c)
		}
	}
	r.unread(r.span(r.from, len(text)), "a quote has no end")
}

// variable reads the name after $ or %. A subexpression $(…) is read as a statement of its own.
func (r *windowsReader) variable() {
	r.word.Dynamic, r.word.Splits = true, true
	r.add(Expansion)
	if end := r.pos; r.word.IsQuoted && strings.HasPrefix(r.line.text[end:], "(") {
		for depth := 0; end < len(r.line.text) && (depth > 0 || end == r.pos); end++ {
			depth += strings.Count(r.line.text[end:end+1], "(") - strings.Count(r.line.text[end:end+1], ")")
		}
		r.scriptIn(r.shell, r.line.text[r.pos:end], r.word, &Command{index: r.by})
		r.pos = end
	}
}

func (r *windowsReader) redirect(c byte) {
	r.endWord()
	for r.pos < len(r.line.text) && strings.IndexByte(">&1 ", r.line.text[r.pos]) >= 0 {
		r.pos++
	}
	start := r.pos
	for r.pos < len(r.line.text) && strings.IndexByte(" \t\r\n;&|()<>", r.line.text[r.pos]) < 0 {
		r.pos++
	}
	target := Word{Text: strings.Trim(r.line.text[start:r.pos], `"'`), Span: r.span(start, r.pos)}
	if strings.ContainsAny(target.Text, "$%`\"'") {
		r.unread(target.Span, "the name of a file is known only at run time")
		return
	}
	op := WriteFile
	if c == '<' {
		op = ReadFile
	}
	if name := strings.ToLower(target.Text); name != "" && name != "nul" && name != "$null" {
		target.Text = strings.ReplaceAll(target.Text, `\`, "/")
		r.redirects = append(r.redirects, Redirect{Op: string(c), Target: target, File: r.addFile(target, op)})
	}
}

func (r *windowsReader) endWord() {
	if r.started {
		r.word.Text = r.text.String()
		r.word.Pattern = !r.word.IsQuoted && strings.ContainsAny(r.word.Text, "*?")
		r.word.Span = r.span(r.from, r.pos)
		r.words = append(r.words, r.word)
	}
	r.text.Reset()
	r.word, r.started = Word{}, false
}

// endCommand adds the statement that ends here. op connects the next one to it.
func (r *windowsReader) endCommand(op Operator) {
	r.endWord()
	from := len(r.c.Commands)
	if len(r.words) > 0 {
		first := r.words[0]
		cmd := Command{Words: r.words, Redirects: r.redirects, Before: r.before, Shell: r.shell, Depth: r.depth, Dir: r.dir, Span: first.Span}
		cmd.Span.To = r.words[len(r.words)-1].Span.To
		cmd.By, cmd.index, cmd.Input = r.by, from, r.piped
		r.addWindows(cmd)
	}
	r.words, r.redirects, r.isCall, r.before, r.piped = nil, nil, false, op, Range{}
	if op == Pipe {
		r.piped = Range{from, len(r.c.Commands)}
	}
}

func (r *windowsReader) addWindows(cmd Command) {
	if len(r.c.Commands) >= maxCommands || r.depth > maxScripts {
		r.unread(cmd.Span, "it runs more than %d commands", maxCommands)
		return
	}
	r.begin(cmd)
	defer func() { r.adds = -1 }()
	program := cmd.Words[0]
	lower := strings.ToLower(program.Text)
	isExpression := r.shell == PowerShell && !r.isCall && (program.IsQuoted || strings.HasPrefix(program.Text, Expansion))
	rest := cmd.Words[1:]
	switch {
	case strings.Contains(lower, "scriptblock]") || strings.HasSuffix(lower, ".invoke"),
		program.Dynamic && !isExpression, program.Text == "." && len(rest) > 0 && rest[0].Dynamic:
		r.unread(program.Span, "the program is known only at run time")
		return
	case isExpression:
		r.windowsFiles("", &cmd)
		return
	}
	name := programs.ProgramName(program.Text, true)
	r.windowsFiles(name, &cmd)
	r.changeDir(strings.NewReplacer("set-location", "cd", "push-location", "pushd", "pop-location", "popd", "sl", "cd").Replace(name), &cmd)
	switch name {
	case "powershell", "pwsh", "cmd", "bash", "sh", "wsl":
		r.runsScript(name, &cmd)
	case "set-alias", "new-alias", "sal", "nal":
		r.unread(cmd.Span, "a builtin gives its words another meaning")
	case "invoke-expression", "iex":
		if len(rest) == 0 {
			r.unread(cmd.Span, "a shell runs text that is known only at run time")
		}
		for _, w := range rest {
			if w.Dynamic {
				r.unread(w.Span, "a shell runs text that is known only at run time")
				continue
			}
			r.scriptIn(PowerShell, w.Text, w, &cmd)
		}
	case "start-process", "start", "saps", "runas":
		rest = slices.DeleteFunc(slices.Clone(rest), func(w Word) bool { // -FilePath and -ArgumentList
			return r.shell == PowerShell && (strings.HasPrefix(w.Text, "-F") || strings.HasPrefix(w.Text, "-A"))
		})
		if len(rest) > 0 {
			r.scriptIn(r.shell, strings.Join(texts(rest), " "), rest[0], &cmd)
		}
	}
}

// runsScript reads the script of PowerShell, cmd.exe or a shell with the option for one. It reports whether
// there is one.
func (l *line) runsScript(name string, cmd *Command) bool {
	rest := cmd.Words[1:]
	isPS := name == "powershell" || name == "pwsh"
	for i, w := range rest {
		option := strings.ToLower(w.Text)
		switch {
		case isPS && strings.HasPrefix(option, "-e"):
			l.unread(w.Span, "its command is encoded")
		case i+1 == len(rest):
		case isPS && strings.HasPrefix(option, "-c"):
			l.scriptIn(PowerShell, strings.Join(texts(rest[i+1:]), " "), rest[i+1], cmd)
			return true
		case name == "cmd" && has(" /c /k //c //k ", option): // // in Git Bash
			l.scriptIn(Cmd, strings.Join(texts(rest[i+1:]), " "), rest[i+1], cmd)
			return true
		case !isPS && name != "cmd" && strings.HasPrefix(option, "-") && strings.Contains(option, "c"):
			l.scriptIn(POSIX, rest[i+1].Text, rest[i+1], cmd)
			return true
		}
	}
	return false
}

// scriptIn reads a script that a command runs, in the language of a shell.
func (l *line) scriptIn(sh Shell, text string, w Word, by *Command) {
	inner := &line{c: l.c, text: text, at: l.inside(text, w), by: by.index, adds: -1, depth: l.depth + 1, dir: l.dir, assigned: map[string]bool{}}
	switch {
	case inner.depth > maxScripts:
		l.unread(w.Span, "the command is nested too deeply")
	case sh == POSIX:
		inner.read(RunBy)
	default:
		inner.readWindows(sh, RunBy)
	}
}

// windowsOperands are the programs of PowerShell and cmd.exe whose operands are files.
var windowsOperands = sync.OnceValue(func() map[string]string {
	return namesByKind(`
read: get-content gc cat type select-string sls import-csv import-clixml get-filehash format-hex more findstr fc invoke-item ii
write: set-content sc add-content ac out-file new-item ni clear-content clc tee-object export-csv export-clixml md mkdir
delete: remove-item ri rm rmdir rd del erase
move: move-item mi mv move rename-item rni ren
use: copy-item cpi cp copy xcopy robocopy get-item gi test-path compress-archive expand-archive
list: get-childitem gci ls dir tree
`)
})

// windowsFiles adds the files in the words of a command: all but options for a program that is known, and
// else what looks like a file.
func (r *windowsReader) windowsFiles(name string, cmd *Command) {
	op, isKnown := windowsOperands()[name]
	if !isKnown && name != "" {
		other := *cmd // a program of both systems
		other.Words = slices.Clone(cmd.Words)
		for i := range other.Words {
			other.Words[i].Text = strings.ReplaceAll(other.Words[i].Text, `\`, "/")
		}
		r.operandFiles(name, &other)
	}
	for i, w := range cmd.Words {
		text := strings.ReplaceAll(w.Text, `\`, "/")
		isFile := looksLikePath(text) || isKnown && i > 0 && text != "" ||
			name == "" && strings.HasPrefix(text, Expansion) && strings.Contains(text, "/")
		if has(textOperands, name) && name != "cd" || strings.HasPrefix(text, "-") || !isFile || i == 0 && !w.IsQuoted {
			continue
		}
		for file := range strings.SplitSeq(text, ",") {
			r.addFile(Word{Text: file, Span: w.Span}, cmp.Or(FileOp(op), UseFile))
		}
	}
}
