package filter

import (
	"strings"
	"unicode/utf8"
)

// token is one term as written.
type token struct {
	negated, keyed, regex bool
	key, value            string
}

// nextToken returns the first token of s and the rest; s must not begin with a space. A prefix
// without a value is a word: "-", "key:".
func nextToken(s string) (token, string) {
	if after, minus := strings.CutPrefix(s, "-"); minus {
		if tok, rest, ok := nextKeyedValue(after); ok {
			tok.negated = true
			return tok, rest
		}
	}
	tok, rest, _ := nextKeyedValue(s)
	return tok, rest
}

// nextKeyedValue reads a value with an optional key.
func nextKeyedValue(s string) (tok token, rest string, ok bool) {
	n := 0
	for n < len(s) && isKeyByte(s[n]) {
		n++
	}
	if n > 0 && n < len(s) && s[n] == ':' {
		if tok, rest, ok = nextValue(s[n+1:]); ok {
			tok.keyed, tok.key = true, s[:n]
			return tok, rest, true
		}
	}
	return nextValue(s)
}

func nextValue(s string) (tok token, rest string, ok bool) {
	if after, quoted := strings.CutPrefix(s, `"`); quoted {
		tok.value, rest, _ = strings.Cut(after, `"`)
		return tok, rest, true
	}
	if n := regexEnd(s); n > 0 {
		return token{regex: true, value: s[1:n]}, s[n+1:], true
	}
	n := len(s) - len(strings.TrimLeftFunc(s, func(r rune) bool { return !isSpace(r) }))
	return token{value: s[:n]}, s[n:], n > 0
}

// regexEnd returns the index of the slash that ends the regular expression at the start of s, or
// 0 if s does not begin with one: in /usr/bin, the second slash ends nothing.
func regexEnd(s string) int {
	if !strings.HasPrefix(s, "/") {
		return 0
	}
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			r, size := utf8.DecodeRuneInString(s[i+1:])
			if isLineTerminator(r) {
				return 0
			}
			i += size
		case '/':
			if r, _ := utf8.DecodeRuneInString(s[i+1:]); i+1 == len(s) || isSpace(r) {
				return i
			}
			return 0
		}
	}
	return 0
}

func isKeyByte(c byte) bool {
	return c == '.' || c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

func skipSpace(s string) string { return strings.TrimLeftFunc(s, isSpace) }

// isSpace reports whether JavaScript's \s matches r.
func isSpace(r rune) bool {
	switch {
	case r == ' ', '\t' <= r && r <= '\r', 0x2000 <= r && r <= 0x200a:
		return true
	case r == 0xa0, r == 0x1680, r == 0x2028, r == 0x2029, r == 0x202f, r == 0x205f, r == 0x3000, r == 0xfeff:
		return true
	default:
		return false
	}
}

// isLineTerminator reports whether JavaScript's dot does not match r.
func isLineTerminator(r rune) bool { return r == '\n' || r == '\r' || r == 0x2028 || r == 0x2029 }
