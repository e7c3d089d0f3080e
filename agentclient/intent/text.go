package intent

import (
	"fmt"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hookback/hookback/agentclient/call/paths"
)

const (
	maxCommand  = 160 // characters of a command
	maxPath     = 64  // characters of a path; a file name may be longer
	maxName     = 60  // characters of a tool or an argument
	maxValue    = 80  // characters of an argument's value
	maxFileName = 200 // characters of a file name
)

// hidden takes the place of a character that can't be seen or that changes the order of others.
const hidden = '�'

// singleLine returns text on one line with every hidden character replaced.
func singleLine(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\r' || r == '\t':
			return ' '
		case r == utf8.RuneError, !unicode.IsGraphic(r), isBlank(r):
			return hidden
		default:
			return r
		}
	}, text)
	return strings.Join(strings.Fields(text), " ")
}

// isBlank reports whether a character that counts as visible is drawn as nothing: fillers, variation
// selectors and the blank Braille pattern.
func isBlank(r rune) bool {
	switch {
	case r == 0x034f, r == 0x115f, r == 0x1160, r == 0x17b4, r == 0x17b5, r == 0x2800, r == 0x3164, r == 0xffa0:
		return true
	case r >= 0x180b && r <= 0x180f, r >= 0xfe00 && r <= 0xfe0f, r >= 0xe0100 && r <= 0xe01ef:
		return true
	}
	return false
}

// commandLine is singleLine, but shows line breaks, which end a command.
func commandLine(text string) string {
	var parts []string
	for line := range strings.Lines(strings.TrimSpace(text)) {
		if line = singleLine(line); line != "" {
			parts = append(parts, line)
		}
	}
	return strings.Join(parts, " ⏎ ")
}

// middle shortens a text to limit characters and keeps its head and its tail.
func middle(text string, limit int) string {
	if utf8.RuneCountInString(text) <= limit {
		return text
	}
	runes := []rune(text)
	tail := limit * 2 / 5
	head := limit - tail - 3
	return strings.TrimSpace(string(runes[:head])) + " … " + strings.TrimSpace(string(runes[len(runes)-tail:]))
}

// shortPath returns a path relative to cwd, or to the home directory as ~. A long path
// lacks directories, but never the file name.
func shortPath(file, cwd string) string {
	if len(file) > paths.MaxLength {
		return middle(singleLine(file), maxFileName)
	}
	dir := paths.NewWorkingDir(cwd)
	file = strings.TrimPrefix(paths.ToSlashes(file), "file://")
	if !paths.IsAbsolute(file) && !strings.HasPrefix(file, "~") && dir.CWD != "" {
		file = dir.CWD + "/" + file
	}
	file = path.Clean(file)
	if rest, ok := below(file, dir.CWD); ok {
		file = rest
	} else if rest, ok := below(file, dir.Home); ok {
		file = "~/" + rest
	}
	return shrink(singleLine(file))
}

// below returns the part of a path below a directory.
func below(file, dir string) (string, bool) {
	if dir == "" || dir == "/" {
		return "", false
	}
	return strings.CutPrefix(file, dir+"/")
}

// shrink leaves out directories in the middle of a long path.
func shrink(file string) string {
	if utf8.RuneCountInString(file) <= maxPath {
		return file
	}
	segments := strings.Split(file, "/")
	name := middle(segments[len(segments)-1], maxFileName)
	if len(segments) == 1 {
		return name
	}
	head := segments[0] + "/"
	if head == "/" || head == "~/" {
		head += segments[1] + "/"
	}
	tail := name
	for i := len(segments) - 2; i > 0; i-- {
		longer := segments[i] + "/" + tail
		if utf8.RuneCountInString(head)+2+utf8.RuneCountInString(longer) > maxPath {
			break
		}
		tail = longer
	}
	if utf8.RuneCountInString(head) > maxPath/2 {
		head = ""
	}
	return head + "…/" + tail
}

func plusMinus(added, removed int) string {
	return fmt.Sprintf("+%d −%d", added, removed)
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
