package redact

import (
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// decode turns the contents of a JSON string into text. at[i] is where in raw the
// text's byte i came from; at[len(text)] is len(raw). A malformed escape stands
// for itself.
func decode(raw []byte) (text []byte, at []int32) {
	text = make([]byte, 0, len(raw))
	at = make([]int32, 0, len(raw)+1)
	for i := 0; i < len(raw); {
		n := 1
		before := len(text)
		if raw[i] == '\\' {
			text, n = appendEscape(text, raw[i:])
		} else {
			text = append(text, raw[i])
		}
		for range len(text) - before {
			at = append(at, int32(i)) //nolint:gosec // a body has at most schema.MaxBody bytes
		}
		i += n
	}
	return text, append(at, int32(len(raw))) //nolint:gosec // as above
}

// unescape is the text of a member's name: raw itself where nothing is escaped.
func unescape(raw []byte) []byte {
	for _, c := range raw {
		if c == '\\' {
			text, _ := decode(raw)
			return text
		}
	}
	return raw
}

// appendEscape appends what the escape at the beginning of b stands for and says
// how long it is.
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
		r, ok := hex4(b[2:])
		if !ok {
			return append(dst, b[0]), 1
		}
		if utf16.IsSurrogate(r) && len(b) >= 12 && b[6] == '\\' && b[7] == 'u' {
			if low, ok := hex4(b[8:]); ok {
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

func hex4(b []byte) (rune, bool) {
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

// isToken reports whether c is of base64url.
func isToken(c byte) bool { return isName(c) }

// isLoose reports whether c can be part of a token68 (RFC 9110), as in a header.
func isLoose(c byte) bool {
	return isName(c) || c == '.' || c == '~' || c == '+' || c == '/' || c == '='
}

// run is the end of the bytes of one class that begin at from.
func run(b []byte, from int, class func(byte) bool) int {
	for from < len(b) && class(b[from]) {
		from++
	}
	return from
}

func lower(c byte) byte {
	if isUpper(c) {
		return c + 'a' - 'A'
	}
	return c
}
