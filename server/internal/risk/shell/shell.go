// Package shell reads a command line as a shell does and expands nothing. It never goes back in the
// text, so its running time is linear, and it has limits for words and nesting: the text is hostile.
package shell

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The parser reads a command line the way a shell does, to find out which programs run with which
// arguments: lists, pipes, quotes, escapes, substitutions, here-documents, comments and compound
// commands. It expands nothing. It never goes back in the text, so its running time is linear.

const (
	// MaxNesting is the maximum depth of substitutions and nested scripts.
	MaxNesting = 32
	// MaxWords is the maximum number of words parsed per call.
	MaxWords = 1 << 14
	// maxWriters is the maximum number of commands kept as the upstream of one command.
	maxWriters = 16
)

// Dialect describes how a shell quotes and escapes.
type Dialect struct {
	escape       byte // makes the next character literal
	backticks    bool // `…` is a command substitution
	singleQuotes bool // '…' quotes
	braceBlocks  bool // { and } are separators, not words
}

// The dialects of the shells that agents use.
var (
	POSIX      = Dialect{escape: '\\', backticks: true, singleQuotes: true}
	PowerShell = Dialect{escape: '`', singleQuotes: true, braceBlocks: true}
	WindowsCmd = Dialect{escape: '^'}
)

// Word is one word of a command, with quotes and escapes removed.
type Word struct {
	Span
	Text       string
	Bare       bool       // no part was quoted
	Vars       []variable // variables that the shell expands in it
	Subs       []*Command // commands that run to produce it: $(…), `…`, <(…)
	Process    bool       // it is <(…) or >(…)
	Obfuscated bool       // letters were written as \x72 or \162
}

type variable struct {
	Name    string
	Guarded bool // ${X:?…} or ${X:-…}: can't expand to nothing
}

// IsDynamic reports whether the value of the word is known only at run time.
func (w *Word) IsDynamic() bool { return len(w.Vars) > 0 || len(w.Subs) > 0 }

// Redirect is a redirection: > file, < file or << text.
type Redirect struct {
	Op     string
	Target Word // for a here-document, its text
}

// Command is one simple command.
type Command struct {
	Span
	Assigns    []Word // NAME=value words before the program
	Words      []Word
	Redirects  []Redirect
	Upstream   []*Command // commands whose output it reads
	Downstream *Command   // Command that reads its output
	SentAway   bool       // its output reaches a program that sends data to the network
	Background bool
	Scope      *Scope
}

// Scope is the extent of a cd: a subshell has its own.
type Scope struct {
	Parent   *Scope
	Dir      string
	Resolved bool
}

type parser struct {
	src        *Source
	text       string
	pos        int
	dialect    Dialect
	wordBudget *int // Words that may still be parsed
	depth      int
	scope      *Scope
	stdin      []*Command
	commands   []*Command
	heredocs   []heredoc
	errPos     int // position of the first syntax error, or -1
}

type heredoc struct {
	command            *Command
	redirect           int
	delimiter          string
	stripTabs, literal bool
}

// Parse returns the commands of src and the position of the first syntax error, or -1. Commands in
// a substitution come before the command that contains it.
func Parse(src *Source, d Dialect, words *int, parent *Scope) (commands []*Command, errPos int) {
	p := &parser{src: src, text: src.Text, dialect: d, wordBudget: words, scope: &Scope{Parent: parent}, errPos: -1}
	p.parseList(0)
	return p.commands, p.errPos
}

func (p *parser) fail(at int) {
	if p.errPos < 0 {
		p.errPos = at
	}
	p.pos = len(p.text)
}

func (p *parser) peek(n int) byte {
	if p.pos+n < len(p.text) {
		return p.text[p.pos+n]
	}
	return 0
}

// listParser is the state of parsing one list of commands.
type listParser struct {
	p             *parser
	cmd           *Command
	upstream      []*Command // commands before the pipe
	pipelineStart int        // index in p.commands of the current stage of the pipeline
	openCases     int        // open case … esac statements
	// inTest is set within [[ … ]]; inPattern is set up to the parenthesis that ends a pattern of a
	// case statement. Operators have other meanings there.
	inTest, inPattern bool
}

