package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient/internal/cli/clitest"
)

// Cursor also runs the hooks in Claude Code's settings. It gets replies in its own format, or
// none if the account's settings of Cursor gate all calls too. What only looks like that, or is in a
// project, does not end the gate.
func TestIdentifyCaller_CursorRunsClaudeHook(t *testing.T) {
	t.Parallel()
	hub := clitest.StartHub(t, nil)
	input := readSample(t, "cursor-beforeShellExecution")
	const own = `{"version":1,"hooks":{
		"beforeShellExecution":[{"command":"HOME/bin/hookback hook cursor"}],
		"beforeMCPExecution":[{"command":"HOME/bin/hookback hook cursor"}],
		"preToolUse":[{"matcher":"Read|Write|Delete|Grep|Task","command":"HOME/bin/hookback hook cursor"}]}}`
	for name, test := range map[string]struct {
		file, text string
		events     int
	}{
		"no own hook":          {"", "", 1},
		"hook of another tool": {".cursor/hooks.json", `{"hooks":{"stop":[{"command":"/bin/other cursor"}]}}`, 1},
		"own hook":             {".cursor/hooks.json", own, 0},
		"own hook observes":    {".cursor/hooks.json", strings.ReplaceAll(own, "hook cursor", "hook cursor --observe"), 1},
		"own hook without MCP": {".cursor/hooks.json", strings.ReplaceAll(own, "beforeMCPExecution", "afterMCPExecution"), 1},
		"own hook for some":    {".cursor/hooks.json", strings.ReplaceAll(own, "Read|Write|", ""), 1},
		"own hook in project":  {"project/.cursor/hooks.json", own, 1},
		"words in project":     {"project/.cursor/hooks.json", `{"hookback cursor": 1}`, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hub := clitest.StartHub(t, nil)
			c := newHookCommand(t, hub.URL(), input)
			c.env = []string{"CLAUDE_PROJECT_DIR=" + filepath.Join(c.home, "project")}
			if test.file != "" {
				require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(c.home, test.file)), 0o700))
				require.NoError(t, os.WriteFile(filepath.Join(c.home, test.file), []byte(strings.ReplaceAll(test.text, "HOME", c.home)), 0o600))
				require.NoError(t, os.MkdirAll(filepath.Join(c.home, "bin"), 0o700))
				require.NoError(t, os.WriteFile(filepath.Join(c.home, "bin/hookback"), nil, 0o700)) //nolint:gosec // a program
			}
			require.Equal(t, noOutput, c.run(t))
			c.deliverSpooled()
			require.Len(t, hub.Events(), test.events)
			if test.events > 0 {
				require.Equal(t, "cursor", hub.Events()[0].Agent)
				return
			}
			require.Contains(t, c.log(), "Cursor runs the hook of Claude Code, and has its own")
		})
	}
	c := newHookCommand(t, hub.URL(), input, "--on-unreachable", "deny")
	require.NoError(t, os.WriteFile(filepath.Join(c.home, "hookback.json"), []byte("{"), 0o600))
	hub.Stop()
	got := c.run(t)
	require.Contains(t, got.out, `{"permission":"deny"`, "Cursor's own format")
	require.Equal(t, cliResult{0, got.out, ""}, got)
}
