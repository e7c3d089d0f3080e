package risk

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
	// maxNesting is the maximum depth of substitutions and nested scripts.
	maxNesting = 32
	// maxWords is the maximum number of words parsed per call.
	maxWords = 1 << 14
	// maxWriters is the maximum number of commands kept as the upstream of one command.
	maxWriters = 16
)

// dialect describes how a shell quotes and escapes.
type dialect struct {
	escape       byte // makes the next character literal
	backticks    bool // `…` is a command substitution
	singleQuotes bool // '…' quotes
	braceBlocks  bool // { and } are separators, not words
}

var (
	posix      = dialect{escape: '\\', backticks: true, singleQuotes: true}
	powershell = dialect{escape: '`', singleQuotes: true, braceBlocks: true}
	windowsCmd = dialect{escape: '^'}
)

// shellWord is one word of a command, with quotes and escapes removed.
type shellWord struct {
	span
	text       string
	bare       bool       // no part was quoted
	vars       []variable // variables that the shell expands in it
	subs       []*command // commands that run to produce it: $(…), `…`, <(…)
	process    bool       // it is <(…) or >(…)
	obfuscated bool       // letters were written as \x72 or \162
}

type variable struct {
	name    string
	guarded bool // ${X:?…} or ${X:-…}: can't expand to nothing
}

// isDynamic reports whether the value of the word is known only at run time.
func (w *shellWord) isDynamic() bool { return len(w.vars) > 0 || len(w.subs) > 0 }

// redirect is a redirection: > file, < file or << text.
type redirect struct {
	op     string
	target shellWord // for a here-document, its text
}

// command is one simple command.
type command struct {
	span
	assigns    []shellWord // NAME=value words before the program
	words      []shellWord
	redirects  []redirect
	upstream   []*command // commands whose output it reads
	downstream *command   // command that reads its output
	sentAway   bool       // its output reaches a program that sends data to the network
	background bool
	scope      *scope
}

// scope is the extent of a cd: a subshell has its own.
type scope struct {
	parent   *scope
	dir      string
	resolved bool
}

type parser struct {
	src        *source
	text       string
	pos        int
	dialect    dialect
	wordBudget *int // words that may still be parsed
	depth      int
	scope      *scope
	stdin      []*command
	commands   []*command
	heredocs   []heredoc
	errPos     int // position of the first syntax error, or -1
}

type heredoc struct {
	command            *command
	redirect           int
	delimiter          string
	stripTabs, literal bool
}

// parse returns the commands of src and the position of the first syntax error, or -1. Commands in
// a substitution come before the command that contains it.
func parse(src *source, d dialect, words *int, parent *scope) (commands []*command, errPos int) {
	p := &parser{src: src, text: src.text, dialect: d, wordBudget: words, scope: &scope{parent: parent}, errPos: -1}
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
	cmd           *command
	upstream      []*command // commands before the pipe
	pipelineStart int        // index in p.commands of the current stage of the pipeline
	openCases     int        // open case … esac statements
	// inTest is set within [[ … ]]; inPattern is set up to the parenthesis that ends a pattern of a
	// case statement. Operators have other meanings there.
	inTest, inPattern bool
}

// parseList parses commands up to end, which is ')' or, for the end of the text, 0.
func (p *parser) parseList(end byte) []*command {
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
		p.pos += lineEnd(p.text[p.pos:])
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
	if w := p.parseWord(); w.bare && w.text == "esac" {
		l.openCases--
		l.inPattern = false
	}
}

