package install

// What the tests of this package's insides use.
type Insertion = insertion

// NewObject makes an object of names and values in turn.
func NewObject(pairs ...any) any {
	var all fields
	for i := 0; i < len(pairs); i += 2 {
		all = append(all, field{pairs[i].(string), pairs[i+1]})
	}
	return all
}

// Minify is what content means, without comments and white space.
func Minify(content string) (string, error) {
	n, err := parse(content)
	if err != nil {
		return "", err
	}
	return minify(content, n), nil
}

// MinifyValue is what v would be read as.
func MinifyValue(v any) string { return minifyValue(v) }

// AddEntry, Set, Replace, Cut and Unmake are the edits.
var (
	AddEntry             = addEntry
	SetMember            = setMember
	ReplaceMember        = replaceMember
	CutMember            = cutMember
	RemoveCreatedParents = removeCreatedParents
)

// CountMembers counts the entries of the container at path.
func CountMembers(content string, path []string) (int, error) {
	n, err := parse(content)
	if err != nil {
		return 0, err
	}
	return len(n.lookup(path...).members), nil
}

// DiffOf is the diff of two texts.
func DiffOf(before, after string) string {
	c := Change{File: "f", Before: before, After: after, Exists: true}
	return c.Diff()
}

// IsOurs reports whether a shell's command line is known as our hook for agent.
func IsOurs(line, agent string) bool {
	c, ok := parseCommand(line)
	return ok && c.isOurs(agent, nil)
}
