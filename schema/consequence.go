package schema

import (
	"fmt"
	"strings"
	"unicode"
)

// Limits of a Consequence.
const (
	MaxSentences       = 12
	MaxSentence        = 400 // bytes of one sentence
	MaxChanged         = 20  // paths in Changes
	MaxConsequencePath = 4 << 10
)

// Consequence is the effect that a tool call will have, computed before a person is asked. The
// requester computes it from the call and the files on its machine, and changes nothing. A number
// that was not computed is absent, which is not 0.
type Consequence struct {
	// Sentences are for people, the most important first, at most MaxSentences (12).
	Sentences []string `json:"sentences"`

	Files *int64 `json:"files,omitempty"` // files that the call deletes, overwrites or changes
	Bytes *int64 `json:"bytes,omitempty"` // their size
	// Unrecoverable counts the files whose content the call deletes or overwrites, and that git neither has
	// nor ignores: new files, and files with changes that are not committed.
	Unrecoverable *int64 `json:"unrecoverable,omitempty"`
	Lines         *int64 `json:"lines,omitempty"`   // lines that change or, with uncommitted changes, are lost
	Commits       *int64 `json:"commits,omitempty"` // commits that a branch loses

	Outside bool `json:"outside,omitempty"` // a changed path is outside the project, or leads there through a link
	// Partial is set if a limit ended the computation, a part of the call or of the files can't be
	// read, or a program in it may change more. The numbers are lower bounds then.
	Partial bool `json:"partial,omitempty"`
	// Changes are the files and directories that the call names and deletes, overwrites or changes,
	// absolute with slashes, at most MaxChanged (20). A directory stands for everything below it.
	Changes []string `json:"changes,omitempty"`
}

// ConsequenceNumbers are the names of the numbers of a Consequence, for conditions of rules.
var ConsequenceNumbers = []string{"files", "bytes", "unrecoverable", "lines", "commits"}

// Number returns the number with this name, and whether it was computed. A number of a partial
// consequence is a lower bound.
func (c *Consequence) Number(name string) (n int64, known bool) {
	if c == nil {
		return 0, false
	}
	numbers := []*int64{c.Files, c.Bytes, c.Unrecoverable, c.Lines, c.Commits}
	for i, value := range numbers {
		if ConsequenceNumbers[i] == name && value != nil {
			return *value, true
		}
	}
	return 0, false
}

// Summary returns the first sentence, for messages of one line; empty: there is none.
func (c *Consequence) Summary() string {
	if c == nil || len(c.Sentences) == 0 {
		return ""
	}
	return c.Sentences[0]
}

func (c *Consequence) validate() error {
	const field = "toolCall.consequence"
	isBad := func(text string) bool {
		return text == "" || strings.ContainsFunc(text, unicode.IsControl)
	}
	if len(c.Sentences) == 0 || len(c.Sentences) > MaxSentences {
		return invalid(field+".sentences", fmt.Sprintf("must have 1 to %d texts", MaxSentences))
	}
	for _, text := range c.Sentences {
		if isBad(text) || len(text) > MaxSentence {
			return invalid(field+".sentences", fmt.Sprintf("must be texts of 1 to %d bytes without control characters", MaxSentence))
		}
	}
	if len(c.Changes) > MaxChanged {
		return invalid(field+".changes", fmt.Sprintf("has more than %d paths", MaxChanged))
	}
	for _, path := range c.Changes {
		if isBad(path) || len(path) > MaxConsequencePath {
			return invalid(field+".changes", fmt.Sprintf("must be paths of 1 to %d bytes without control characters", MaxConsequencePath))
		}
	}
	for _, name := range ConsequenceNumbers {
		if n, _ := c.Number(name); n < 0 {
			return invalid(field+"."+name, "must not be negative")
		}
	}
	return nil
}
