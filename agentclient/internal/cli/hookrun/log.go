package hookrun

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode"
)

// maxHookLog is the size in bytes at which the log is rotated. One old log is kept.
const maxHookLog = 256 << 10

// hookLog is the log of hooks, which must not write errors to their output streams. It is best
// effort: if the file is not writable or file is empty, nothing is logged.
type hookLog struct{ file string }

// printf appends one entry with a timestamp.
func (l hookLog) printf(format string, args ...any) {
	if l.file == "" {
		return
	}
	if os.MkdirAll(filepath.Dir(l.file), 0o700) != nil {
		return
	}
	switch info, err := os.Stat(l.file); {
	case err == nil && !info.Mode().IsRegular():
		return // opening a named pipe would block the hook and its agent
	case err == nil && info.Size() > maxHookLog:
		_ = os.Rename(l.file, l.file+".1")
	}
	f, err := os.OpenFile(l.file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	defer func() { _ = f.Close() }()
	text := strings.ToValidUTF8(fmt.Sprintf(format, args...), "�")
	if len(text) > maxHookLog/16 {
		text = text[:maxHookLog/16]
	}
	text = strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && !unicode.IsPrint(r) {
			return '�' // a terminal that shows the log would obey control characters
		}
		return r
	}, text)
	text = strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n\t")
	// A single write keeps the entries of concurrent hooks apart.
	_, _ = f.WriteString(time.Now().UTC().Format("2006-01-02T15:04:05.000Z ") + text + "\n")
}
