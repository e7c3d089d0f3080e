package shell

import (
	"strconv"
	"strings"
)

// literalBytes marks the bytes that have no special meaning in a word.
var literalBytes = func() (t [256]bool) {
	for c := range 256 {
		t[c] = strings.IndexByte(" \t\r\n;&|()<>\"'`$\\^{}", byte(c)) < 0
	}
	return t
}()

// parseWord parses one word.
func (p *parser) parseWord() Word {
	w := Word{Span: Span{p.src, p.pos, p.pos}, Bare: true}
	if *p.wordBudget--; *p.wordBudget < 0 {
		p.fail(p.pos)
		w.To = w.From
		return w
	}
	for p.pos < len(p.text) && literalBytes[p.text[p.pos]] {
		p.pos++
	}
	var text []byte
	if p.pos == len(p.text) || p.endsWord(p.text[p.pos]) {
		w.To, w.Text = p.pos, p.text[w.From:p.pos]
	} else {
		text = append(text, p.text[w.From:p.pos]...)
		for p.pos < len(p.text) && !p.endsWord(p.text[p.pos]) {
			p.parsePiece(&w, &text)
		}
		w.To, w.Text = p.pos, string(text)
	}
	if p.pos == w.From { // no progress: an operator in place of a word
		p.fail(p.pos)
	}
	return w
}

// endsWord reports whether an unquoted c ends the current word.
func (p *parser) endsWord(c byte) bool {
	switch c {
	case ' ', '\t', '\r', '\n', ';', '&', '|', ')':
		return true
	case '<', '>':
		return p.peek(1) != '('
	case '(':
		return p.pos == 0 || strings.IndexByte("!@?*+=", p.text[p.pos-1]) < 0
	case '{', '}':
		return p.dialect.braceBlocks
	default:
		return false
	}
}

// parsePiece parses the part of a word at p.pos: a character, an escape, a quoted string or a
// substitution.
func (p *parser) parsePiece(w *Word, text *[]byte) {
	switch c := p.text[p.pos]; {
	case c == p.dialect.escape:
		if p.pos++; p.pos == len(p.text) {
			return
		}
		if p.text[p.pos] != '\n' {
			*text = append(*text, p.text[p.pos])
			w.Bare = false
		}
		p.pos++
	case c == '\'' && p.dialect.singleQuotes:
		n := strings.IndexByte(p.text[p.pos+1:], '\'')
		if n < 0 {
			p.fail(p.pos)
			return
		}
		*text = append(*text, p.text[p.pos+1:p.pos+1+n]...)
		p.pos += n + 2
		w.Bare = false
	case c == '"':
		w.Bare = false
		p.parseDoubleQuoted(w, text)
	case c == '$':
		p.parseDollar(w, text, false)
	case c == '`' && p.dialect.backticks:
		p.parseBackticks(w)
	case (c == '<' || c == '>') && p.peek(1) == '(':
		p.pos += 2
		w.Process = true
		p.parseSubstitution(w)
	case c == '(': // a pattern such as !(a|b), or an array
		p.pos++
		p.nested(func() { p.skipGroup(w) })
	default:
		*text = append(*text, c)
		p.pos++
	}
}

// skipGroup skips the rest of (…) in a word. It still parses the substitutions in it, which run.
func (p *parser) skipGroup(w *Word) {
	var skipped []byte
	opened := p.pos - 1
	for p.pos < len(p.text) {
		if p.text[p.pos] == ')' {
			p.pos++
			return
		}
		p.parsePiece(w, &skipped)
	}
	p.fail(opened)
}

// parseDoubleQuoted parses "…".
func (p *parser) parseDoubleQuoted(w *Word, text *[]byte) {
	opened := p.pos
	p.pos++
	for p.pos < len(p.text) {
		switch c := p.text[p.pos]; {
		case c == '"':
			p.pos++
			return
		case c == p.dialect.escape && p.pos+1 < len(p.text):
			if next := p.text[p.pos+1]; p.dialect != POSIX || strings.IndexByte("\"\\$`", next) >= 0 {
				*text = append(*text, next)
			} else if next != '\n' {
				*text = append(*text, c, next)
			}
			p.pos += 2
		case c == '$':
			p.parseDollar(w, text, true)
		case c == '`' && p.dialect.backticks:
			p.parseBackticks(w)
		default:
			*text = append(*text, c)
			p.pos++
		}
	}
	p.fail(opened)
}