// parseList parses commands up to end, which is ')' or, for the end of the text, 0.
func (p *parser) parseList(end byte) []*Command {
	first, opened := len(p.commands), p.pos
	l := listParser{p: p, pipelineStart: first}
	for p.pos < len(p.text) {
		if p.skipBlanks(); p.pos == len(p.text) {
			break
		}
		if p.text[p.pos] == ')' && !l.inTest && !l.inPattern {
			l.endPipeline()
			p.pos++
			if end != ')' {
				p.fail(p.pos - 1)
			}
			return p.commands[first:]
		}
		l.parseNext(p.text[p.pos])
	}
	l.endPipeline()
	p.parseHeredocBodies()
	if end != 0 {
		p.fail(max(0, opened-1))
	}
	return p.commands[first:]
}

// parseNext parses one operator or word.
func (l *listParser) parseNext(c byte) {
	p := l.p
	switch {
	case l.inTest && strings.IndexByte("\n;&|()<>", c) >= 0:
		p.pos++
	case l.inPattern:
		l.parseCasePattern(c)
	case c == '\n':
		l.endPipeline()
		p.pos++
		p.parseHeredocBodies()
	case c == ';' && p.peek(1) == ';' && l.openCases > 0:
		l.endPipeline()
		p.pos += 2
		l.inPattern = true
	case c == ';', p.dialect.braceBlocks && (c == '{' || c == '}'):
		l.endPipeline()
		p.pos++
	case c == '&':
		l.parseAmpersand()
	case c == '|':
		l.parsePipe()
	case c == '(':
		l.parseParen()
	case c == '#':
		p.pos += LineEnd(p.text[p.pos:])
	case (c == '<' || c == '>') && p.peek(1) != '(':
		p.parseRedirect(l.currentCommand(), "")
	default:
		l.parseWord()
	}
}

// parseCasePattern parses the pattern of a case branch, or the esac.
func (l *listParser) parseCasePattern(c byte) {
	p := l.p
	if strings.IndexByte("()|\n;&<>", c) >= 0 {
		l.inPattern = c != ')'
		p.pos++
		return
	}
	if w := p.parseWord(); w.Bare && w.Text == "esac" {
		l.openCases--
		l.inPattern = false
	}
}

// LineEnd returns the length of the first line of s, without its line break.
func LineEnd(s string) int {
	if n := strings.IndexByte(s, '\n'); n >= 0 {
		return n
	}
	return len(s)
}

func (p *parser) skipBlanks() {
	for p.pos < len(p.text) {
		switch c := p.text[p.pos]; {
		case c == ' ' || c == '\t' || c == '\r':
			p.pos++
		case c == p.dialect.escape && p.peek(1) == '\n':
			p.pos += 2
		default:
			return
		}
	}
}

func (l *listParser) currentCommand() *Command {
	if l.cmd == nil {
		l.cmd = &Command{Span: Span{l.p.src, l.p.pos, l.p.pos}, Scope: l.p.scope}
	}
	return l.cmd
}

func (l *listParser) parseAmpersand() {
	p := l.p
	switch {
	case p.peek(1) == '>':
		p.pos++
		p.parseRedirect(l.currentCommand(), "&")
	case p.peek(1) == '&':
		p.pos += 2
		l.endPipeline()
	default:
		p.pos++
		before := len(p.commands)
		if l.endPipeline(); len(p.commands) > before && p.dialect != PowerShell && p.dialect != WindowsCmd {
			p.commands[len(p.commands)-1].Background = true
		}
	}
}

func (l *listParser) parsePipe() {
	p := l.p
	p.pos++
	switch p.peek(0) {
	case '|':
		p.pos++
		l.endPipeline()
		return
	case '&':
		p.pos++
	}
	l.endCommand()
	l.upstream, l.pipelineStart = p.commands[l.pipelineStart:], len(p.commands)
}

