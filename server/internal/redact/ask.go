package redact

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hookback/hookback/agentclient/call"
)

// Ask is JSON for an event with a question. A person approves what the result shows, so a replacement
// covers one word or the content of one quoted string: never a quote, a line break, or a sign with which
// a shell separates, redirects or substitutes commands. Where it isn't certain that a secret is such a
// word or string, only the start of it is replaced. lines returns the command lines of the event's call;
// it is called only if the event may contain a secret.
func (r *Redactor) Ask(b []byte, lines func() []call.Line) (out []byte, n int) {
	if r == nil || !r.mayContainSecret(b) {
		return b, 0
	}
	w := walker{r: r, in: b, isAsk: true, lines: lines()}
	return w.redact()
}

// layout is where a replacement in the text of a question may cover more than one plain word.
type layout struct {
	quoted map[int]quotation // by the end of its content
	data   []span            // text that a shell doesn't split into words, in order
}

type span struct{ from, to int }

// quotation is the content of a quoted string on one line in which nothing is expanded.
type quotation struct {
	from   int
	isWord bool // it is the first string in a word of a command, not one in a text
}

// shellOf returns the shell of a text if it is a command line of the call, and else "".
func (w *walker) shellOf(b []byte) (shell call.Shell) {
	for _, line := range w.lines {
		switch {
		case line.Text != string(b):
		case shell != "" && shell != line.Shell:
			return call.Cmd // in whose lines no string is certain
		default:
			shell = line.Shell
		}
	}
	return shell
}

// layoutOf reads a string of the event: a command line of a shell, or a text, if shell is "".
func layoutOf(b []byte, shell call.Shell) *layout {
	l := &layout{quoted: map[int]quotation{}}
	if shell == "" {
		l.addText(b, 0)
		l.data = []span{{0, len(b)}}
		return l
	}
	read := call.ReadLine(string(b), shell)
	if len(read.Unread) > 0 || shell == call.Cmd { // where %NAME% can end a string
		return l
	}
	for i := range read.Commands {
		if cmd := &read.Commands[i]; cmd.Depth == 0 {
			l.addCommand(b, cmd)
		}
	}
	slices.SortFunc(l.data, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	return l
}

func (l *layout) addCommand(b []byte, cmd *call.Command) {
	for _, w := range cmd.Assignments {
		l.addWord(b, w.Span)
	}
	for _, w := range cmd.Words {
		l.addWord(b, w.Span)
	}
	for i := range cmd.Redirects {
		if at := cmd.Redirects[i].Target.Span; cmd.Redirects[i].Op == "<<" || cmd.Redirects[i].Op == "<<-" {
			l.addText(b[at.From:at.To], at.From)
			l.data = append(l.data, span{at.From, at.To})
		}
	}
}

// addWord adds the first string of a word, if only plain text is before it, and the strings in that one.
func (l *layout) addWord(b []byte, at call.Span) {
	q := bytes.IndexAny(b[at.From:at.To], `"'`)
	if q < 0 || runLen(b[at.From:at.From+q], wordEnds) != q {
		return
	}
	from := at.From + q + 1
	content, rest, isClosed := bytes.Cut(b[from:at.To], b[from-1:from])
	if !isClosed || b[from-1] == '"' && bytes.ContainsAny(content, "$`\\") {
		return
	}
	l.addText(content, from)
	if runLen(content, "") == len(content) && isWordEnd(rest[:min(len(rest), 1)]) {
		l.quoted[from+len(content)] = quotation{from, true}
	}
}

const (
	wordEnds = " \"'`\\;&|<>()${}"
	// textEnds end a string in a text of unknown language, where they can start code or a comment.
	textEnds = "\"'`\\<>()[]{}$*"
	// otherQuotes start a string in some languages, such as “ in PowerShell.
	otherQuotes = "`‘’‚‛“”„"
)

func isWordEnd(next []byte) bool {
	return len(next) == 0 || bytes.IndexByte([]byte(" \t\r\n,;:)]}&|<>"), next[0]) >= 0
}

// addText adds the quoted strings of a text whose language isn't known, such as a file's. After a quote
// that could be read in another way it adds no more, because code could then be between two strings.
func (l *layout) addText(b []byte, offset int) {
	for i := 0; i < len(b); {
		c, size := utf8.DecodeRune(b[i:])
		i += size
		if strings.ContainsRune(otherQuotes, c) {
			return
		}
		if c != '"' && c != '\'' {
			continue
		}
		ends := textEnds
		if c == '\'' {
			ends += ";&|" // it is no quote in a batch file
		}
		end := i + runLen(b[i:], ends)
		if end == len(b) || b[end] != byte(c) || !isWordEnd(b[end+1:]) ||
			i > 1 && bytes.IndexByte([]byte(" \t\r\n=:,([{<"), b[i-2]) < 0 {
			return
		}
		l.quoted[offset+end] = quotation{from: offset + i}
		i = end + 1
	}
}

// covers reports whether a secret is the content of a quoted string, or, as Cookie: a=b; c=d, with its
// name that of one in a command.
func (l *layout) covers(m match) bool {
	q, ok := l.quoted[m.to]
	return ok && (q.from == m.from || q.isWord && q.from == m.name)
}

// isEntry reports whether b[from:] is a line such as NAME = value of a configuration file, whose value
// begins at value.
func (l *layout) isEntry(b []byte, from, value int) bool {
	at, _ := slices.BinarySearchFunc(l.data, from, func(s span, from int) int { return cmp.Compare(s.to, from+1) })
	if at == len(l.data) || from < l.data[at].from {
		return false
	}
	data := b[:l.data[at].to]
	isBlank := func(c byte) bool { return c == ' ' || c == '\t' }
	for from > l.data[at].from && isBlank(b[from-1]) {
		from--
	}
	end := skipWhile(data, value+runLen(data[value:], wordEnds), isBlank)
	return (from == l.data[at].from || b[from-1] == '\n') && (end == len(data) || data[end] == '\n' || data[end] == '\r')
}

// pieces returns the parts of a match that Redactor.Ask may replace: all of it, the lines of a private
// key, or the start of another secret, which may be empty.
func (l *layout) pieces(b []byte, m match) []match {
	if m.rule != privateKeyRule {
		if scheme := skipWhile(b[:m.to], m.from, isAlnum); m.rule == "authorization" && scheme+1 < m.to && b[scheme] == ' ' {
			m.from = scheme + 1 // Bearer or Basic
		}
		if !l.covers(m) {
			m.to = m.from + runLen(b[m.from:m.to], wordEnds)
		}
		return []match{m}
	}
	var pieces []match
	for from := m.from; from < m.to; {
		to := skipWhile(b[:m.to], from, isToken68)
		if from > 0 && b[from-1] == '\\' { // the n of \n
			from = min(from+1, to)
		}
		if to-from >= minKeyLine && isAlnum(b[from]) {
			pieces = append(pieces, match{from: from, to: to, rule: m.rule})
		}
		from = to + 1
	}
	return pieces
}

// minKeyLine is shorter than every line of a private key but the last, and longer than the words around it.
const minKeyLine = 16

// runLen returns the length of the text at the start of b that has letters, digits, and ASCII signs other
// than the given ones.
func runLen(b []byte, ends string) int {
	for i := 0; i < len(b); {
		c, size := utf8.DecodeRune(b[i:])
		isPlain := c < utf8.RuneSelf && c >= ' ' && c != 0x7f && !strings.ContainsRune(ends, c)
		if !isPlain && (c < utf8.RuneSelf || !unicode.IsLetter(c) && !unicode.IsDigit(c)) {
			return i
		}
		i += size
	}
	return len(b)
}
