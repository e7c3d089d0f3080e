//go:build unix

package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/hookback/hookback/agentclient/internal/cli/clitest"
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
			hub := clitest.StartHub(t, nil)
			address := hub.URL()
			if name != "an event" {
				address = clitest.ClosedHubURL(t)
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
