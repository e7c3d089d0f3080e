package importer

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/hookback/hookback/schema/history"
)

// summary counts the sessions of an import by result.
type summary struct {
	imported, known, unchanged, older, empty, refused, unread int

	lines  int64 // that can't be read
	tokens history.Tokens
	cost   float64
	calls  int64
}

func (s *summary) add(in *history.ImportedSession) {
	s.imported++
	for _, u := range in.Usage {
		s.tokens, s.cost = s.tokens.Add(u.Tokens), s.cost+u.CostUSD
	}
	for _, t := range in.Tools {
		s.calls += t.Calls
	}
}

// unreadable counts a file or a folder that can't be read, and reports it.
func (s *summary) unreadable(w io.Writer, err error) {
	s.unread++
	_, _ = fmt.Fprintf(w, "hookback import: skipped: %s\n", printable(err.Error()))
}

// write writes the summary and reports whether everything was read and sent.
func (s *summary) write(w io.Writer, since string, dryRun bool) bool {
	verb := "Imported"
	if dryRun {
		verb = "Would import"
	}
	text := fmt.Sprintf("%s %s of Claude Code", verb, count(s.imported, "session"))
	if s.imported > 0 {
		text += fmt.Sprintf(": %s, %s", count(int(s.calls), "tool call"), count(int(s.tokens.Input+s.tokens.Output+s.tokens.CacheRead+s.tokens.CacheWrite), "token"))
		if s.cost > 0 {
			text += fmt.Sprintf(", $%.2f", s.cost)
		}
	}
	_, _ = fmt.Fprintln(w, text+".")
	var skipped []string
	for _, part := range []struct {
		n    int
		text string
	}{
		{s.known, "known from hooks"}, {s.unchanged, "imported before"}, {s.older, "older than --since " + since},
		{s.empty, "empty"}, {s.unread, "not readable"}, {s.refused, "refused by the hub"},
	} {
		if part.n > 0 {
			skipped = append(skipped, fmt.Sprintf("%d %s", part.n, part.text))
		}
	}
	if len(skipped) > 0 {
		_, _ = fmt.Fprintf(w, "Skipped: %s.\n", strings.Join(skipped, ", "))
	}
	if s.lines > 0 {
		_, _ = fmt.Fprintf(w, "%s of transcripts could not be read and are not counted.\n", count(int(s.lines), "line"))
	}
	return s.unread+s.refused == 0
}

// count returns a number with thousands separated, and the noun in its number.
func count(n int, noun string) string {
	digits := strconv.Itoa(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	if n != 1 {
		noun += "s"
	}
	return digits + " " + noun
}

// printable makes text of a transcript or a path safe for a terminal.
func printable(text string) string {
	return strings.Map(func(c rune) rune {
		if !strconv.IsPrint(c) {
			return '\ufffd'
		}
		return c
	}, text)
}
