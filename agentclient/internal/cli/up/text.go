package up

import (
	"io"
	"os"
	"strconv"
	"strings"
)

// tail returns at most n last lines of a log from offset.
func tail(file string, offset int64, n int) string {
	f, err := os.Open(file)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err == nil {
		offset = max(offset, info.Size()-64<<10)
	}
	b, _ := io.ReadAll(io.NewSectionReader(f, offset, 64<<10))
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// clean makes text of another program safe for a terminal.
func clean(text string) string {
	quoted := strconv.Quote(strings.TrimSpace(text))
	return quoted[1 : len(quoted)-1]
}
