package call

import (
	"cmp"
	"strings"

	"github.com/hookback/hookback/agentclient/call/paths"
)

// systemShell returns the shell of tools that use the one of the system, which the working directory
// shows.
func systemShell(dir string) Shell {
	if paths.IsWindows(dir) {
		return PowerShell
	}
	return POSIX
}

func (r reader) shell() Shell { return cmp.Or(r.tool.shell, r.system) }

// run reads a command line. If its tool has an argument for a directory whose meaning is unknown, it is
// unknown where the commands run, and their files are read in both directories.
func (r reader) run(text string, at Span, shell Shell) {
	c, dir := r.call, r.call.Dir
	if r.other == "" {
		c.readCommand(text, at, shell, r.parts)
		return
	}
	c.Dir = ""
	from := len(c.Files)
	c.readCommand(text, at, shell, r.parts)
	c.Dir = dir
	for i := range c.Files[from:] {
		f := &c.Files[from+i]
		there := *f
		f.Path, there.Path = joinDir(dir, f.Path), joinDir(r.other, f.Path)
		if there.Path != f.Path {
			c.Files = append(c.Files, there)
		}
	}
}

// commands reads the commands of an object, with the operands and variables next to them.
func (r reader) commands(n *Value, at string) {
	c := r.call
	shell := r.shell()
	c.stdin = Word{}
	for _, m := range n.members {
		if r.tool.kindOf(m.Name) == "stdin" {
			m.eachText(below(at, m.Name), func(text string, span Span) { c.stdin = Word{Text: text, IsQuoted: true, Span: span} }, func(*Value, string) {})
		}
	}
	rest, restAt, hasCommand, isOperand, first := "", "", false, false, len(c.Commands)
	for _, m := range n.members {
		kind := r.tool.kindOf(m.Name)
		if kind == "words" || kind == "operands" {
			v, inside := m.unwrap(below(at, m.Name))
			if rest != "" {
				c.addUnread(Span{Pointer: below(at, m.Name)}, "the operands of its command are there twice")
			}
			rest, restAt = rest+r.operands(v, inside, shell), inside
			isOperand = kind == "operands" && v.kind == ArrayKind
		}
	}
	for _, m := range n.members {
		if kind := r.tool.kindOf(m.Name); kind == "command" || kind == "lines" {
			hasCommand = true
			list := commandList{reader: r, shell: shell, rest: rest, hasLines: kind == "lines"}
			list.mayIgnoreRest = !isOperand || normalizeName(m.Name) != "command"
			list.read(m.Value, below(at, m.Name))
		}
	}
	if !hasCommand && rest != "" && (!r.tool.known || r.tool.common == "Bash") {
		if !r.tool.known {
			restAt = at
		}
		r.run(rest[1:], Span{Pointer: restAt}, shell)
	}
	for _, m := range n.members {
		if r.tool.kindOf(m.Name) == "env" {
			r.addEnvironment(m.Value, below(at, m.Name), c.Commands[first:])
		}
	}
}

// operands returns the operands of a command in another argument, as the end of a line.
func (r reader) operands(v *Value, at string, shell Shell) string {
	if words, ok := v.Words(); ok && len(words) > 0 {
		line, _ := joinWords(words, shell)
		return " " + line
	}
	if v.kind == TextKind && v.literal != "" {
		return " " + v.literal
	}
	r.nested(v, at) // arguments of a tool
	return ""
}

// addEnvironment adds the variables of an argument, an object or a list, to the commands.
func (r reader) addEnvironment(env *Value, at string, commands []Command) {
	if len(env.members) > 64 {
		r.call.addUnread(Span{Pointer: at}, "it sets too many variables")
		return
	}
	for i := range commands {
		for _, m := range env.members {
			text := m.literal
			if env.kind == ObjectKind {
				text = m.Name + "=" + m.literal
			}
			if commands[i].Depth == 0 {
				commands[i].Assignments = append(commands[i].Assignments, Word{Text: text, Span: wholeSpan(m.Value, below(at, m.Name))})
			}
		}
	}
}