func lineEnd(s string) int {
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

func (l *listParser) currentCommand() *command {
	if l.cmd == nil {
		l.cmd = &command{span: span{l.p.src, l.p.pos, l.p.pos}, scope: l.p.scope}
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
		if l.endPipeline(); len(p.commands) > before && p.dialect != powershell && p.dialect != windowsCmd {
			p.commands[len(p.commands)-1].background = true
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
	case l.cmd != nil && len(l.cmd.words) == 1 && p.peek(1) == ')': // name()
		l.cmd = nil
		p.pos += 2
	case p.peek(1) == '(' && p.skipArithmetic(2):
	default:
		l.endCommand()
		stdin, outer := p.stdin, p.scope
		if l.upstream != nil {
			p.stdin = l.upstream
		}
		p.scope = &scope{parent: outer}
		p.pos++
		p.nested(func() { p.parseList(')') })
		p.stdin, p.scope = stdin, outer
	}
}

// nested calls read one nesting level deeper.
func (p *parser) nested(read func()) {
	if p.depth++; p.depth > maxNesting {
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
	for len(c.words) > 0 && c.words[0].bare && reservedWords[c.words[0].text] {
		c.words = c.words[1:]
	}
	if len(c.words) > 0 && c.words[0].bare {
		switch c.words[0].text {
		case "esac":
			l.openCases = max(0, l.openCases-1)
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
	if c.upstream = l.upstream; c.upstream == nil {
		c.upstream = l.p.stdin
	}
	c.upstream = c.upstream[max(0, len(c.upstream)-maxWriters):]
	if len(c.words) > 0 {
		c.span = c.words[0].span.through(c.words[len(c.words)-1].span)
	} else {
		c.to = l.p.pos
	}
	l.p.commands = append(l.p.commands, c)
}

func isAssignment(w *shellWord) bool {
	name, _, ok := strings.Cut(w.text, "=")
	if name = strings.TrimSuffix(name, "+"); !ok || name == "" {
		return false
	}
	if at := strings.IndexByte(name, '['); at > 0 && strings.HasSuffix(name, "]") {
		name = name[:at]
	}
	return nameLen(name) == len(name) && strings.HasPrefix(w.span.text(), name)
}

// nameLen returns the length of the variable name at the start of s.
func nameLen(s string) int {
	n := 0
	for n < len(s) && (s[n] == '_' || isLetter(s[n]) || n > 0 && isDigit(s[n])) {
		n++
	}
	return n
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }

// parseWord parses a word and adds it to the current command.
func (l *listParser) parseWord() {
	p := l.p
	c := l.currentCommand()
	w := p.parseWord()
	if next := p.peek(0); (next == '<' || next == '>') && w.bare && isNumber(w.text) && p.peek(1) != '(' {
		p.parseRedirect(c, w.text)
		return
	}
	if l.inTest {
		l.inTest = !w.bare || w.text != "]]"
		return
	}
	if w.bare && w.text == "[[" && len(c.words) == 0 {
		l.inTest = true
	}
	c.words = append(c.words, w)
	if n := len(c.words); w.bare && w.text == "in" && n >= 3 && c.words[n-3].text == "case" && allReserved(c.words[:n-3]) {
		l.openCases++
		l.cmd, l.inPattern = nil, true
	}
}

func allReserved(words []shellWord) bool {
	return !slices.ContainsFunc(words, func(w shellWord) bool { return !w.bare || !reservedWords[w.text] })
}

func isNumber(s string) bool {
	_, err := strconv.ParseUint(s, 10, 16)
	return err == nil
}

// parseRedirect parses an operator with < or > and its target.
func (p *parser) parseRedirect(c *command, before string) {
	from := p.pos
	for p.pos < len(p.text) && p.pos-from < 3 && (p.text[p.pos] == '<' || p.text[p.pos] == '>') {
		p.pos++
	}
	r := redirect{op: p.text[from:p.pos]}
	if before == "&" {
		r.op = "&" + r.op
	}
	switch next := p.peek(0); {
	case r.op == "<<":
		p.parseHeredoc(c)
		return
	case next == '&' && before != "&":
		if p.pos++; isDigit(p.peek(0)) || p.peek(0) == '-' {
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
	r.target = p.parseWord()
	c.redirects = append(c.redirects, r)
}

func (p *parser) parseHeredoc(c *command) {
	h := heredoc{command: c, redirect: len(c.redirects)}
	if p.peek(0) == '-' {
		h.stripTabs = true
		p.pos++
	}
	p.skipBlanks()
	w := p.parseWord()
	h.delimiter, h.literal = w.text, !w.bare
	c.redirects = append(c.redirects, redirect{op: "<<", target: w})
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
			n := lineEnd(p.text[p.pos:])
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
		body := shellWord{span: span{p.src, from, to}, text: p.text[from:to], bare: true}
		if !h.literal {
			body.subs = p.parseHeredocSubstitutions(from, to)
		}
		h.command.redirects[h.redirect].target = body
	}
}

// parseHeredocSubstitutions parses the commands that expanding a here-document runs.
func (p *parser) parseHeredocSubstitutions(from, to int) (subs []*command) {
	if !strings.Contains(p.text[from:to], "$(") && !strings.Contains(p.text[from:to], "`") {
		return nil
	}
	after, whole := p.pos, p.text
	p.pos, p.text = from, p.text[:to]
	var w shellWord
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
	return w.subs
}

func appendRune(b []byte, r uint64) []byte { return utf8.AppendRune(b, rune(r)) } //nolint:gosec // at most 32 bits; an invalid value becomes U+FFFD
