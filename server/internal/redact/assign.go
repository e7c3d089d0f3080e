package redact

import (
	"bytes"
	"slices"
)

// assigned finds the value in NAME=value, "name": "value", --name value, Name: value,
// where the name around s.b[at:] is a secret's.
func (r *Redactor) assigned(s *scan, at int) (found, bool) {
	from, to := s.name(at)
	rule := r.nameOf(s.b[from:to])
	if rule == nil {
		return found{}, false
	}
	if s.raw {
		return found{}, follows(s.b, from, to)
	}
	if !s.assign {
		return found{}, false
	}
	v, ok := valueAt(s.b, from, to)
	if !ok {
		return found{}, false
	}
	v.rule = rule.rule
	return v.find(s.b)
}

// name returns the name that is written around s.b[at:].
func (s *scan) name(at int) (from, to int) {
	from, to = at, at
	for from > 0 && at-from < longestName && isName(s.b[from-1]) {
		from--
	}
	for to < len(s.b) && to-at < longestName && isName(s.b[to]) {
		to++
	}
	if s.raw && from > 0 && s.b[from-1] == '\\' { // \n or \u000a stands before the name
		skip := 1
		if s.b[from] == 'u' {
			skip = 5
		}
		from = min(from+skip, at)
	}
	return from, to
}

// follows reports whether a value may follow the name b[from:to] in JSON text.
func follows(b []byte, from, to int) bool {
	if to == len(b) {
		return false
	}
	switch b[to] {
	case '"', '\'', '`', '\\':
		return true
	case ' ':
		if b[from] == '-' {
			return true
		}
	}
	i := skipSpace(b, to)
	return i < len(b) && (b[i] == '=' || b[i] == ':' || b[i] == '\\')
}

// skipSpace passes over a few blanks.
func skipSpace(b []byte, from int) int {
	i := from
	for i < len(b) && i < from+8 && (b[i] == ' ' || b[i] == '\t') {
		i++
	}
	return i
}

// value is where a value begins, and how it is written.
type value struct {
	at    int
	rule  string
	name  []byte
	style style
}

type style int

const (
	code   style = iota // name=value without quotes: it may be an expression
	env                 // NAME=value, to the next blank
	header              // Name: value
	flag                // --name value
	quoted              // "value" or \"value\"; at is the first byte in the quotes
)

// valueAt reads the separator behind the name b[from:to].
func valueAt(b []byte, from, to int) (value, bool) {
	v := value{name: b[from:to]}
	i := run(b, to, isSlash)
	quotedName := i < len(b) && isQuote(b[i])
	if quotedName {
		i++
	} else if i > to {
		return v, false
	}
	sep := skipSpace(b, i)
	if sep == len(b) {
		return v, false
	}
	spaced := sep > i
	switch c := b[sep]; {
	case c == '=' || c == ':':
		next := sep + 1
		if next < len(b) && (b[next] == '=' || c == '=' && b[next] == '>') { // := and =>, but == compares
			if c == '=' && b[next] == '=' {
				return v, false
			}
			next++
		}
		v.at = skipSpace(b, next)
		spaced = spaced || v.at > next
		v.style = styleOf(v.name, c, spaced)
	case b[from] == '-' && spaced && !quotedName:
		v.at, v.style = sep, flag
	default:
		return v, false
	}
	if q := run(b, v.at, isSlash); q < len(b) && isQuote(b[q]) {
		v.at, v.style = q+1, quoted
		return v, true
	}
	return v, v.at < len(b) && v.style >= 0
}

// styleOf tells how a value without quotes is written; -1: it is none.
func styleOf(name []byte, sep byte, spaced bool) style {
	upper := !bytes.ContainsFunc(name, func(c rune) bool { return c >= 'a' && c <= 'z' })
	trimmed := bytes.TrimLeft(name, "-")
	switch {
	case sep == ':' && (bytes.IndexByte(trimmed, '-') >= 0 || isHeader(trimmed)):
		return header
	case sep == ':':
		return -1 // a type, as in "password: string"
	case len(trimmed) < len(name):
		return flag
	case upper && !spaced:
		return env
	case upper || !spaced:
		return code
	default:
		return -1
	}
}

func isHeader(name []byte) bool {
	return bytes.EqualFold(name, []byte("authorization")) || bytes.EqualFold(name, []byte("cookie"))
}

func isSlash(c byte) bool { return c == '\\' }
func isQuote(c byte) bool { return c == '"' || c == '\'' || c == '`' }

// find returns the bytes of the value, if it is worth hiding: a reference such as
// $TOKEN or <your token> isn't, and neither is what was hidden before.
func (v value) find(b []byte) (found, bool) {
	if v.at >= len(b) || bytes.IndexByte([]byte("$<{(%*"), b[v.at]) >= 0 || markLen(b[v.at:]) > 0 {
		return found{}, false
	}
	end := v.end(b)
	text := b[v.at:end]
	if len(text) == 0 || v.style == flag && text[0] == '-' || v.style == code && isExpression(v.name, text) {
		return found{}, false
	}
	return found{v.at, end, v.rule}, true
}

func (v value) end(b []byte) int {
	stop := func(set string) int {
		return run(b, v.at, func(c byte) bool { return c > ' ' && !isQuote(c) && bytes.IndexByte([]byte(set), c) < 0 })
	}
	switch v.style {
	case quoted:
		return closing(b, v.at)
	case header:
		if bytes.HasSuffix(bytes.ToLower(v.name), []byte("cookie")) {
			return run(b, v.at, func(c byte) bool { return c >= ' ' && !isQuote(c) })
		}
		end := stop("")
		// Authorization: Basic dXNlcjpwdw==
		if end+1 < len(b) && b[end] == ' ' && run(b, v.at, isAlnum) == end && isHeader(v.name) {
			v.at = end + 1
			return max(end, stop(""))
		}
		return end
	case env, flag:
		return stop(`\`)
	default:
		return stop(`\&;,)}]<>|`)
	}
}

// closing is where the quotation that begins at from ends: at the same quote with
// as many backslashes before it. A missing one ends at the next blank.
func closing(b []byte, from int) int {
	quote := b[from-1]
	slashes := 0
	for from-2-slashes >= 0 && b[from-2-slashes] == '\\' {
		slashes++
	}
	for i, n := from, 0; i < len(b) && i < from+4096; i++ {
		switch {
		case b[i] == '\\':
			n++
			continue
		case b[i] == quote && n <= slashes:
			return max(from, i-n)
		}
		n = 0
	}
	return run(b, from, func(c byte) bool { return c > ' ' && c != quote })
}

// isExpression reports whether a value without quotes is code: a call, a member,
// a constant, the name itself.
func isExpression(name, text []byte) bool {
	if len(text) > 64 {
		return false
	}
	if bytes.ContainsAny(text, "([") || bytes.EqualFold(name, text) {
		return true
	}
	if bytes.IndexByte(text, '.') > 0 && len(bytes.Trim(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_.")) == 0 {
		return true
	}
	return slices.Contains([]string{"none", "null", "nil", "true", "false", "undefined", "string", "str", "..."}, string(bytes.ToLower(text)))
}
