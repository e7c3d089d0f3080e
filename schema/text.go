package schema

import "unicode/utf8"

// Clip cuts text to at most n bytes, between two characters.
func Clip(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

// Shorten returns text of at most n characters. A longer one ends with an ellipsis.
func Shorten(text string, n int) string {
	count, last := 0, 0
	for i := range text {
		if count++; count > n {
			return text[:last] + "…"
		}
		last = i
	}
	return text
}