// parseParen parses a subshell, the parentheses of a function, or arithmetic.
func (l *listParser) parseParen() {
	p := l.p
	switch {
	case l.cmd != nil && len(l.cmd.Words) == 1 && p.peek(1) == ')': // name()
		l.cmd = nil
		p.pos += 2
	case p.peek(1) == '(' && p.skipArithmetic(2):
	default:
		l.endCommand()
		stdin, outer := p.stdin, p.scope
		if l.upstream != nil {
			p.stdin = l.upstream
		}
		p.scope = &Scope{Parent: outer}
		p.pos++
		p.nested(func() { p.parseList(')') })
		p.stdin, p.scope = stdin, outer
	}
}

// nested calls read one nesting level deeper.
func (p *parser) nested(read func()) {
	if p.depth++; p.depth > MaxNesting {
		p.fail(p.pos)
	} else {
		read()
	}
	p.depth--
}

// skipArithmetic skips the ((…)) whose contents start skip bytes ahead. It reports whether there
// was one.
func (p *parser) skipArithmetic(skip int) bool {
	const longest = 1 << 10
	rest := p.text[min(len(p.text), p.pos+skip):]
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
				p.pos += skip + n + 1
				return true
			}
		case '`', '\'', '"':
			return false
		}
	}
	return false
}

// endPipeline ends the current command and its pipeline.
func (l *listParser) endPipeline() {
	l.endCommand()
	l.upstream, l.pipelineStart = nil, len(l.p.commands)
}

// reservedWords precede a command or end a compound command.
var reservedWords = map[string]bool{
	"then": true, "do": true, "else": true, "elif": true, "if": true, "while": true, "until": true, "!": true, "time": true,
	"{": true, "}": true, "fi": true, "done": true, "coproc": true,
}

// endCommand ends the current command, if any.
func (l *listParser) endCommand() {
	c := l.cmd
	if l.cmd = nil; c == nil {
		return
	}
	for len(c.Words) > 0 && c.Words[0].Bare && reservedWords[c.Words[0].Text] {
		c.Words = c.Words[1:]
	}
	if len(c.Words) > 0 && c.Words[0].Bare {
		switch c.Words[0].Text {
		case "esac":
			l.openCases = max(0, l.openCases-1)
			c.Words = c.Words[1:]
		case "function":
			c.Words = c.Words[min(2, len(c.Words)):]
		}
	}
	for len(c.Words) > 0 && IsAssignment(&c.Words[0]) {
		c.Assigns = append(c.Assigns, c.Words[0])
		c.Words = c.Words[1:]
	}
	if len(c.Words)+len(c.Assigns)+len(c.Redirects) == 0 {
		return
	}
	if c.Upstream = l.upstream; c.Upstream == nil {
		c.Upstream = l.p.stdin
	}
	c.Upstream = c.Upstream[max(0, len(c.Upstream)-maxWriters):]
	if len(c.Words) > 0 {
		c.Span = c.Words[0].Span.Through(c.Words[len(c.Words)-1].Span)
	} else {
		c.To = l.p.pos
	}
	l.p.commands = append(l.p.commands, c)
}

// IsAssignment reports whether w has the form NAME=value or NAME+=value.
func IsAssignment(w *Word) bool {
	name, _, ok := strings.Cut(w.Text, "=")
	if name = strings.TrimSuffix(name, "+"); !ok || name == "" {
		return false
	}
	if at := strings.IndexByte(name, '['); at > 0 && strings.HasSuffix(name, "]") {
		name = name[:at]
	}
	return NameLen(name) == len(name) && strings.HasPrefix(w.Span.Text(), name)
}

// NameLen returns the length of the variable name at the start of s.
func NameLen(s string) int {
	n := 0
	for n < len(s) && (s[n] == '_' || IsLetter(s[n]) || n > 0 && IsDigit(s[n])) {
		n++
	}
	return n
}

// IsLetter reports whether c is an ASCII letter.
func IsLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// IsDigit reports whether c is an ASCII digit.
func IsDigit(c byte) bool { return c >= '0' && c <= '9' }

// parseWord parses a word and adds it to the current command.
func (l *listParser) parseWord() {
	p := l.p
	c := l.currentCommand()
	w := p.parseWord()
	if next := p.peek(0); (next == '<' || next == '>') && w.Bare && IsNumber(w.Text) && p.peek(1) != '(' {
		p.parseRedirect(c, w.Text)
		return
	}
	if l.inTest {
		l.inTest = !w.Bare || w.Text != "]]"
		return
	}
	if w.Bare && w.Text == "[[" && len(c.Words) == 0 {
		l.inTest = true
	}
	c.Words = append(c.Words, w)
	if n := len(c.Words); w.Bare && w.Text == "in" && n >= 3 && c.Words[n-3].Text == "case" && allReserved(c.Words[:n-3]) {
		l.openCases++
		l.cmd, l.inPattern = nil, true
	}
}

