package call

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/hookback/hookback/agentclient/policy/programs"
)

// maxHarmlessCall is the maximum length of the arguments of a harmless call.
const maxHarmlessCall = 16 << 10

// IsHarmless reports whether a call is known to change nothing: one simple command that
// programs.Harmless accepts, or a reading tool on paths inside the project, which is cwd. No call is
// harmless in an unknown directory. Members that are not known to be inert make a call unknown.
func IsHarmless(tool string, arguments json.RawMessage, cwd string) bool {
	k := KindOf(tool)
	if k != Shell && k != Read || len(arguments) > maxHarmlessCall {
		return false
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(arguments, &members) != nil {
		return false
	}
	dir := programs.WorkingDir{Project: cwd, Dir: WorkingDir(tool, arguments, cwd)}
	if cwd == "" || !dir.Contains(".") {
		return false
	}
	if k == Read {
		return isHarmlessRead(tool, members, dir)
	}
	commands := 0
	for name, raw := range members {
		switch plain := NormalizeName(name); {
		case IsCommandName(plain):
			if commands++; !isHarmlessCommand(tool, raw, dir) {
				return false
			}
		case !slices.Contains(inertMembers, plain):
			return false
		}
	}
	return commands == 1
}

// inertMembers are members of a call to a shell tool that don't change the effect of its command.
var inertMembers = strings.Fields(`description explanation justification timeout timeoutms timeoutseconds yieldtimems maxoutputtokens runinbackground isbackground
	blocking cwd workdir workingdir workingdirectory directory dirpath login tty`)

// isHarmlessCommand assesses a command line, or a list of a program and its arguments.
func isHarmlessCommand(tool string, raw json.RawMessage, dir programs.WorkingDir) bool {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return isHarmlessLine(tool, text, dir)
	}
	var words []string
	if json.Unmarshal(raw, &words) != nil || len(words) == 0 ||
		slices.ContainsFunc(words, func(w string) bool { return !programs.IsPlainText(w) }) {
		return false
	}
	if len(words) == 3 && Shells[words[0]] && (words[1] == "-c" || words[1] == "-lc") {
		return isHarmlessLine(tool, words[2], dir)
	}
	return programs.Harmless(words, dir)
}

func isHarmlessLine(tool, text string, dir programs.WorkingDir) bool {
	list, ok := SimpleCommand(tool, text, dir.Project)
	if !ok {
		return false
	}
	words := make([]string, len(list))
	for i := range list {
		w := &list[i]
		// A file name could take the place of such a word as an option. The last letters of *.go are
		// known, those of * are not.
		isPattern := w.Text != "" && w.Text != "[" && strings.IndexByte("*?[", w.Text[0]) >= 0
		if w.Bare && isPattern && !strings.Contains(w.Text[strings.LastIndexAny(w.Text, "*?]")+1:], ".") {
			return false
		}
		if words[i] = w.Text; isPattern && !w.Bare { // nothing expands it
			words[i] = "./" + w.Text
		}
	}
	return list[0].Bare && programs.Harmless(words, dir)
}

// isHarmlessRead assesses a call to a tool that reads files. Every text that may be a path must be
// inside the project. The pattern of a search is no path.
func isHarmlessRead(tool string, members map[string]json.RawMessage, dir programs.WorkingDir) bool {
	searches := strings.Contains(strings.ToLower(tool), "grep") || strings.Contains(strings.ToLower(tool), "search")
	contains := dir.Contains
	if name := strings.ToLower(tool); strings.Contains(name, "glob") || strings.Contains(name, "list") || name == "ls" || name == "file_search" {
		contains = func(pattern string) bool { return containsListing(dir, pattern) }
	}
	for name, raw := range members {
		plain := NormalizeName(name)
		if widensRead(plain) {
			return false
		}
		if searches && (plain == "pattern" || plain == "query" || plain == "regex") || plain == "description" || plain == "explanation" {
			continue
		}
		var value any
		if json.Unmarshal(raw, &value) != nil || !isHarmlessValue(value, contains) {
			return false
		}
	}
	return true
}

// widensRead reports whether a member of this normalized name may make a tool read files that it leaves
// out by default, or run it outside of its sandbox.
func widensRead(name string) bool {
	return name != "ignorecase" && slices.ContainsFunc([]string{"ignore", "hidden", "exclude", "symlink", "sandbox", "permission"},
		func(part string) bool { return strings.Contains(name, part) })
}

// containsListing is programs.WorkingDir.Contains for a tool that lists names: a pattern may match the
// name of a secret.
func containsListing(dir programs.WorkingDir, pattern string) bool {
	if at := strings.IndexAny(pattern, "*?[{"); at >= 0 {
		if hasParentSegment(pattern[at:]) {
			return false
		}
		pattern = pattern[:strings.LastIndexByte(pattern[:at], '/')+1] + "x"
	}
	return dir.Contains(pattern)
}

func hasParentSegment(p string) bool {
	return slices.Contains(strings.FieldsFunc(p, func(r rune) bool { return strings.ContainsRune("/\\{},", r) }), "..")
}

func isHarmlessValue(value any, contains func(string) bool) bool {
	switch v := value.(type) {
	case string:
		return v == "" || programs.IsPlainText(v) && containsEach(v, contains)
	case []any:
		return !slices.ContainsFunc(v, func(element any) bool { return !isHarmlessValue(element, contains) })
	case map[string]any:
		return false
	default:
		return true
	}
}

// containsEach checks each alternative of a pattern such as *.{ts,tsx}.
func containsEach(pattern string, contains func(string) bool) bool {
	before, rest, ok := strings.Cut(pattern, "{")
	if !ok {
		return contains(pattern)
	}
	list, after, ok := strings.Cut(rest, "}")
	if !ok || strings.ContainsAny(list+after, "{}") {
		return false
	}
	for alternative := range strings.SplitSeq(list, ",") {
		if !contains(before + alternative + after) {
			return false
		}
	}
	return true
}
