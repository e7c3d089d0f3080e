package schema

import "bytes"

// ReplaceHalfSurrogates replaces each escape of half a character (\ud83d without its second half) in a
// JSON text by the escape of U+FFFD, and reports whether there was one. Programs that cut a text in the
// middle of an emoji write them, and strict readers, such as jq 1.6 and serde_json, then refuse the whole
// text. It returns text itself if nothing changes.
func ReplaceHalfSurrogates(text []byte) (fixed []byte, changed bool) {
	if !bytes.Contains(text, []byte(`\ud`)) && !bytes.Contains(text, []byte(`\uD`)) {
		return text, false // almost every event
	}
	for i := 0; i < len(text); {
		at := bytes.IndexByte(text[i:], '\\')
		if at < 0 {
			break
		}
		i += at
		switch high := surrogate(text[i:]); {
		case high == 0:
			i += 2 // also \\, after which nothing is escaped
		case high < 0xdc00 && surrogate(text[min(i+6, len(text)):]) >= 0xdc00:
			i += 12
		default:
			if !changed {
				text, changed = bytes.Clone(text), true
			}
			copy(text[i+2:], "fffd")
			i += 6
		}
	}
	return text, changed
}

// surrogate returns the surrogate whose escape b starts with, or 0.
func surrogate(b []byte) (c rune) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' || b[2]|0x20 != 'd' {
		return 0
	}
	for _, digit := range b[2:6] {
		switch {
		case digit >= '0' && digit <= '9':
			c = c<<4 | rune(digit-'0')
		case digit|0x20 >= 'a' && digit|0x20 <= 'f':
			c = c<<4 | rune(digit|0x20-'a'+10)
		default:
			return 0
		}
	}
	if c < 0xd800 {
		return 0
	}
	return c
}
