package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient/internal/cli/clitest"
)

// Cursor also runs the hooks in Claude Code's settings. It gets replies in its own format, or
// none if it also has its own Hookback hook, which handles the call.
func TestIdentifyCaller_CursorRunsClaudeHook(t *testing.T) {
	t.Parallel()
	hub := clitest.StartHub(t, nil)
	input := readSample(t, "cursor-beforeShellExecution")
	for name, test := range map[string]struct {
		file, text string
		events     int
	}{
		"no own hook":          {"", "", 1},
		"hook of another tool": {".cursor/hooks.json", `{"hooks":{"stop":[{"command":"/bin/other cursor"}]}}`, 1},
		"own hook":             {".cursor/hooks.json", `{"hooks":{"stop":[{"command":"/bin/hookback hook cursor"}]}}`, 0},
		"own hook in project":  {"project/.cursor/hooks.json", `{"hooks":{"stop":[{"command":"/bin/hookback hook cursor"}]}}`, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hub := clitest.StartHub(t, nil)
			c := newHookCommand(t, hub.URL(), input)
			c.env = []string{"CLAUDE_PROJECT_DIR=" + filepath.Join(c.home, "project")}
			if test.file != "" {
				require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(c.home, test.file)), 0o700))
				require.NoError(t, os.WriteFile(filepath.Join(c.home, test.file), []byte(test.text), 0o600))
			}
			require.Equal(t, noOutput, c.run(t))
			c.deliverSpooled()
			require.Len(t, hub.Events(), test.events)
			if test.events > 0 {
				require.Equal(t, "cursor", hub.Events()[0].Agent)
				return
			}
			require.Contains(t, c.log(), "Cursor runs the hook of Claude Code, and has its own in ")
		})
	}
	c := newHookCommand(t, hub.URL(), input, "--on-unreachable", "deny")
	require.NoError(t, os.WriteFile(filepath.Join(c.home, "hookback.json"), []byte("{"), 0o600))
	hub.Stop()
	got := c.run(t)
	require.Contains(t, got.out, `{"permission":"deny"`, "Cursor's own format")
	require.Equal(t, cliResult{0, got.out, ""}, got)
}
