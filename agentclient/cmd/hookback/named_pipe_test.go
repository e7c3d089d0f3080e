//go:build unix

package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// Opening a named pipe in the place of a regular file would block the hook, and its agent, until
// another process opens the other end.
func TestHook_NamedPipesDoNotBlock(t *testing.T) {
	t.Parallel()
	for name, file := range map[string]string{
		"the log":                    ".local/state/hookback/hook.log",
		"the state":                  ".local/state/hookback",
		"the spool":                  ".local/state/hookback/spool",
		"an event":                   ".local/state/hookback/spool/1700000000000-00000000000000ff-2.json",
		"the policy":                 "hookback.json",
		"the settings of its caller": ".cursor/hooks.json",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hub := startHub(t, nil)
			address := hub.URL()
			if name != "an event" {
				address = closedHubURL(t)
			}
			c := newHookCommand(t, address, readSample(t, "claude-code-PreToolUse-Bash"))
			if name == "the settings of its caller" {
				c = newHookCommand(t, address, readSample(t, "cursor-beforeShellExecution"))
			}
			pipe := filepath.Join(c.home, file)
			require.NoError(t, os.MkdirAll(filepath.Dir(pipe), 0o700))
			require.NoError(t, unix.Mkfifo(pipe, 0o600))
			require.Equal(t, 0, c.run(t).status)
		})
	}
}

// Users read the log, with text of agents, in a terminal.
func TestHookLog_ReplacesControlCharacters(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	j := newHookLog(func(name string) string { return map[string]string{"HOME": home}[name] })
	j.printf("a\x1b[2Jb\r\u202ec\nd é")
	text, err := os.ReadFile(j.file)
	require.NoError(t, err)
	require.Contains(t, string(text), "a�[2Jb��c\n\td é\n")
}
