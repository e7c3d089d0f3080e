package call

import (
	"strconv"
	"strings"
)

// patchReader reads the file names in a patch. Each line that can be a header counts as one.
type patchReader struct {
	call     *Call
	text     string
	at       Span
	files    int
	last     int    // index in call.Files of the last updated file, for Move to; -1: none
	header   string // of the last line diff --git
	isUnread bool
}

// patchHeaders are the lines of the apply_patch format.
var patchHeaders = []struct {
	prefix string
	op     FileOp // empty: no file
}{
	{"*** Add File:", WriteFile}, {"*** Update File:", WriteFile}, {"*** Delete File:", DeleteFile}, {"*** Move to:", MoveFile},
	{"*** Begin Patch", ""}, {"*** End Patch", ""}, {"*** End of File", ""}, {"*** Environment ID:", ""},
}

// isPatch reports whether a text is a patch of the apply_patch format.
func isPatch(text string) bool { return strings.HasPrefix(strings.TrimSpace(text), "*** Begin Patch") }

// readPatch adds the files of a patch: the apply_patch format or a unified diff.
func (c *Call) readPatch(text string, at Span) {
	p := patchReader{call: c, text: text, at: at, last: -1}
	previous := "" // the name after ---
	for offset := 0; offset < len(text); {
		line, _, _ := strings.Cut(text[offset:], "\n")
		span := Span{at.Pointer, at.From + offset, at.From + offset + len(line)}
		offset += len(line) + 1
		line = strings.TrimSuffix(line, "\r")
		if trimmed := strings.TrimSpace(line); strings.HasPrefix(trimmed, "*** ") {
			p.readHeader(trimmed, span)
			continue
		}
		previous = p.readDiffLine(line, previous, span)
	}
	if p.files == 0 || p.isUnread {
		c.addUnread(at, "the patch can't be read")
	}
}

func (p *patchReader) add(name string, op FileOp, at Span) {
	if name = strings.TrimSpace(name); name == "" {
		p.isUnread = true
		return
	}
	if line := p.text[at.From-p.at.From : at.To-p.at.From]; strings.Contains(line, name) {
		at.From += strings.LastIndex(line, name)
		at.To = at.From + len(name)
	}
	p.files++
	p.call.addPath(name, op, at)
}

// readHeader reads a line of the apply_patch format.
func (p *patchReader) readHeader(line string, at Span) {
	for _, h := range patchHeaders {
		name, ok := strings.CutPrefix(line, h.prefix)
		if !ok {
			continue
		}
		switch h.op {
		case "":
		case MoveFile:
			if p.last >= 0 && p.last < len(p.call.Files) {
				p.call.Files[p.last].Op = MoveFile
			}
			p.add(name, WriteFile, at)
		default:
			p.last = len(p.call.Files)
			p.add(name, h.op, at)
		}
		return
	}
	p.isUnread = true // a header that this reader doesn't know
}

// readDiffLine reads a line of a unified diff. It returns the name after --- for the next line.
func (p *patchReader) readDiffLine(line, previous string, at Span) string {
	if name, ok := strings.CutPrefix(line, "--- "); ok {
		return name
	}
	if line == "GIT binary patch" || strings.HasPrefix(line, "Binary files ") || strings.HasPrefix(line, "deleted file mode ") ||
		strings.HasPrefix(line, "old mode ") { // there may be no other line with the name
		if _, after, ok := strings.Cut(p.header, " b/"); ok {
			p.add(after, WriteFile, at)
		}
		p.header = ""
	}
	if names, ok := strings.CutPrefix(line, "diff --git "); ok {
		p.header = names
	}
	for _, h := range []struct {
		prefix string
		op     FileOp
	}{{"rename from ", MoveFile}, {"rename to ", WriteFile}, {"copy from ", ReadFile}, {"copy to ", WriteFile}} {
		if name, ok := strings.CutPrefix(line, h.prefix); ok {
			p.add(p.diffName(name), h.op, at)
		}
	}
	added, ok := strings.CutPrefix(line, "+++ ")
	if !ok || previous == "" {
		return ""
	}
	before, after := p.diffName(previous), p.diffName(added)
	switch {
	case after == "/dev/null":
		p.add(before, DeleteFile, at)
	case before == "/dev/null" || before == after:
		p.add(after, WriteFile, at)
	default:
		p.add(before, ReadFile, at)
		p.add(after, WriteFile, at)
	}
	return ""
}

// diffName returns a name of a unified diff without time, quotes and the prefix a/ or b/.
func (p *patchReader) diffName(name string) string {
	name, _, _ = strings.Cut(name, "\t")
	if strings.HasPrefix(name, `"`) {
		plain, err := strconv.Unquote(strings.TrimSpace(name))
		p.isUnread = p.isUnread || err != nil
		name = plain
	}
	if strings.HasPrefix(name, "a/") || strings.HasPrefix(name, "b/") {
		return name[len("a/"):]
	}
	return name
}
