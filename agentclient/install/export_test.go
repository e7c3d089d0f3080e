package install

// What the tests of this package's insides use.
type Trace = trace

// Object makes an object of names and values in turn.
func Object(pairs ...any) any {
	var all fields
	for i := 0; i < len(pairs); i += 2 {
		all = append(all, field{pairs[i].(string), pairs[i+1]})
	}
	return all
}

// Parsed is what content means, without comments and white space.
func Parsed(content string) (string, error) {
	n, err := parse(content)
	if err != nil {
		return "", err
	}
	return plain(content, n), nil
}

// PlainOf is what v would be read as.
func PlainOf(v any) string { return plainOf(v) }

// Add, Set, Replace, Cut and Unmake are the edits.
var (
	Add     = add
	Set     = set
	Replace = replace
	Cut     = cut
	Unmake  = unmake
)

// Members counts the entries of the container at path.
func Members(content string, path []string) (int, error) {
	n, err := parse(content)
	if err != nil {
		return 0, err
	}
	return len(n.at(path...).members), nil
}

// DiffOf is the diff of two texts.
func DiffOf(before, after string) string {
	c := Change{File: "f", Before: before, After: after, Exists: true}
	return c.Diff()
}

// Ours reports whether a shell's command line is known as our hook for agent.
func Ours(line, agent string) bool {
	c, ok := readCall(line)
	return ok && c.ours(agent, nil)
}
