package install

import (
	"strings"

	"github.com/rogpeppe/go-internal/diff"
)

// Diff returns the change as a unified diff, or "" without changes.
func (c *Change) Diff() string {
	if !c.HasChanges() {
		return ""
	}
	from, to := c.File, c.File
	if !c.Exists {
		from = "/dev/null"
	}
	if c.Delete {
		to = "/dev/null"
	}
	header := "--- " + from + "\n+++ " + to + "\n"
	_, hunks, _ := strings.Cut(string(diff.Diff(from, []byte(c.Before), to, []byte(c.After))), header)
	return header + hunks // an empty file that is deleted has no hunk
}
