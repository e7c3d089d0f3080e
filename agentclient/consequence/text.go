package consequence

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/hookback/hookback/schema"
)

// maxName is how many characters of a name are shown.
const maxName = 80

// short leaves out the middle of a long text.
func short(text string) string {
	runes := []rune(text)
	if len(runes) <= maxName {
		return text
	}
	return string(runes[:maxName/2]) + "…" + string(runes[len(runes)-maxName/2:])
}

// quote returns a path for people: relative to the project, in quotes, with escapes for everything that can't be
// seen. A name can therefore not end its quotes, or look like another sentence.
func (r *reader) quote(p string) string {
	if rel, ok := strings.CutPrefix(p, r.root+"/"); ok && r.root != "" {
		p = rel
	}
	return strconv.Quote(short(p))
}

func (r *reader) list(paths []string) string { return words(paths, r.quote) }

// words joins at most three items.
func words(items []string, quote func(string) string) string {
	const most = 3
	shown := make([]string, 0, most)
	for _, item := range items[:min(len(items), most)] {
		shown = append(shown, quote(item))
	}
	switch more := len(items) - most; {
	case more > 0:
		return strings.Join(shown, ", ") + " and " + strconv.Itoa(more) + " more"
	case len(shown) < 2:
		return strings.Join(shown, "")
	default:
		return strings.Join(shown[:len(shown)-1], ", ") + " and " + shown[len(shown)-1]
	}
}

func count(n int64, singular, plural string) string {
	if n == 1 {
		return "1 " + singular
	}
	return strconv.FormatInt(n, 10) + " " + plural
}

// size returns a number of bytes in decimal units.
func size(n int64) string {
	units := []string{"bytes", "kB", "MB", "GB", "TB"}
	value, unit := float64(n), 0
	for value >= 999.5 && unit < len(units)-1 {
		value, unit = value/1000, unit+1
	}
	switch {
	case unit == 0 && n == 1:
		return "1 byte"
	case unit > 0 && value < 9.95:
		return strconv.FormatFloat(value, 'f', 1, 64) + " " + units[unit]
	default:
		return strconv.FormatFloat(value, 'f', 0, 64) + " " + units[unit]
	}
}

// clip limits the bytes of a sentence.
func clip(text string) string {
	if len(text) <= schema.MaxSentence {
		return text
	}
	text = text[:schema.MaxSentence-len("…")]
	for !utf8.ValidString(text) {
		text = text[:len(text)-1]
	}
	return text + "…"
}

// errorText returns an error without the names in it, which may be hostile.
func errorText(err error) string {
	text := strconv.Quote(short(err.Error()))
	return text[1 : len(text)-1]
}
