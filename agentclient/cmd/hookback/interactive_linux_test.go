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

	"github.com/hookback/hookback/agentclient/internal/cli/clitest"
)

// openTerminal opens a new pseudoterminal.
func openTerminal(t *testing.T) *os.File {
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

// agentRun describes how an agent is started.
type agentRun struct {
	agent         string
	args          []string
	env           string
	stdin, stdout bool // whether the stream is a terminal
	shell         bool // whether a shell runs between the agent and its hook
}

// runAgent runs a hook in a subprocess that plays the agent, without a hub, in a project whose
// policy asks a person. It returns the output of the hook.
func runAgent(t *testing.T, r agentRun) string {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	home := t.TempDir()
	file := func(name, text string) string {
		at := filepath.Join(home, name)
		require.NoError(t, os.WriteFile(at, []byte(text), 0o600))
		return at
	}
	file("hookback.json", `{"rules":[{"tool":"Bash","then":"ask"}]}`)
	command, binary, event := "exec "+program+" hook --hub $HOOKBACK_URL "+r.agent, "node", "BeforeTool"
	if r.agent == "crush" {
		binary, event = "crush", "PreToolUse"
	}
	if r.shell {
		command = program + " hook --hub $HOOKBACK_URL " + r.agent + "; true"
	}
	binary = filepath.Join(home, binary)
	require.NoError(t, os.Link(self, binary))
	agent := exec.CommandContext(t.Context(), binary, r.args...)
	agent.Dir, agent.WaitDelay = home, 10*time.Second
	agent.Env = []string{
		"TEST_AGENT_COMMAND=" + command, "TEST_AGENT_INPUT=" + file("input", readSample(t, r.agent+"-"+event)),
		"TEST_AGENT_OUTPUT=" + filepath.Join(home, "output"), "HOME=" + home, "HOOKBACK_URL=" + clitest.ClosedHubURL(t), r.env,
	}
	tty := openTerminal(t)
	if r.stdin {
		agent.Stdin = tty
	}
	if r.stdout {
		agent.Stdout = tty
	}
	require.NoError(t, agent.Run())
	out, err := os.ReadFile(filepath.Join(home, "output"))
	require.NoError(t, err)
	return string(out)
}

// Gemini CLI waits forever for its prompt if no terminal is attached, and its hooks get no sign
// of it. Unless a terminal is certainly attached, a call that needs a person is denied.
func TestIsInteractive_GeminiAsksOnlyAtTerminal(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		agentRun
		interactive bool
	}{
		"terminal":                     {agentRun{"gemini", []string{"gemini.js"}, "", true, true, false}, true},
		"terminal, another shell":      {agentRun{"gemini", []string{"gemini.js", "--model", "x", "-y"}, "", true, true, true}, true},
		"interactive prompt":           {agentRun{"gemini", []string{"gemini.js", "-i", "Go"}, "", true, true, false}, true},
		"one prompt":                   {agentRun{"gemini", []string{"gemini.js", "-p", "Go"}, "", true, true, false}, false},
		"one prompt, with =":           {agentRun{"gemini", []string{"gemini.js", "--prompt=Go"}, "", true, true, true}, false},
		"one prompt, combined letters": {agentRun{"gemini", []string{"gemini.js", "-yp", "Go"}, "", true, true, false}, false},
		"one prompt, long flag":        {agentRun{"gemini", []string{"gemini.js", "--yolo", "--prompt", "Go"}, "", true, true, false}, false},
		"stdin not a terminal":         {agentRun{"gemini", []string{"gemini.js"}, "", false, true, false}, false},
		"stdout not a terminal":        {agentRun{"gemini", []string{"gemini.js"}, "", true, false, false}, false},
		"process title":                {agentRun{"gemini", nil, "", true, true, false}, false},
		"CI, not passed on to hooks":   {agentRun{"gemini", []string{"gemini.js"}, "CI=true", true, true, false}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := runAgent(t, test.agentRun)
			if test.interactive {
				require.True(t, strings.HasPrefix(out, `{"decision":"ask","systemMessage":"No Hookback hub answers at `), "%s", out)
				return
			}
			require.True(t, strings.HasPrefix(out, `{"decision":"deny","reason":"This call needs a person's decision, and no one can be asked here. It was not run. No Hookback hub answers at `), "%s", out)
			require.Contains(t, out, "HOOKBACK_HEADLESS=0")
		})
	}
}

// Crush asks at its prompt if a hook prints nothing, but crush run and --yolo run the call.
func TestIsInteractive_CrushPromptsOnlyAtTerminal(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		args        []string
		interactive bool
	}{
		"terminal": {nil, true},
		"run":      {[]string{"run", "Go"}, false},
		"yolo":     {[]string{"-dy"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := runAgent(t, agentRun{agent: "crush", args: test.args, stdin: true, stdout: true})
			if test.interactive {
				require.Empty(t, out)
				return
			}
			require.True(t, strings.HasPrefix(out, `{"decision":"deny","reason":"This call needs a person's decision`), out)
			require.Contains(t, out, "HOOKBACK_HEADLESS=0")
		})
	}
}
