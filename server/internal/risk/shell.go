package risk

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Reading a command line the way a shell does, as far as it matters which programs
// run with which words: lists, pipes, quotes, escapes, substitutions, here
// documents, comments, compound commands. Nothing is expanded. The reader goes
// forward only, so it takes as long as the text is.

const (
	// maxNesting is how deep substitutions and scripts within scripts are read.
	maxNesting = 32
	// maxWords is how many words of one call are read.
	maxWords = 1 << 14
	// maxWriters is of how many commands before a pipe the output is followed.
	maxWriters = 16
)

// dialect is how a shell quotes and escapes.
type dialect struct {
	escape    byte // before a character that stands for itself
	backticks bool // `…` is a command substitution
	single    bool // '…' quotes
	blocks    bool // { and } are marks, not words
}

var (
	posix      = dialect{escape: '\\', backticks: true, single: true}
	powershell = dialect{escape: '`', single: true, blocks: true}
	cmd        = dialect{escape: '^'}
)

// word is one word of a command, quotes and escapes taken away.
type word struct {
	span
	text     string
	bare     bool       // nothing of it was quoted
	vars     []variable // what the shell puts in its place
	subs     []*command // run to make it: $(…), `…`, <(…)
	process  bool       // it is <(…) or >(…)
	disguise bool       // letters were written as \x72 or \162
}

type variable struct {
	name    string
	guarded bool // ${X:?…}, ${X:-…}: never empty unnoticed
}

// dynamic reports whether the shell makes the word when it runs.
func (w *word) dynamic() bool { return len(w.vars) > 0 || len(w.subs) > 0 }

// redirect is > file, < file, << text.
type redirect struct {
	op     string
	target word // of a here document, its text
}

// command is one simple command.
type command struct {
	span
	assigns    []word // NAME=value before it
	words      []word
	redirects  []redirect
	from       []*command // whose output it reads
	reader     *command   // that reads its output
	sent       bool       // its output ends up in a program that sends it away
	background bool
	scope      *scope
}

// scope is where cd holds: a subshell's ends with it.
type scope struct {
	parent  *scope
	dir     string
	entered bool
}

type parser struct {
	src      *source
	s        string
	i        int
	d        dialect
	words    *int // left to read
	depth    int
	scope    *scope
	stdin    []*command
	out      []*command
	heredocs []heredoc
	bad      int // where reading failed; -1: it did not
}

type heredoc struct {
	of            *command
	redirect      int
	end           string
	tabs, literal bool
}

// parse returns the commands of src, the inner ones before those that use them,
// and where it stopped to understand the text, or -1.
func parse(src *source, d dialect, words *int, parent *scope) (commands []*command, bad int) {
	p := &parser{src: src, s: src.text, d: d, words: words, scope: &scope{parent: parent}, bad: -1}
	p.list(0)
	return p.out, p.bad
}

func (p *parser) fail(at int) {
	if p.bad < 0 {
		p.bad = at
	}
	p.i = len(p.s)
}

func (p *parser) peek(n int) byte {
	if p.i+n < len(p.s) {
		return p.s[p.i+n]
	}
	return 0
}

// line is a list of commands while it is read.
type line struct {
	p     *parser
	cur   *command
	left  []*command // what stands before the pipe
	start int        // where in p.out the present part of the pipeline begins
	cases int        // case … esac that are open
	// Within [[ … ]], and before the bracket that ends a pattern of case, operators
	// have another meaning.
	test, pattern bool
}

// list reads commands up to end, which is ')' or, for the end of the text, 0.
func (p *parser) list(end byte) []*command {
	first, opened := len(p.out), p.i
	l := line{p: p, start: first}
	for p.i < len(p.s) {
		if p.skipBlanks(); p.i == len(p.s) {
			break
		}
		if p.s[p.i] == ')' && !l.test && !l.pattern {
			l.next()
			p.i++
			if end != ')' {
				p.fail(p.i - 1)
			}
			return p.out[first:]
		}
		l.step(p.s[p.i])
	}
	l.next()
	p.bodies()
	if end != 0 {
		p.fail(max(0, opened-1))
	}
	return p.out[first:]
}

// step reads one operator or word.
func (l *line) step(c byte) {
	p := l.p
	switch {
	case l.test && strings.IndexByte("\n;&|()<>", c) >= 0:
		p.i++
	case l.pattern:
		l.patterns(c)
	case c == '\n':
		l.next()
		p.i++
		p.bodies()
	case c == ';' && p.peek(1) == ';' && l.cases > 0:
		l.next()
		p.i += 2
		l.pattern = true
	case c == ';', p.d.blocks && (c == '{' || c == '}'):
		l.next()
		p.i++
	case c == '&':
		l.ampersand()
	case c == '|':
		l.pipe()
	case c == '(':
		l.paren()
	case c == '#':
		p.i += lineEnd(p.s[p.i:])
	case (c == '<' || c == '>') && p.peek(1) != '(':
		p.redirect(l.command(), "")
	default:
		l.word()
	}
}

