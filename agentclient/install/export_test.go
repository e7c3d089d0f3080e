package install

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// SettingsFiles returns the files that decide whether each agent runs its hooks, as lines of the agent and
// the end of a path. A final slash marks a directory.
func SettingsFiles() (lines []string) {
	for i := range agentConfigs {
		a := &agentConfigs[i]
		specs := slices.Clone(a.otherFiles)
		for _, spec := range a.files {
			if a.ownedFile != nil {
				spec.path += "/"
			}
			specs = append(specs, spec)
		}
		for _, setting := range disableSettings()[a.name] {
			specs = append(specs, setting.file)
		}
		for _, spec := range specs {
			if spec.variable == "XDG_CONFIG_HOME" {
				spec.home = ""
			}
			end := "/" + strings.TrimPrefix(path.Join(spec.home, spec.path), "/")
			if strings.HasSuffix(spec.path, "/") || strings.Contains(spec.path, "*") {
				end = strings.TrimSuffix(end, "*.json") + "/"
			}
			lines = append(lines, fmt.Sprintf("%s %s", a.name, path.Clean(end)+map[bool]string{true: "/"}[strings.HasSuffix(end, "/")]))
		}
	}
	slices.Sort(lines)
	return slices.Compact(lines)
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
