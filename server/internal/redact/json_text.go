package redact

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// decodeString decodes the contents of a JSON string, and returns the offset in raw of an offset in the
// text. It keeps a malformed escape unchanged. The text must not be modified.
func decodeString(raw []byte) (text []byte, offset func(int) int) {
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw, func(i int) int { return i }
	}
	text = make([]byte, 0, len(raw))
	origins := make([]int, 0, len(raw)+1)
	for i := 0; i < len(raw); {
		n, before := bytes.IndexByte(raw[i:], '\\'), len(text)
		if n < 0 {
			n = len(raw) - i
		}
		if n > 0 {
			text = append(text, raw[i:i+n]...)
			for k := range n {
				origins = append(origins, i+k)
			}
			i += n
			continue
		}
		var err error
		n = escapeLen(raw[i:])
		if text, err = jsontext.AppendUnquote(text, `"`+string(raw[i:i+n])+`"`); err != nil {
			text = append(text[:before], raw[i:i+n]...)
		}
		for range len(text) - before {
			origins = append(origins, i)
		}
		i += n
	}
	origins = append(origins, len(raw))
	return text, func(i int) int { return origins[i] }
}

// escapeLen returns the length of the escape at the start of b.
func escapeLen(b []byte) int {
	n := 2
	if len(b) >= 2 && b[1] == 'u' {
		n = 6
	}
	if len(b) >= 12 && n == 6 && b[2]|0x20 == 'd' && b[6] == '\\' && b[7] == 'u' && b[8]|0x20 == 'd' { // halves of a character
		n = 12
	}
	return min(n, len(b))
}

func isLower(c byte) bool { return c >= 'a' && c <= 'z' }
func isUpper(c byte) bool { return c >= 'A' && c <= 'Z' }
func isDigit(c byte) bool { return c >= '0' && c <= '9' }
func isAlnum(c byte) bool { return isLower(c|0x20) || isDigit(c) }
func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// isName reports whether c can be part of a name such as api_key or --api-key, or of base64url.
func isName(c byte) bool { return isAlnum(c) || c == '_' || c == '-' }

// isToken68 reports whether c can be part of a token68 (RFC 9110), as in a header.
func isToken68(c byte) bool {
	return isName(c) || c == '.' || c == '~' || c == '+' || c == '/' || c == '='
}

// skipWhile returns the end of the bytes of the class that begin at from.
func skipWhile(b []byte, from int, class func(byte) bool) int {
	for from < len(b) && class(b[from]) {
		from++
	}
	return from
}
