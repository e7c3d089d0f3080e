package intent

import (
	"slices"
	"strings"

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
	Path           string // as the agent wrote it
	Verb           string // VerbEdit, VerbWrite or VerbDelete
	Added, Removed int    // lines; a file that is written as a whole adds all of its lines
}

// maxCompared limits the lines that are compared one by one.
const maxCompared = 400

// lineChanges counts the lines that a replacement adds and removes.
func lineChanges(before, after string) (added, removed int) {
	a, b := split(before), split(after)
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	same := 0
	if len(a) <= maxCompared && len(b) <= maxCompared {
		same = commonLines(a, b)
	}
	return len(b) - same, len(a) - same
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

var patchVerbs = []struct{ mark, verb string }{
	{"*** Update File: ", VerbEdit}, {"*** Add File: ", VerbWrite}, {"*** Delete File: ", VerbDelete},
}

// patchIntent returns the intent of a patch. With several files it names the first.
func patchIntent(patch, cwd string) (in schema.Intent, ok bool) {
	files := patchFiles(patch)
	if len(files) == 0 {
		return schema.Intent{}, false
	}
	var added, removed int
	for _, f := range files {
		added, removed = added+f.Added, removed+f.Removed
	}
	in = schema.Intent{Verb: files[0].Verb, Object: shortPath(files[0].Path, cwd), Change: plusMinus(added, removed)}
	switch {
	case len(files) > 1:
		in.Verb, in.Change = VerbEdit, in.Change+" in "+count(len(files), "file")
	case in.Verb == VerbWrite:
		in.Change = "new file"
	case in.Verb == VerbDelete:
		in.Change = ""
	}
	return in, true
}

// patchFiles returns the changes of a patch by file, in the order of their first lines.
func patchFiles(patch string) (files []FileChange) {
	before := ""
	at := -1 // the file of the following lines
	addFile := func(path, verb string) {
		if at = slices.IndexFunc(files, func(f FileChange) bool { return f.Path == path }); at < 0 {
			at = len(files)
			files = append(files, FileChange{Path: path, Verb: verb})
		}
	}
	for line := range strings.Lines(patch) {
		line = strings.TrimRight(line, "\r\n")
		mark := slices.IndexFunc(patchVerbs, func(p struct{ mark, verb string }) bool { return strings.HasPrefix(line, p.mark) })
		switch {
		case mark >= 0:
			addFile(line[len(patchVerbs[mark].mark):], patchVerbs[mark].verb)
		case strings.HasPrefix(line, "--- "):
			before = unifiedPath(line)
		case strings.HasPrefix(line, "+++ "):
			switch after := unifiedPath(line); {
			case after == "/dev/null":
				addFile(before, VerbDelete)
			case before == "/dev/null":
				addFile(after, VerbWrite)
			default:
				addFile(after, VerbEdit)
			}
		case at >= 0 && strings.HasPrefix(line, "+"):
			files[at].Added++
		case at >= 0 && strings.HasPrefix(line, "-"):
			files[at].Removed++
		}
	}
	return files
}

// unifiedPath returns the path of a line that starts with "--- " or "+++ ".
func unifiedPath(line string) string {
	path, _, _ := strings.Cut(line[4:], "\t")
	if strings.HasPrefix(path, "a/") || strings.HasPrefix(path, "b/") {
		return path[2:]
	}
	return path
}
