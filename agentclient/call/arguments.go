package call

import (
	"cmp"
	"slices"
	"strings"
)

const codexPrefix = "functions."

// toolOf returns the entry of a tool in toolTable; the zero tool if it has none.
func toolOf(name string) (t tool) {
	if parse := tools()[normalizeName(strings.TrimPrefix(name, codexPrefix))]; parse != nil {
		t = parse()
	}
	return t
}

// CommonName returns the common name of a native tool, or "".
func CommonName(tool string) string { return toolOf(tool).common }

// ShellOf returns the shell of a tool whose arguments are command lines; empty: the one of the system. ok is
// false for other tools.
func ShellOf(tool string) (sh Shell, ok bool) {
	t := toolOf(tool)
	return t.shell, t.common == "Bash"
}

// ReadsFiles reports whether a tool reads, lists or searches files, and does nothing else.
func ReadsFiles(tool string) bool {
	t := toolOf(tool)
	return t.common == "Read" || t.args["*"] == "here" && normalizeName(tool) != "search" // which may be one of the web
}

// IsPlan reports whether a tool presents the agent's plan.
func IsPlan(tool string) bool {
	name := normalizeName(tool)
	return name == "exitplanmode" || name == "planmoderespond"
}

// ArgumentKind returns the meaning of an argument of a tool: command, lines (a list of commands), dir, file,
// url or another of the kinds in tools.go; empty: it has none for the reading.
func ArgumentKind(tool, argument string) string { return toolOf(tool).kindOf(argument) }

// IsCommand reports whether an argument of a tool is a command line.
func IsCommand(tool, argument string) bool {
	kind := ArgumentKind(tool, argument)
	return kind == "command" || kind == "lines"
}

// IsWindows reports whether the commands of a tool run on Windows, judging by its shell and the directory.
func IsWindows(tool, dir string) bool {
	sh, _ := ShellOf(tool)
	return sh == PowerShell || sh == Cmd || strings.ContainsRune(dir, '\\') || systemShell(dir) == PowerShell
}

// WordsOf returns the words of a command line of a tool in a directory if it is a simple command. See
// SimpleWords.
func WordsOf(tool, text, dir string) (words []string, ok bool) {
	sh, _ := ShellOf(tool)
	windows := IsWindows(tool, dir)
	if windows && strings.ContainsRune(text, '\\') { // which only some of its shells read as an escape
		return nil, false
	}
	list, ok := SimpleWords(text, cmp.Or(sh, POSIX), windows)
	return texts(list), ok
}

// PointerTo returns the JSON pointer of a path of member names.
func PointerTo(path ...string) (pointer string) {
	for _, name := range path {
		pointer = below(pointer, name)
	}
	return pointer
}

// Root returns the arguments; null if they can't be read.
func (c *Call) Root() *Value { return c.arguments }

// TextAt returns the text at a place in the arguments. Of equal members the last counts, as agents read them.
func (c *Call) TextAt(s Span) string {
	v := c.arguments
	if v == nil || s.Pointer == LongPointer {
		return ""
	}
	for _, part := range strings.Split(s.Pointer, "/")[1:] {
		name := pointerUnescapes.Replace(part)
		found := slices.Clone(v.members)
		slices.Reverse(found)
		i := slices.IndexFunc(found, func(m Member) bool { return m.Name == name })
		if i < 0 {
			return ""
		}
		v = found[i].Value
	}
	text, _ := v.Text()
	if s.To > len(text) || s.From >= s.To {
		return text
	}
	return text[s.From:s.To]
}

var pointerUnescapes = strings.NewReplacer("~1", "/", "~0", "~")

// CommandLine returns the command line that the tool runs: of several arguments for one, that of the most
// specific, with its operands in another argument. Several lines of a list are joined with line breaks.
func (c *Call) CommandLine() string {
	best := Preferred(c.Lines, func(l *Line) Span { return l.Span })
	var lines []string
	for _, l := range c.WholeLines() {
		if argumentOf(l.Span) == argumentOf(best.Span) {
			lines = append(lines, l.Text)
		}
	}
	return strings.Join(lines, "\n")
}

// IsList reports whether the line is a list of words, or an item of a list of lines.
func (l *Line) IsList() bool {
	return l.Span.Pointer != "" && (l.Span.To == 0 || strings.HasSuffix(strings.TrimRight(l.Span.Pointer, "0123456789"), "/"))
}

// WholeLines returns the command lines with the operands that the call has in another argument, and of equal
// arguments only the last.
func (c *Call) WholeLines() (lines []Line) {
	for i, l := range c.Lines {
		if !slices.ContainsFunc(c.Lines[i+1:], func(later Line) bool { return later.Span.Pointer == l.Span.Pointer }) {
			lines = append(lines, l)
		}
	}
	return lines
}

// argumentOf returns the pointer of the argument that has a place, without the indexes of lists.
func argumentOf(s Span) string {
	isIndex := func(part string) bool { return part != "" && strings.Trim(part, "0123456789") == "" }
	return strings.Join(slices.DeleteFunc(strings.Split(s.Pointer, "/"), isIndex), "/")
}

// Argument returns the name of the argument that has a place.
func (s Span) Argument() string {
	pointer := argumentOf(s)
	return pointerUnescapes.Replace(pointer[strings.LastIndexByte(pointer, '/')+1:])
}

// MainFiles returns the files in the most specific argument of those that keep accepts: one, or those of a
// list.
func (c *Call) MainFiles(keep func(*File) bool) (files []File) {
	all := slices.DeleteFunc(slices.Clone(c.Files), func(f File) bool { return !keep(&f) })
	best := Preferred(all, func(f *File) Span { return f.Span })
	for i, f := range all {
		isSame := func(later File) bool { return later.Span.Pointer == f.Span.Pointer && later.Span.From == f.Span.From }
		if argumentOf(f.Span) == argumentOf(best.Span) && !slices.ContainsFunc(all[i+1:], isSame) {
			files = append(files, f)
		}
	}
	return files
}

// Preferred returns the item in the most specific argument: the highest one, and of those the first in
// argumentTable, in lower case, and the last of equal ones. It is what an agent reads if a call has several
// arguments of one meaning. Nil: there are no items.
func Preferred[T any](items []T, span func(*T) Span) (best *T) {
	for i := range items {
		if best == nil || compareArguments(argumentOf(span(&items[i])), argumentOf(span(best))) < 0 {
			best = &items[i]
		}
	}
	return best
}

// compareArguments orders pointers of arguments, the most specific one first.
func compareArguments(a, b string) int {
	if a == b {
		return 0
	}
	names := strings.Fields(argumentTable)
	rank := func(pointer string) (place int, isLower bool) {
		name := pointer[strings.LastIndexByte(pointer, '/')+1:]
		if place = slices.Index(names, normalizeName(name)); place < 0 {
			place = len(names)
		}
		return place, name == strings.ToLower(name)
	}
	placeA, lowerA := rank(a)
	placeB, lowerB := rank(b)
	depths := cmp.Compare(strings.Count(a, "/"), strings.Count(b, "/"))
	switch {
	case depths != 0 || placeA != placeB || lowerA == lowerB:
		return cmp.Or(depths, cmp.Compare(placeA, placeB))
	case lowerA:
		return -1
	default:
		return 1
	}
}
