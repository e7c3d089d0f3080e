package risk

import (
	"strconv"
	"strings"
)

// plainBytes stand for themselves in a word.
var plainBytes = func() (t [256]bool) {
	for c := range 256 {
		t[c] = strings.IndexByte(" \t\r\n;&|()<>\"'`$\\^{}", byte(c)) < 0
	}
	return t
}()

// word reads one word.
func (p *parser) word() word {
	w := word{span: span{p.src, p.i, p.i}, bare: true}
	if *p.words--; *p.words < 0 {
		p.fail(p.i)
		w.to = w.from
		return w
	}
	for p.i < len(p.s) && plainBytes[p.s[p.i]] {
		p.i++
	}
	var text []byte
	if p.i == len(p.s) || p.ends(p.s[p.i]) {
		w.to, w.text = p.i, p.s[w.from:p.i]
	} else {
		text = append(text, p.s[w.from:p.i]...)
		for p.i < len(p.s) && !p.ends(p.s[p.i]) {
			p.piece(&w, &text)
		}
		w.to, w.text = p.i, string(text)
	}
	if p.i == w.from { // nothing moved: an operator where a word should be
		p.fail(p.i)
	}
	return w
}

// ends reports whether c, unquoted, ends the word before it.
func (p *parser) ends(c byte) bool {
	switch c {
	case ' ', '\t', '\r', '\n', ';', '&', '|', ')':
		return true
	case '<', '>':
		return p.peek(1) != '('
	case '(':
		return p.i == 0 || strings.IndexByte("!@?*+=", p.s[p.i-1]) < 0
	case '{', '}':
		return p.d.blocks
	default:
		return false
	}
}

// piece reads what stands at p.i: a character, an escape, a quotation or a
// substitution.
func (p *parser) piece(w *word, text *[]byte) {
	switch c := p.s[p.i]; {
	case c == p.d.escape:
		if p.i++; p.i == len(p.s) {
			return
		}
		if p.s[p.i] != '\n' {
			*text = append(*text, p.s[p.i])
			w.bare = false
		}
		p.i++
	case c == '\'' && p.d.single:
		n := strings.IndexByte(p.s[p.i+1:], '\'')
		if n < 0 {
			p.fail(p.i)
			return
		}
		*text = append(*text, p.s[p.i+1:p.i+1+n]...)
		p.i += n + 2
		w.bare = false
	case c == '"':
		w.bare = false
		p.double(w, text)
	case c == '$':
		p.dollar(w, text, false)
	case c == '`' && p.d.backticks:
		p.backtick(w)
	case (c == '<' || c == '>') && p.peek(1) == '(':
		p.i += 2
		w.process = true
		p.substitution(w)
	case c == '(': // a pattern such as !(a|b), or a list
		p.i++
		p.nested(func() { p.bracket(w) })
	default:
		*text = append(*text, c)
		p.i++
	}
}

// bracket skips to the end of (…) in a word. What it substitutes is run.
func (p *parser) bracket(w *word) {
	var skipped []byte
	opened := p.i - 1
	for p.i < len(p.s) {
		if p.s[p.i] == ')' {
			p.i++
			return
		}
		p.piece(w, &skipped)
	}
	p.fail(opened)
}

// double reads "…".
func (p *parser) double(w *word, text *[]byte) {
	opened := p.i
	p.i++
	for p.i < len(p.s) {
		switch c := p.s[p.i]; {
		case c == '"':
			p.i++
			return
		case c == p.d.escape && p.i+1 < len(p.s):
			if next := p.s[p.i+1]; p.d != posix || strings.IndexByte("\"\\$`", next) >= 0 {
				*text = append(*text, next)
			} else if next != '\n' {
				*text = append(*text, c, next)
			}
			p.i += 2
		case c == '$':
			p.dollar(w, text, true)
		case c == '`' && p.d.backticks:
			p.backtick(w)
		default:
			*text = append(*text, c)
			p.i++
		}
	}
	p.fail(opened)
}