// parseDollar parses an expansion. The text of the word keeps it as written.
func (p *parser) parseDollar(w *Word, text *[]byte, quoted bool) {
	from := p.pos
	rest := p.text[p.pos+1:]
	switch {
	case strings.HasPrefix(rest, "((") && p.skipArithmetic(3):
		w.Vars = append(w.Vars, variable{Name: "((", Guarded: true})
	case strings.HasPrefix(rest, "("):
		p.pos += 2
		p.parseSubstitution(w)
	case strings.HasPrefix(rest, "{"):
		p.pos += 2
		p.nested(func() { p.parseParameter(w) })
	case strings.HasPrefix(rest, "'") && !quoted && p.dialect.singleQuotes:
		p.pos += 2
		w.Bare = false
		p.parseANSIQuoted(w, text)
		return
	default:
		p.pos++
		if n := NameLen(rest); n > 0 {
			w.Vars = append(w.Vars, variable{Name: rest[:n]})
			p.pos += n
		} else if rest != "" && (IsDigit(rest[0]) || strings.IndexByte("@*#?$!", rest[0]) >= 0) {
			w.Vars = append(w.Vars, variable{Name: rest[:1], Guarded: true})
			p.pos++
		} else if strings.HasPrefix(rest, `"`) && !quoted {
			return
		}
	}
	*text = append(*text, p.text[from:min(p.pos, len(p.text))]...)
}

// parseParameter parses the rest of ${…}.
func (p *parser) parseParameter(w *Word) {
	opened := p.pos - 2
	name := strings.TrimLeft(p.text[p.pos:min(len(p.text), p.pos+64)], "!#")
	v := variable{Name: name[:NameLen(name)]}
	after := name[len(v.Name):]
	v.Guarded = v.Name == "" || strings.HasPrefix(after, ":?") || strings.HasPrefix(after, "?") ||
		strings.HasPrefix(after, ":-") && !strings.HasPrefix(after, ":-}") || strings.HasPrefix(after, "#") || strings.HasPrefix(after, "[")
	w.Vars = append(w.Vars, v)
	var skipped []byte
	for p.pos < len(p.text) {
		if p.text[p.pos] == '}' {
			p.pos++
			return
		}
		p.parsePiece(w, &skipped)
	}
	p.fail(opened)
}

// parseSubstitution parses commands up to the closing parenthesis.
func (p *parser) parseSubstitution(w *Word) {
	outer, stdin := p.scope, p.stdin
	p.scope, p.stdin = &Scope{Parent: outer}, nil
	waiting := p.heredocs
	p.heredocs = nil
	p.nested(func() { w.Subs = append(w.Subs, p.parseList(')')...) })
	p.heredocs = append(waiting, p.heredocs...)
	p.scope, p.stdin = outer, stdin
}

// parseBackticks parses `…`. Its commands have an additional level of escapes.
func (p *parser) parseBackticks(w *Word) {
	opened := p.pos
	var text []byte
	for p.pos++; p.pos < len(p.text); p.pos++ {
		switch c := p.text[p.pos]; {
		case c == '`':
			p.pos++
			inner := Span{p.src, opened + 1, p.pos - 1}.InnerSource(string(text))
			q := &parser{src: inner, text: inner.Text, dialect: p.dialect, wordBudget: p.wordBudget, depth: p.depth, scope: &Scope{Parent: p.scope}, errPos: -1}
			q.nested(func() { q.parseList(0) })
			w.Subs = append(w.Subs, q.commands...)
			p.commands = append(p.commands, q.commands...)
			if q.errPos >= 0 {
				p.fail(opened)
			}
			return
		case c == '\\' && strings.IndexByte("`\\$", p.peek(1)) >= 0:
			p.pos++
			text = append(text, p.peek(0))
		default:
			text = append(text, c)
		}
	}
	p.fail(opened)
}

// parseANSIQuoted parses the rest of $'…'.
func (p *parser) parseANSIQuoted(w *Word, text *[]byte) {
	opened := p.pos - 2
	for p.pos < len(p.text) {
		c := p.text[p.pos]
		p.pos++
		switch {
		case c == '\'':
			return
		case c != '\\' || p.pos == len(p.text):
			*text = append(*text, c)
		default:
			p.parseANSIEscape(w, text)
		}
	}
	p.fail(opened)
}

func (p *parser) parseANSIEscape(w *Word, text *[]byte) {
	const plain, meaning = `abefnrtv`, "\a\b\x1b\f\n\r\t\v"
	c := p.text[p.pos]
	var digits int
	base, from := 16, p.pos+1
	switch {
	case c == 'x':
		digits = 2
	case c == 'u':
		digits = 4
	case c == 'U':
		digits = 8
	case c >= '0' && c <= '7':
		digits, base, from = 3, 8, p.pos
	default:
		if at := strings.IndexByte(plain, c); at >= 0 {
			c = meaning[at]
		}
		*text = append(*text, c)
		p.pos++
		return
	}
	to := from
	for to < len(p.text) && to < from+digits && isDigitOf(p.text[to], base) {
		to++
	}
	n, _ := strconv.ParseUint(p.text[from:to], base, 32)
	if n >= 0x20 && n < 0x7f {
		w.Obfuscated = true // writing a printable character as \x72 serves only to hide it
	}
	*text = appendRune(*text, n)
	p.pos = max(to, p.pos+1)
}

func isDigitOf(c byte, base int) bool {
	if base == 8 {
		return c >= '0' && c <= '7'
	}
	return IsDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'f'
}
