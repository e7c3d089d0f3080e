package install

// The exports for the external tests.
type Insertion = insertion

// NewObject returns an object with alternating names and values.
func NewObject(pairs ...any) any {
	var all fields
	for i := 0; i < len(pairs); i += 2 {
		all = append(all, field{pairs[i].(string), pairs[i+1]})
	}
	return all
}

// Minify returns content without comments and white space.
func Minify(content string) (string, error) {
	d, err := parse(content)
	if err != nil {
		return "", err
	}
	return minify(&d.root), nil
}

// MinifyValue returns the minified form of a value that we would write.
func MinifyValue(v any) string {
	d, _ := parse(`{"v": ` + layout{}.render(v, "") + "}")
	return minify(d.lookup("v"))
}

// The edit functions.
var (
	AddEntry             = addEntry
	SetMember            = setMember
	ReplaceMember        = replaceMember
	CutMember            = cutMember
	RemoveCreatedParents = removeCreatedParents
)

// CountMembers returns the number of members of the container at path.
func CountMembers(content string, path []string) (int, error) {
	d, err := parse(content)
	if err != nil {
		return 0, err
	}
	return len(members(d.lookup(path...))), nil
}

// DiffOf returns the diff of two texts.
func DiffOf(before, after string) string {
	c := Change{File: "f", Before: before, After: after, Exists: true}
	return c.Diff()
}

// IsOurs reports whether a shell's command line is recognized as our hook for agent.
func IsOurs(line, agent string) bool {
	c, ok := parseCommand(line)
	return ok && c.isOurs(agent, nil)
}
