package importer

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// question asks a person whether to import.
type question struct {
	stdin    io.Reader
	stdout   io.Writer
	declined string // the file that exists once a person declined
}

// newQuestion returns the question in an environment.
func newQuestion(env func(string) string, stdin io.Reader, stdout io.Writer) question {
	dir, _ := os.UserCacheDir() // without one, the person is asked again
	return question{stdin, stdout, filepath.Join(cmp.Or(env("XDG_CACHE_HOME"), dir), "hookback", "import-declined")}
}

// isAccepted asks, unless a person declined before.
func (q *question) isAccepted(sessions int) bool {
	if _, err := os.Stat(q.declined); err == nil {
		return false
	}
	_, _ = fmt.Fprintf(q.stdout, "Found %s of Claude Code in the last 30 days. Import them? [Y/n] ", count(sessions, "session"))
	text, err := bufio.NewReader(q.stdin).ReadString('\n')
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "y", "yes":
		return true
	case "":
		if err == nil {
			return true
		}
	}
	_, _ = fmt.Fprintln(q.stdout, "Nothing was imported. Import them later with: hookback import")
	if os.MkdirAll(filepath.Dir(q.declined), 0o700) == nil {
		_ = os.WriteFile(q.declined, nil, 0o600) // without it, the next start asks again
	}
	return false
}
