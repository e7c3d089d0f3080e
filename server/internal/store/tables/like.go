package tables

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// likeFragments returns the LIKE pattern for the fragments in order, with anything in
// between.
func likeFragments(pieces []string) string {
	escaped := make([]string, len(pieces))
	for i, p := range pieces {
		escaped[i] = likeEscapes.Replace(p)
	}
	return strings.Join(escaped, "%")
}

// likePatterns returns the LIKE patterns for a text, or nil for an empty text. Events
// are stored as sent, so the text may appear literally, JSON-escaped, escaped by Go
// (<, > and &), or in ASCII as Python writes it.
func likePatterns(text string) (list []string) {
	if text == "" {
		return nil
	}
	html, _ := json.Marshal(text) // strings always encode
	var plain bytes.Buffer
	enc := json.NewEncoder(&plain)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(text)
	asIs := unquote(strings.TrimSuffix(plain.String(), "\n"))
	spellings := []string{text, asIs, unquote(string(html)), escapeNonASCII(asIs)}
	if strings.ContainsRune(text, 0) { // NUL would end the pattern, and JSON always escapes it
		spellings = spellings[1:]
	}
	for _, s := range slices.Compact(spellings) {
		list = append(list, likePattern(s))
	}
	return list
}

func unquote(literal string) string { return literal[1 : len(literal)-1] }

var likeEscapes = strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`)

// likePattern returns the pattern for anything that contains text.
func likePattern(text string) string { return "%" + likeEscapes.Replace(text) + "%" }

func escapeNonASCII(text string) string {
	var b strings.Builder
	for _, r := range text {
		if r < utf8.RuneSelf {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return b.String()
}
