package redact

import (
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// decodeString decodes the contents of a JSON string. It keeps a malformed escape unchanged.
func decodeString(raw []byte) []byte {
	text := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); {
		var n int
		text, n = appendNext(text, raw[i:])
		i += n
	}
	return text
}

// appendNext appends the first character or byte of b, decoded, and returns its length in b.
func appendNext(dst, b []byte) ([]byte, int) {
	if b[0] == '\\' {
		return appendEscape(dst, b)
	}
	return append(dst, b[0]), 1
}

// cursor maps offsets in decoded text to offsets in raw. The offsets must not decrease.
type cursor struct {
	raw      []byte
	at, text int
}

func (c *cursor) seek(text int) int {
	var scratch [12]byte
	for c.at < len(c.raw) {
		b, n := appendNext(scratch[:0], c.raw[c.at:])
		if c.text+len(b) > text {
			break
		}
		c.text += len(b)
		c.at += n
	}
	return c.at
}

// decodeName returns the text of a member's name. It returns raw if nothing is escaped.
func decodeName(raw []byte) []byte {
	for _, c := range raw {
		if c == '\\' {
			return decodeString(raw)
		}
	}
	return raw
}

// appendEscape appends the character of the escape at the start of b and returns the length of
// the escape.
func appendEscape(dst, b []byte) ([]byte, int) {
	if len(b) < 2 {
		return append(dst, b[0]), 1
	}
	switch b[1] {
	case '"', '\\', '/':
		return append(dst, b[1]), 2
	case 'b':
		return append(dst, '\b'), 2
	case 'f':
		return append(dst, '\f'), 2
	case 'n':
		return append(dst, '\n'), 2
	case 'r':
		return append(dst, '\r'), 2
	case 't':
		return append(dst, '\t'), 2
	case 'u':
		r, ok := parseHex4(b[2:])
		if !ok {
			return append(dst, b[0]), 1
		}
		if utf16.IsSurrogate(r) && len(b) >= 12 && b[6] == '\\' && b[7] == 'u' {
			if low, ok := parseHex4(b[8:]); ok {
				if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
					return utf8.AppendRune(dst, pair), 12
				}
			}
		}
		return utf8.AppendRune(dst, r), 6
	default:
		return append(dst, b[0]), 1
	}
}

func parseHex4(b []byte) (rune, bool) {
	if len(b) < 4 {
		return 0, false
	}
	v, err := strconv.ParseUint(string(b[:4]), 16, 16)
	return rune(v), err == nil
}

func isLower(c byte) bool { return c >= 'a' && c <= 'z' }
func isUpper(c byte) bool { return c >= 'A' && c <= 'Z' }
func isDigit(c byte) bool { return c >= '0' && c <= '9' }
func isAlnum(c byte) bool { return isLower(c|0x20) || isDigit(c) }
func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// isName reports whether c can be part of a name such as api_key or --api-key.
func isName(c byte) bool { return isAlnum(c) || c == '_' || c == '-' }

// isBase64URL reports whether c belongs to base64url.
func isBase64URL(c byte) bool { return isName(c) }

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

func toLower(c byte) byte {
	if isUpper(c) {
		return c + 'a' - 'A'
	}
	return c
}