// commandList reads the commands of one argument.
type commandList struct {
	reader
	shell Shell
	rest  string // operands in another argument
	// hasLines: a list has command lines, not the words of one. mayIgnoreRest: a tool may read the command
	// alone.
	hasLines, mayIgnoreRest bool
}

func (l commandList) read(v *Value, at string) {
	if l.hasLines {
		v, at = v.unwrap(at)
	}
	words, isWords := v.Words()
	switch {
	case !l.tool.known && (v.kind == NumberKind || v.kind == BoolKind): // {"run": 5}
	case v.kind == NullKind || v.kind == TextKind && v.literal == "" && l.rest == "":
	case v.kind == TextKind:
		l.line(v.literal, wholeSpan(v, at))
	case isWords && !l.hasLines && len(words) > 1:
		line, parts := joinWords(words, l.shell)
		for i := range parts {
			parts[i].at = below(at, v.members[i].Name)
		}
		l.parts = parts
		l.line(line, Span{Pointer: at})
	case v.kind == ArrayKind:
		items := l
		items.hasLines = false
		for _, m := range v.members {
			items.read(m.Value, below(at, m.Name))
		}
	case v.kind == ObjectKind:
		lines := len(l.call.Lines)
		if l.nested(v, at); l.tool.common == "Bash" && len(l.call.Lines) == lines {
			l.call.addUnread(Span{Pointer: at}, "its command is not text")
		}
	default:
		l.call.addUnread(Span{Pointer: at}, "its command is not text")
	}
}

func (l commandList) line(text string, at Span) {
	if l.mayIgnoreRest || l.rest == "" {
		l.run(text, at, l.shell)
	}
	if l.rest != "" {
		l.run(text+l.rest, at, l.shell)
	}
}

// part is the part text[from:to] of a command line that is an item of a list.
type part struct {
	from, to int
	at       string // JSON pointer of the item
	size     int    // length of the item
}

// joinWords returns a command line of these words, and its parts.
func joinWords(words []string, shell Shell) (line string, parts []part) {
	quoted, from := make([]string, len(words)), 0
	parts = make([]part, len(words))
	for i, w := range words {
		quoted[i] = Quote(w, "_-./:=@,+", shell)
		parts[i] = part{from: from, to: from + len(quoted[i]), size: len(w)}
		from += len(quoted[i]) + 1
	}
	return strings.Join(quoted, " "), parts
}

// Quote returns a word as the shell reads it: in quotes, unless it has only ASCII letters, digits and the
// characters in plain.
func Quote(word, plain string, shell Shell) string {
	isSpecial := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune(plain, r)
	}
	switch {
	case word != "" && !strings.ContainsFunc(word, isSpecial):
		return word
	case shell == PowerShell:
		return "'" + strings.ReplaceAll(word, "'", "''") + "'"
	case shell == Cmd:
		return `"` + word + `"`
	default:
		return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
}

// keyNames are the keys in typed text that end a line, or else are dropped.
var keyNames = strings.NewReplacer("${", "${", "{enter}", "\n", "{return}", "\n", "\r\n", "\n", "\r", "\n",
	"{up}", "", "{down}", "", "{left}", "", "{right}", "", "{tab}", "", "{esc}", "", "{escape}", "", "{backspace}", "", "{delete}", "", "{space}", " ")

// typed reads text that is typed into an open shell. It is unread too, because what is already on the
// line is not known.
func (r reader) typed(v *Value, at string) {
	v.eachText(at, func(text string, span Span) {
		if text == "" {
			return // it only waits for output
		}
		if line := strings.Trim(keyNames.Replace(text), " \t\n\x03\x04"); line != "" {
			r.run(line, span, r.shell())
		}
		r.call.addUnread(span, "it is typed into an open shell, where it may continue another line")
	}, r.nested)
}