// dollar reads what begins with $: in the text it stays as it was written.
func (p *parser) dollar(w *word, text *[]byte, quoted bool) {
	from := p.i
	rest := p.s[p.i+1:]
	switch {
	case strings.HasPrefix(rest, "((") && p.arithmetic(3):
		w.vars = append(w.vars, variable{name: "((", guarded: true})
	case strings.HasPrefix(rest, "("):
		p.i += 2
		p.substitution(w)
	case strings.HasPrefix(rest, "{"):
		p.i += 2
		p.nested(func() { p.braces(w) })
	case strings.HasPrefix(rest, "'") && !quoted && p.d.single:
		p.i += 2
		w.bare = false
		p.ansi(w, text)
		return
	default:
		p.i++
		if n := nameLen(rest); n > 0 {
			w.vars = append(w.vars, variable{name: rest[:n]})
			p.i += n
		} else if rest != "" && (isDigit(rest[0]) || strings.IndexByte("@*#?$!", rest[0]) >= 0) {
			w.vars = append(w.vars, variable{name: rest[:1], guarded: true})
			p.i++
		} else if strings.HasPrefix(rest, `"`) && !quoted {
			return
		}
	}
	*text = append(*text, p.s[from:min(p.i, len(p.s))]...)
}

// braces reads the rest of ${…}.
func (p *parser) braces(w *word) {
	opened := p.i - 2
	name := strings.TrimLeft(p.s[p.i:min(len(p.s), p.i+64)], "!#")
	v := variable{name: name[:nameLen(name)]}
	after := name[len(v.name):]
	v.guarded = v.name == "" || strings.HasPrefix(after, ":?") || strings.HasPrefix(after, "?") ||
		strings.HasPrefix(after, ":-") && !strings.HasPrefix(after, ":-}") || strings.HasPrefix(after, "#") || strings.HasPrefix(after, "[")
	w.vars = append(w.vars, v)
	var skipped []byte
	for p.i < len(p.s) {
		if p.s[p.i] == '}' {
			p.i++
			return
		}
		p.piece(w, &skipped)
	}
	p.fail(opened)
}

// substitution reads the commands up to the bracket that closes them.
func (p *parser) substitution(w *word) {
	outer, stdin := p.scope, p.stdin
	p.scope, p.stdin = &scope{parent: outer}, nil
	waiting := p.heredocs
	p.heredocs = nil
	p.nested(func() { w.subs = append(w.subs, p.list(')')...) })
	p.heredocs = append(waiting, p.heredocs...)
	p.scope, p.stdin = outer, stdin
}

// backtick reads `…`, whose commands are escaped once more.
func (p *parser) backtick(w *word) {
	opened := p.i
	var text []byte
	for p.i++; p.i < len(p.s); p.i++ {
		switch c := p.s[p.i]; {
		case c == '`':
			p.i++
			inner := span{p.src, opened + 1, p.i - 1}.within(string(text))
			q := &parser{src: inner, s: inner.text, d: p.d, words: p.words, depth: p.depth, scope: &scope{parent: p.scope}, bad: -1}
			q.nested(func() { q.list(0) })
			w.subs = append(w.subs, q.out...)
			p.out = append(p.out, q.out...)
			if q.bad >= 0 {
				p.fail(opened)
			}
			return
		case c == '\\' && strings.IndexByte("`\\$", p.peek(1)) >= 0:
			p.i++
			text = append(text, p.peek(0))
		default:
			text = append(text, c)
		}
	}
	p.fail(opened)
}

// ansi reads the rest of $'…'.
func (p *parser) ansi(w *word, text *[]byte) {
	opened := p.i - 2
	for p.i < len(p.s) {
		c := p.s[p.i]
		p.i++
		switch {
		case c == '\'':
			return
		case c != '\\' || p.i == len(p.s):
			*text = append(*text, c)
		default:
			p.ansiEscape(w, text)
		}
	}
	p.fail(opened)
}

func (p *parser) ansiEscape(w *word, text *[]byte) {
	const plain, meaning = `abefnrtv`, "\a\b\x1b\f\n\r\t\v"
	c := p.s[p.i]
	var digits int
	base, from := 16, p.i+1
	switch {
	case c == 'x':
		digits = 2
	case c == 'u':
		digits = 4
	case c == 'U':
		digits = 8
	case c >= '0' && c <= '7':
		digits, base, from = 3, 8, p.i
	default:
		if at := strings.IndexByte(plain, c); at >= 0 {
			c = meaning[at]
		}
		*text = append(*text, c)
		p.i++
		return
	}
	to := from
	for to < len(p.s) && to < from+digits && isDigitOf(p.s[to], base) {
		to++
	}
	n, _ := strconv.ParseUint(p.s[from:to], base, 32)
	if n >= 0x20 && n < 0x7f {
		w.disguise = true // who writes r as \x72 does not want it read
	}
	*text = appendRune(*text, n)
	p.i = max(to, p.i+1)
}

func isDigitOf(c byte, base int) bool {
	if base == 8 {
		return c >= '0' && c <= '7'
	}
	return isDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'f'
}