// patterns reads what stands before the commands of a case, or its end.
func (l *line) patterns(c byte) {
	p := l.p
	if strings.IndexByte("()|\n;&<>", c) >= 0 {
		l.pattern = c != ')'
		p.i++
		return
	}
	if w := p.word(); w.bare && w.text == "esac" {
		l.cases--
		l.pattern = false
	}
}

func lineEnd(s string) int {
	if n := strings.IndexByte(s, '\n'); n >= 0 {
		return n
	}
	return len(s)
}

func (p *parser) skipBlanks() {
	for p.i < len(p.s) {
		switch c := p.s[p.i]; {
		case c == ' ' || c == '\t' || c == '\r':
			p.i++
		case c == p.d.escape && p.peek(1) == '\n':
			p.i += 2
		default:
			return
		}
	}
}

func (l *line) command() *command {
	if l.cur == nil {
		l.cur = &command{span: span{l.p.src, l.p.i, l.p.i}, scope: l.p.scope}
	}
	return l.cur
}

func (l *line) ampersand() {
	p := l.p
	switch {
	case p.peek(1) == '>':
		p.i++
		p.redirect(l.command(), "&")
	case p.peek(1) == '&':
		p.i += 2
		l.next()
	default:
		p.i++
		before := len(p.out)
		if l.next(); len(p.out) > before && p.d != powershell && p.d != cmd {
			p.out[len(p.out)-1].background = true
		}
	}
}

func (l *line) pipe() {
	p := l.p
	p.i++
	switch p.peek(0) {
	case '|':
		p.i++
		l.next()
		return
	case '&':
		p.i++
	}
	l.flush()
	l.left, l.start = p.out[l.start:], len(p.out)
}

// paren reads a subshell, a function's brackets, or arithmetic.
func (l *line) paren() {
	p := l.p
	switch {
	case l.cur != nil && len(l.cur.words) == 1 && p.peek(1) == ')': // name()
		l.cur = nil
		p.i += 2
	case p.peek(1) == '(' && p.arithmetic(2):
	default:
		l.flush()
		stdin, outer := p.stdin, p.scope
		if l.left != nil {
			p.stdin = l.left
		}
		p.scope = &scope{parent: outer}
		p.i++
		p.nested(func() { p.list(')') })
		p.stdin, p.scope = stdin, outer
	}
}

// nested runs read one level deeper.
func (p *parser) nested(read func()) {
	if p.depth++; p.depth > maxNesting {
		p.fail(p.i)
	} else {
		read()
	}
	p.depth--
}

// arithmetic skips ((…)) whose contents begin skip bytes on; false: it is none.
func (p *parser) arithmetic(skip int) bool {
	const longest = 1 << 10
	rest := p.s[min(len(p.s), p.i+skip):]
	depth := 2
	for n := 0; n < min(len(rest), longest); n++ {
		switch rest[n] {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				if rest[n-1] != ')' {
					return false
				}
				p.i += skip + n + 1
				return true
			}
		case '`', '\'', '"':
			return false
		}
	}
	return false
}

// next ends a command and the pipeline it is in.
func (l *line) next() {
	l.flush()
	l.left, l.start = nil, len(l.p.out)
}

// reserved words stand before a command, or end a compound one.
var reserved = map[string]bool{
	"then": true, "do": true, "else": true, "elif": true, "if": true, "while": true, "until": true, "!": true, "time": true,
	"{": true, "}": true, "fi": true, "done": true, "coproc": true,
}

// flush ends a command, if there is one.
func (l *line) flush() {
	c := l.cur
	if l.cur = nil; c == nil {
		return
	}
	for len(c.words) > 0 && c.words[0].bare && reserved[c.words[0].text] {
		c.words = c.words[1:]
	}
	if len(c.words) > 0 && c.words[0].bare {
		switch c.words[0].text {
		case "esac":
			l.cases = max(0, l.cases-1)
			c.words = c.words[1:]
		case "function":
			c.words = c.words[min(2, len(c.words)):]
		}
	}
	for len(c.words) > 0 && isAssignment(&c.words[0]) {
		c.assigns = append(c.assigns, c.words[0])
		c.words = c.words[1:]
	}
	if len(c.words)+len(c.assigns)+len(c.redirects) == 0 {
		return
	}
	if c.from = l.left; c.from == nil {
		c.from = l.p.stdin
	}
	c.from = c.from[max(0, len(c.from)-maxWriters):]
	if len(c.words) > 0 {
		c.span = c.words[0].span.through(c.words[len(c.words)-1].span)
	} else {
		c.to = l.p.i
	}
	l.p.out = append(l.p.out, c)
}