func allReserved(words []Word) bool {
	return !slices.ContainsFunc(words, func(w Word) bool { return !w.Bare || !reservedWords[w.Text] })
}

// IsNumber reports whether s is a decimal number below 65,536.
func IsNumber(s string) bool {
	_, err := strconv.ParseUint(s, 10, 16)
	return err == nil
}

// parseRedirect parses an operator with < or > and its target.
func (p *parser) parseRedirect(c *Command, before string) {
	from := p.pos
	for p.pos < len(p.text) && p.pos-from < 3 && (p.text[p.pos] == '<' || p.text[p.pos] == '>') {
		p.pos++
	}
	r := Redirect{Op: p.text[from:p.pos]}
	if before == "&" {
		r.Op = "&" + r.Op
	}
	switch next := p.peek(0); {
	case r.Op == "<<":
		p.parseHeredoc(c)
		return
	case next == '&' && before != "&":
		if p.pos++; IsDigit(p.peek(0)) || p.peek(0) == '-' {
			p.pos++
			return
		}
	case next == '|':
		p.pos++
	}
	if p.skipBlanks(); p.pos == len(p.text) || strings.IndexByte("\n;&|", p.text[p.pos]) >= 0 {
		p.fail(from)
		return
	}
	r.Target = p.parseWord()
	c.Redirects = append(c.Redirects, r)
}

func (p *parser) parseHeredoc(c *Command) {
	h := heredoc{command: c, redirect: len(c.Redirects)}
	if p.peek(0) == '-' {
		h.stripTabs = true
		p.pos++
	}
	p.skipBlanks()
	w := p.parseWord()
	h.delimiter, h.literal = w.Text, !w.Bare
	c.Redirects = append(c.Redirects, Redirect{Op: "<<", Target: w})
	p.heredocs = append(p.heredocs, h)
}

// parseHeredocBodies parses the here-documents that were opened on the line just ended.
func (p *parser) parseHeredocBodies() {
	waiting := p.heredocs
	p.heredocs = nil
	for _, h := range waiting {
		from, to := p.pos, len(p.text)
		for p.pos < len(p.text) {
			start := p.pos
			n := LineEnd(p.text[p.pos:])
			text := p.text[start : start+n]
			p.pos = min(len(p.text), start+n+1)
			if h.stripTabs {
				text = strings.TrimLeft(text, "\t")
			}
			if strings.TrimSuffix(text, "\r") == h.delimiter {
				to = start
				break
			}
		}
		body := Word{Span: Span{p.src, from, to}, Text: p.text[from:to], Bare: true}
		if !h.literal {
			body.Subs = p.parseHeredocSubstitutions(from, to)
		}
		h.command.Redirects[h.redirect].Target = body
	}
}

// parseHeredocSubstitutions parses the commands that expanding a here-document runs.
func (p *parser) parseHeredocSubstitutions(from, to int) (subs []*Command) {
	if !strings.Contains(p.text[from:to], "$(") && !strings.Contains(p.text[from:to], "`") {
		return nil
	}
	after, whole := p.pos, p.text
	p.pos, p.text = from, p.text[:to]
	var w Word
	var text []byte
	for p.pos < len(p.text) {
		switch p.text[p.pos] {
		case '\\':
			p.pos = min(len(p.text), p.pos+2)
		case '$':
			p.parseDollar(&w, &text, true)
		case '`':
			p.parseBackticks(&w)
		default:
			p.pos++
		}
	}
	p.pos, p.text = after, whole
	if p.errPos >= 0 {
		p.pos = len(p.text)
	}
	return w.Subs
}

func appendRune(b []byte, r uint64) []byte {
	return utf8.AppendRune(b, rune(r)) //nolint:gosec // at most 32 bits; an invalid value becomes U+FFFD
}
