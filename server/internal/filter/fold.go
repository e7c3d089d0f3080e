package filter

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Fold returns text in a form for case-insensitive comparison: each letter in lower case, with ς
// as σ and ſ as s. It is equivalent to fold in the dashboard's filter.ts. The mapping depends on
// the Unicode version, which IndexVersion therefore includes.
func Fold(text string) string {
	plain := true
	for i := 0; i < len(text) && plain; i++ {
		plain = text[i] < utf8.RuneSelf
	}
	if plain {
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

// IndexVersion identifies the output of IndexText. An index with another version must be
// rebuilt.
const IndexVersion = "1/" + unicode.Version
