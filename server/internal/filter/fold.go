package filter

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Fold makes capitals and small letters the same, as fold in the dashboard's
// filter.ts does: the small letter of each, ς as σ and ſ as s. What it folds is Unicode's to
// change; IndexVersion then grows with it.
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

// IndexVersion names what IndexText says of an event. An index that was made with
// another one is made anew.
const IndexVersion = "1/" + unicode.Version