func isAssignment(w *word) bool {
	name, _, ok := strings.Cut(w.text, "=")
	if name = strings.TrimSuffix(name, "+"); !ok || name == "" {
		return false
	}
	if at := strings.IndexByte(name, '['); at > 0 && strings.HasSuffix(name, "]") {
		name = name[:at]
	}
	return nameLen(name) == len(name) && strings.HasPrefix(w.span.text(), name)
}

// nameLen is how long the variable's name is that s begins with.
func nameLen(s string) int {
	n := 0
	for n < len(s) && (s[n] == '_' || isLetter(s[n]) || n > 0 && isDigit(s[n])) {
		n++
	}
	return n
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }

// word adds a word to the command.
func (l *line) word() {
	p := l.p
	c := l.command()
	w := p.word()
	if next := p.peek(0); (next == '<' || next == '>') && w.bare && isNumber(w.text) && p.peek(1) != '(' {
		p.redirect(c, w.text)
		return
	}
	if l.test {
		l.test = !w.bare || w.text != "]]"
		return
	}
	if w.bare && w.text == "[[" && len(c.words) == 0 {
		l.test = true
	}
	c.words = append(c.words, w)
	if n := len(c.words); w.bare && w.text == "in" && n >= 3 && c.words[n-3].text == "case" && allReserved(c.words[:n-3]) {
		l.cases++
		l.cur, l.pattern = nil, true
	}
}

func allReserved(words []word) bool {
	return !slices.ContainsFunc(words, func(w word) bool { return !w.bare || !reserved[w.text] })
}

func isNumber(s string) bool {
	_, err := strconv.ParseUint(s, 10, 16)
	return err == nil
}

// redirect reads an operator with < or > and its target.
func (p *parser) redirect(c *command, before string) {
	from := p.i
	for p.i < len(p.s) && p.i-from < 3 && (p.s[p.i] == '<' || p.s[p.i] == '>') {
		p.i++
	}
	r := redirect{op: p.s[from:p.i]}
	if before == "&" {
		r.op = "&" + r.op
	}
	switch next := p.peek(0); {
	case r.op == "<<":
		p.heredoc(c)
		return
	case next == '&' && before != "&":
		if p.i++; isDigit(p.peek(0)) || p.peek(0) == '-' {
			p.i++
			return
		}
	case next == '|':
		p.i++
	}
	if p.skipBlanks(); p.i == len(p.s) || strings.IndexByte("\n;&|", p.s[p.i]) >= 0 {
		p.fail(from)
		return
	}
	r.target = p.word()
	c.redirects = append(c.redirects, r)
}

func (p *parser) heredoc(c *command) {
	h := heredoc{of: c, redirect: len(c.redirects)}
	if p.peek(0) == '-' {
		h.tabs = true
		p.i++
	}
	p.skipBlanks()
	w := p.word()
	h.end, h.literal = w.text, !w.bare
	c.redirects = append(c.redirects, redirect{op: "<<", target: w})
	p.heredocs = append(p.heredocs, h)
}

// bodies reads the here documents whose operators stand on the line that ended.
func (p *parser) bodies() {
	waiting := p.heredocs
	p.heredocs = nil
	for _, h := range waiting {
		from, to := p.i, len(p.s)
		for p.i < len(p.s) {
			start := p.i
			n := lineEnd(p.s[p.i:])
			text := p.s[start : start+n]
			p.i = min(len(p.s), start+n+1)
			if h.tabs {
				text = strings.TrimLeft(text, "\t")
			}
			if strings.TrimSuffix(text, "\r") == h.end {
				to = start
				break
			}
		}
		body := word{span: span{p.src, from, to}, text: p.s[from:to], bare: true}
		if !h.literal {
			body.subs = p.substitutions(from, to)
		}
		h.of.redirects[h.redirect].target = body
	}
}

// substitutions reads the commands that a here document runs.
func (p *parser) substitutions(from, to int) (subs []*command) {
	if !strings.Contains(p.s[from:to], "$(") && !strings.Contains(p.s[from:to], "`") {
		return nil
	}
	after, whole := p.i, p.s
	p.i, p.s = from, p.s[:to]
	var w word
	var text []byte
	for p.i < len(p.s) {
		switch p.s[p.i] {
		case '\\':
			p.i = min(len(p.s), p.i+2)
		case '$':
			p.dollar(&w, &text, true)
		case '`':
			p.backtick(&w)
		default:
			p.i++
		}
	}
	p.i, p.s = after, whole
	if p.bad >= 0 {
		p.i = len(p.s)
	}
	return w.subs
}

func appendRune(b []byte, r uint64) []byte { return utf8.AppendRune(b, rune(r)) } //nolint:gosec // at most 32 bits; nonsense becomes U+FFFD
