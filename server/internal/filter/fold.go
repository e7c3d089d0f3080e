package filter

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Fold returns text in a form for case-insensitive comparison: each letter in lower case, with ς
// as σ and ſ as s. The mapping depends on the Unicode version, which IndexVersion therefore includes.
func Fold(text string) string {
	if isASCII(text) {
		return strings.ToLower(text)
	}
	var b strings.Builder
	b.Grow(len(text))
	for _, r := range text {
		switch r {
		case 'İ':
			b.WriteString("i\u0307")
		case 'Σ', 'ς':
			b.WriteRune('σ')
		case 'ſ':
			b.WriteByte('s')
		default:
			b.WriteRune(unicode.ToLower(r))
		}
	}
	return b.String()
}

// appendFold appends Fold(text).
func appendFold(dst []byte, text string) []byte {
	if !isASCII(text) {
		return append(dst, Fold(text)...)
	}
	start := len(dst)
	dst = append(dst, text...)
	for i, c := range dst[start:] {
		if 'A' <= c && c <= 'Z' {
			dst[start+i] = c + 'a' - 'A'
		}
	}
	return dst
}

// IndexVersion identifies the output of IndexText. An index with another version must be
// rebuilt.
const IndexVersion = "1/" + unicode.Version

func isASCII(text string) bool {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
