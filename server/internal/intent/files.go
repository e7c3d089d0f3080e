package intent

import (
	"encoding/json"
	"strings"

	"github.com/hookback/hookback/server/internal/risk/call"
)

// Files returns the files that a tool call changes: by a patch, also one in a command, or by a tool that
// changes a file. Commands can change any other file, too.
func Files(tool string, arguments json.RawMessage) []FileChange {
	args := decode(arguments)
	if text := args.patch(); text != "" {
		return patchFiles(text)
	}
	file := args.path()
	if call.KindOf(tool) != call.Write || file == "" {
		return nil
	}
	f := FileChange{Path: file, Verb: VerbEdit}
	if name := call.NormalizeName(tool); strings.HasPrefix(name, "delete") {
		f.Verb = VerbDelete
	} else if added, removed, ok := args.edits(); ok {
		f.Added, f.Removed = added, removed
	} else if content, ok := args.content(); ok {
		f.Verb, f.Added = VerbWrite, lines(content)
	}
	return []FileChange{f}
}
