package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// terminal opens a new one, for an agent to run in.
func terminal(t *testing.T) *os.File {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("no terminals here: ", err)
	}
	t.Cleanup(func() { _ = master.Close() })
	require.NoError(t, unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	require.NoError(t, err)
	tty, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = tty.Close() })
	return tty
}

// Gemini CLI waits for ever when it is told to ask and nobody sits at it, and says to no
// hook whether somebody does. Unless it is certain, a call that a person must decide is
// refused, with the cause and what to do.
func TestGeminiIsToldToAskOnlyWhereSomebodySits(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	require.NoError(t, err)
	hub := absentHub(t)
	for name, test := range map[string]struct {
		args             []string
		env              string
		stdin, stdout    bool // is a terminal
		shell, certainly bool
	}{
		"at a terminal":                           {[]string{"gemini.js"}, "", true, true, false, true},
		"at a terminal, another shell":            {[]string{"gemini.js", "--model", "x", "-y"}, "", true, true, true, true},
		"with a first prompt, then a human":       {[]string{"gemini.js", "-i", "Go"}, "", true, true, false, true},
		"one prompt":                              {[]string{"gemini.js", "-p", "Go"}, "", true, true, false, false},
		"one prompt, in one word":                 {[]string{"gemini.js", "--prompt=Go"}, "", true, true, true, false},
		"one prompt, two letters":                 {[]string{"gemini.js", "-yp", "Go"}, "", true, true, false, false},
		"one prompt, two words":                   {[]string{"gemini.js", "--yolo", "--prompt", "Go"}, "", true, true, false, false},
		"stdin is a pipe":                         {[]string{"gemini.js"}, "", false, true, false, false},
		"stdout is a file":                        {[]string{"gemini.js"}, "", true, false, false, false},
		"only a title":                            {nil, "", true, true, false, false},
		"a pipeline, which its hooks aren't told": {[]string{"gemini.js"}, "CI=true", true, true, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			file := func(name, text string) string {
				at := filepath.Join(home, name)
				require.NoError(t, os.WriteFile(at, []byte(text), 0o600))
				return at
			}
			file("hookback.json", `{"rules":[{"tool":"Bash","then":"ask"}]}`)
			command := "exec " + program + " hook gemini"
			if test.shell {
				command = program + " hook gemini; true"
			}
			agent := exec.CommandContext(t.Context(), self, test.args...)
			agent.Dir, agent.WaitDelay = home, 10*time.Second
			agent.Env = []string{
				"AGENT_THAT_RUNS=" + command, "AGENT_INPUT=" + file("input", sample(t, "gemini-BeforeTool")),
				"AGENT_OUTPUT=" + filepath.Join(home, "output"), "HOME=" + home, "HOOKBACK_URL=" + hub, test.env,
			}
			tty := terminal(t)
			if test.stdin {
				agent.Stdin = tty
			}
			if test.stdout {
				agent.Stdout = tty
			}
			require.NoError(t, agent.Run())
			out, err := os.ReadFile(filepath.Join(home, "output"))
			require.NoError(t, err)
			if test.certainly {
				require.True(t, strings.HasPrefix(string(out), `{"decision":"ask","systemMessage":"No Hookback hub answers at `), "%s", out)
				return
			}
			require.True(t, strings.HasPrefix(string(out), `{"decision":"deny","reason":"This needs a person's decision, and there is no way to ask for it here. No Hookback hub answers at `), "%s", out)
			require.Contains(t, string(out), "HOOKBACK_HEADLESS=0")
		})
	}
}
