package intent

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/hookback/hookback/agentclient/call"
	"github.com/hookback/hookback/schema"
)

// The verbs of changes of files.
const (
	VerbEdit   = "Edit"
	VerbWrite  = "Write"
	VerbDelete = "Delete"
)

// FileChange is the change of one file by a tool call, as its arguments describe it.
type FileChange struct {
	Path           string // absolute if the directory of the call is known
	Verb           string // VerbEdit, VerbWrite or VerbDelete
	Added, Removed int    // lines; a file that is written as a whole adds all of its lines

	isPatch, isCounted bool
}

// maxCompared limits the lines that are compared one by one.
const maxCompared = 400

// LineChanges counts the lines that a replacement adds and removes. isExact is false if the texts are too
// long to be compared: all of their lines count between the first and the last different one.
func LineChanges(before, after string) (added, removed int, isExact bool) {
	a, b := split(before), split(after)
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	same, isExact := 0, len(a) <= maxCompared && len(b) <= maxCompared || len(a) == 0 || len(b) == 0
	if isExact {
		same = commonLines(a, b)
	}
	return len(b) - same, len(a) - same, isExact
}

// commonLines returns the length of the longest common subsequence.
func commonLines(a, b []string) int {
	row := make([]int, len(b)+1)
	for _, line := range a {
		diagonal := 0
		for j, other := range b {
			above := row[j+1]
			if line == other {
				row[j+1] = diagonal + 1
			} else {
				row[j+1] = max(above, row[j])
			}
			diagonal = above
		}
	}
	return row[len(b)]
}

func split(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

func lines(text string) int { return len(split(text)) }

// changeIntent returns the intent of a call that changes files. With several it names the first.
func changeIntent(c *call.Call, cwd string) (in schema.Intent, ok bool) {
	files := Changes(c)
	if len(files) == 0 {
		return in, false
	}
	in = schema.Intent{Verb: files[0].Verb, Object: shortPath(files[0].Path, cwd)}
	switch f := &files[0]; {
	case len(files) > 1:
		in.Verb, in.Change = VerbEdit, "in "+count(len(files), "file")
		if f.isCounted {
			added, removed := 0, 0
			for _, f := range files {
				added, removed = added+f.Added, removed+f.Removed
			}
			in.Change = plusMinus(added, removed) + " " + in.Change
		}
	case call.NormalizeName(c.Tool) == "download":
		in.Verb, in.Change = "Download", middle(singleLine(textOf(c.Root(), "url")), maxValue)
	case f.Verb == VerbWrite && f.isPatch:
		in.Change = "new file"
	case f.Verb == VerbWrite:
		in.Change = count(f.Added, "line")
	case f.Verb == VerbEdit && f.isCounted:
		in.Change = plusMinus(f.Added, f.Removed)
	}
	return in, true
}

// Files returns the files that a tool call changes: by a patch, also one in a command, or by a tool that
// changes a file. Commands can change any other file, too.
func Files(tool string, arguments json.RawMessage) []FileChange {
	_, isShell := call.ShellOf(tool)
	mayPatch := bytes.Contains(arguments, []byte("*** ")) || bytes.Contains(arguments, []byte("+++ "))
	if isShell && !mayPatch || call.ReadsFiles(tool) {
		return nil // most calls, which need not be read
	}
	return Changes(call.Read(call.Input{Tool: tool, Arguments: arguments}))
}

// Changes is Files for a call that was read.
func Changes(c *call.Call) (files []FileChange) {
	for _, f := range c.Files {
		if change, ok := patchChange(c, &f); ok {
			files = addChange(files, &change)
		}
	}
	if len(files) > 0 || len(c.Lines) > 0 || !c.IsKnownTool() {
		return files
	}
	writes := c.HasName("Write") || c.HasName("Edit") || call.NormalizeName(c.Tool) == "download"
	isChanged := func(f *call.File) bool { return writes && f.Op == call.WriteFile || f.Op == call.DeleteFile }
	for _, f := range c.MainFiles(isChanged) {
		change := FileChange{Path: f.Path, Verb: VerbEdit}
		content, hasContent := argument(c.Root(), "content", "contents", "filetext", "newsource", "codecontent").Text()
		switch added, removed, ok := edits(c.Root()); {
		case f.Op == call.DeleteFile:
			change.Verb = VerbDelete
		case ok:
			change.Added, change.Removed, change.isCounted = added, removed, true
		case hasContent:
			change.Verb, change.Added = VerbWrite, lines(content)
		}
		files = addChange(files, &change)
	}
	return files
}

func addChange(files []FileChange, change *FileChange) []FileChange {
	i := slices.IndexFunc(files, func(f FileChange) bool { return f.Path == change.Path })
	if i < 0 {
		return append(files, *change)
	}
	files[i].Added, files[i].Removed = files[i].Added+change.Added, files[i].Removed+change.Removed
	return files
}

// patchChange returns the change of a file that a header of a patch names. ok is false for another file.
func patchChange(c *call.Call, f *call.File) (change FileChange, ok bool) {
	text := c.TextAt(call.Span{Pointer: f.Span.Pointer})
	if f.Op == call.ReadFile || f.Span.To == 0 || f.Span.To > len(text) {
		return change, false
	}
	from := strings.LastIndexByte(text[:f.Span.From], '\n') + 1
	header, body, _ := strings.Cut(text[from:], "\n")
	if !isPatchHeader(header) {
		return change, false
	}
	change = FileChange{Path: f.Path, Verb: VerbEdit, isPatch: true, isCounted: true}
	switch {
	case f.Op == call.DeleteFile, f.Op == call.MoveFile:
		change.Verb = VerbDelete
	case strings.HasPrefix(header, "*** Add File:"), strings.HasSuffix(text[:from], "--- /dev/null\n"):
		change.Verb = VerbWrite
	}
	for line := range strings.Lines(body) {
		switch {
		case isPatchHeader(line):
			return change, true
		case strings.HasPrefix(line, "+"):
			change.Added++
		case strings.HasPrefix(line, "-"):
			change.Removed++
		}
	}
	return change, true
}

// isPatchHeader reports whether a line of a patch is no changed line, but names a file or ends the patch.
func isPatchHeader(line string) bool {
	return slices.ContainsFunc([]string{"*** ", "--- ", "+++ ", "diff --git ", "rename to "}, func(start string) bool { return strings.HasPrefix(line, start) })
}
