package install

import (
	"errors"
	"io/fs"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// managedFiles are the settings that an administrator writes for every account of a machine, on Linux, macOS and
// Windows. They are from the agents' documentation.
var managedFiles = map[string][3]string{
	"claude-code": {
		"/etc/claude-code/managed-settings.json", "/Library/Application Support/ClaudeCode/managed-settings.json",
		`C:\Program Files\ClaudeCode\managed-settings.json`,
	},
	"codex":  {"/etc/codex/hooks.json", "/etc/codex/hooks.json", `C:\ProgramData\OpenAI\Codex\hooks.json`},
	"gemini": {"/etc/gemini-cli/settings.json", "/Library/Application Support/GeminiCli/settings.json", `C:\ProgramData\gemini-cli\settings.json`},
	"cursor": {"/etc/cursor/hooks.json", "/Library/Application Support/Cursor/hooks.json", `C:\ProgramData\Cursor\hooks.json`},
	"copilot": {
		"/etc/github-copilot/policy.d/hookback.json", "/etc/github-copilot/policy.d/hookback.json",
		`C:\ProgramData\GitHub\Copilot\policy.d\hookback.json`,
	},
	"qwen":     {"/etc/qwen-code/settings.json", "/Library/Application Support/QwenCode/settings.json", `C:\ProgramData\qwen-code\settings.json`},
	"droid":    {"/etc/factory/settings.json", "/Library/Application Support/Factory/settings.json", `C:\Program Files\Factory\settings.json`},
	"windsurf": {"/etc/windsurf/hooks.json", "/Library/Application Support/Windsurf/hooks.json", `C:\ProgramData\Windsurf\hooks.json`},
}

// managedFile returns the agent's managed settings below m.Root, or "" if it has none.
func (a *agentConfig) managedFile(m Machine) string {
	file := managedFiles[a.name][max(slices.Index([]string{"linux", "darwin", "windows"}, runtime.GOOS), 0)]
	if file == "" || m.Root == "" {
		return file
	}
	return filepath.Join(m.Root, strings.TrimPrefix(file, filepath.VolumeName(file)))
}

// managed returns the configuration for the managed settings, which can be another kind of file than the user's.
func (a *agentConfig) managed() *agentConfig {
	if a.name != "droid" {
		return a
	}
	settings := *a
	settings.eventsPath = []string{"hooks"} // of settings.json
	return &settings
}

// GatesManaged reports whether the managed settings have our entries for all calls that the agent gates.
func GatesManaged(m Machine, agent string) bool {
	a := findAgent(agent)
	if a == nil {
		return false
	}
	file := a.managedFile(m)
	return file != "" && a.managed().fileGates(file, a.gateEvents())
}

// gateEvents returns the events of calls that every version of the agent gates.
func (a *agentConfig) gateEvents() (names []string) {
	for _, e := range a.events {
		if e.mode != observe && e.since == "" {
			names = append(names, e.name)
		}
	}
	return names
}

// AddFile plans a file that belongs to no agent and is entirely ours. Another content is replaced.
func (p *Plan) AddFile(file, content string) {
	c := Change{Title: "All agents", File: file, After: content, mode: 0o644}
	b, _, err := readSettings(file)
	switch {
	case err == nil:
		c.Before, c.Exists = string(b), true
	case !errors.Is(err, fs.ErrNotExist):
		p.Problems = append(p.Problems, FileError{"", file, err})
		return
	}
	p.Changes = append(p.Changes, c)
}
