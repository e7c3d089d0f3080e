package redact

import (
	"bytes"
	"regexp"

	"github.com/hookback/hookback/agentclient/call"
)

// Ask is JSON for an event with a question. A person approves what the result shows, so a replacement
// covers one word or the content of one quoted string: never a quote, a line break, or a sign with which
// a shell separates, redirects or substitutes commands. Where it isn't certain that a secret is such a
// word or string, only the start of it is replaced. lines returns the command lines of the event's call;
// it is called only if the event may contain a secret. Nil: there is no question, as in JSON.
func (r *Redactor) Ask(b []byte, lines func() []call.Line) (out []byte, n int) {
	if r == nil || !r.mayContainSecret(b) {
		return b, 0
	}
	w := walker{r: r, in: b}
	if lines != nil {
		w.shells = map[string]call.Shell{}
		for _, line := range lines() {
			if shell, ok := w.shells[line.Text]; ok && shell != line.Shell {
				line.Shell = call.Cmd // in whose lines no string is certain
			}
			w.shells[line.Text] = line.Shell
		}
	}
	return w.redact()
}

// layout is where a replacement in the text of a question may cover more than one plain word.
type layout struct {
	quoted  map[int]quotation // by the end of its content
	entries map[int]bool      // values of lines such as NAME = value in a text, by where they begin
}

// quotation is the content of a quoted string on one line in which nothing is expanded.
type quotation struct {
	from   int
	isWord bool // it is the first string in a word of a command, not one in a text
}

// layoutOf reads a string of the event: a command line of a shell, or a text, if shell is "".
func layoutOf(b []byte, shell call.Shell) *layout {
	l := &layout{quoted: map[int]quotation{}, entries: map[int]bool{}}
	if shell == "" {
		l.addText(b, 0)
		return l
	}
	read := call.ReadLine(string(b), shell)
	if len(read.Unread) > 0 || shell == call.Cmd { // where %NAME% can end a string
		return l
	}
	for i := range read.Commands {
		cmd := &read.Commands[i]
		if cmd.Depth > 0 {
			continue
		}
		for _, w := range append(cmd.Assignments, cmd.Words...) {
			l.addWord(b, w.Span)
		}
		for _, r := range cmd.Redirects {
			if r.Op == "<<" || r.Op == "<<-" {
				l.addText(b[r.Target.Span.From:r.Target.Span.To], r.Target.Span.From)
			}
		}
	}
	return l
}

// addWord adds the first string of a word, if only plain text is before it, and the strings in that one.
func (l *layout) addWord(b []byte, at call.Span) {
	q := at.From + len(plainWord.Find(b[at.From:at.To]))
	if q == at.To || b[q] != '"' && b[q] != '\'' {
		return
	}
	content, rest, isClosed := bytes.Cut(b[q+1:at.To], b[q:q+1])
	if !isClosed || b[q] == '"' && bytes.ContainsAny(content, "$`\\") {
		return
	}
	l.addText(content, q+1)
	if printable.Match(content) && wordEnd.Match(rest) {
		l.quoted[q+1+len(content)] = quotation{q + 1, true}
	}
}

var (
	plainWord = regexp.MustCompile(`^[*\[\]` + plainSigns + `]*`)
	printable = regexp.MustCompile(`^[ -~\p{L}\p{Nd}]*$`)
	// textString is a string in a text of unknown language, without signs that could end it there as
	// code or a comment, or any other quote. ' is no quote in a batch file, “ is one in PowerShell.
	textString = regexp.MustCompile(`"[ ;&|` + plainSigns + `]*"|'[ ` + plainSigns + "]*'|[\"'`‘’‚‛“”„]")
	textEntry  = regexp.MustCompile(`(?m)^[ \t]*[\w-]+[ \t]*=[ \t]*([*\[\]` + plainSigns + `]+)[ \t]*\r?$`)
	descriptor = regexp.MustCompile(`^\s[0-9]+[<>]$`) // in --token 5>file the 5 is no word
	wordEnd    = regexp.MustCompile(`^([\s,;:)}&|<>\]]|$)`)
)

// plainSigns are letters, digits, and signs without a meaning between words.
const plainSigns = `\p{L}\p{Nd}!#%+,./:=?@^_~-`

// addText adds the quoted strings of a text whose language isn't known, such as a file's. After a quote
// that could be read in another way it adds no more, because code could then be between two strings.
func (l *layout) addText(b []byte, offset int) {
	for _, m := range textEntry.FindAllSubmatchIndex(b, -1) {
		l.entries[offset+m[2]] = true
	}
	for _, m := range textString.FindAllIndex(b, -1) {
		from, to := m[0]+1, m[1]-1
		isString := to >= from && b[to] == b[m[0]]
		if !isString || !wordEnd.Match(b[m[1]:]) || m[0] > 0 && bytes.IndexByte([]byte(" \t\r\n=:,([{<"), b[m[0]-1]) < 0 {
			return
		}
		l.quoted[offset+to] = quotation{from: offset + from}
	}
}

// covers reports whether a secret is the content of a quoted string, or, as Cookie: a=b; c=d, with its
// name that of one in a command.
func (l *layout) covers(m match) bool {
	q, ok := l.quoted[m.to]
	return ok && (q.from == m.from || q.isWord && q.from == m.name)
}

// pieces returns the parts of a match to replace: all of it, or, in a question where that could hide
// something, the lines of a private key, or the start of another secret, which may be empty.
func (l *layout) pieces(b []byte, m match) []match {
	if l == nil {
		return []match{m}
	}
	if m.rule != privateKeyRule {
		if scheme := skipWhile(b[:m.to], m.from, isAlnum); m.rule == "authorization" && scheme+1 < m.to && b[scheme] == ' ' {
			m.from = scheme + 1 // Bearer or Basic
		}
		if !l.covers(m) {
			m.to = m.from + len(plainWord.Find(b[m.from:m.to]))
		}
		if descriptor.Match(b[max(m.from-1, 0):min(m.to+1, len(b))]) {
			m.to = m.from
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
