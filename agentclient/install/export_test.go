package install

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
