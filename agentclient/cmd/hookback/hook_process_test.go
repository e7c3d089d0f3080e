package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/hookback/hookback/agentclient/hook"
	"github.com/hookback/hookback/server/hubtest"
)

// program is the real binary, built once.
var program string

func TestMain(m *testing.M) {
	if os.Getenv("TEST_PANICKING_HOOK") != "" {
		hook.Agents = append(hook.Agents, hook.AgentInfo{Name: "panics", Agent: panickingAdapter{}})
		os.Exit(hookProcess(os.Args[2:], os.Getenv, streams{os.Stdin, os.Stdout, os.Stderr}, os.Exit))
	}
	if hookCommand := os.Getenv("TEST_AGENT_COMMAND"); hookCommand != "" {
		os.Exit(runAsAgent(hookCommand))
	}
	dir, err := os.MkdirTemp("", "hookback-test-")
	if err == nil {
		program = filepath.Join(dir, "hookback")
		err = buildProgram(program)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	var known []goleak.Option
	for _, f := range hubtest.Goroutines() {
		known = append(known, goleak.IgnoreAnyFunction(f))
	}
	known = append(known, goleak.Cleanup(func(status int) {
		_ = os.RemoveAll(dir)
		os.Exit(status)
	}))
	goleak.VerifyTestMain(m, known...)
}

// runAsAgent is what a process of this test does as an agent: it runs a hook, as Gemini
// CLI does, with input in a pipe and through a shell.
func runAsAgent(command string) int {
	input, err := os.ReadFile(os.Getenv("TEST_AGENT_INPUT"))
	if err != nil {
		return 1
	}
	run := exec.Command("/bin/sh", "-c", command)
	run.Stdin = strings.NewReader(string(input))
	run.Env = []string{"HOME=" + os.Getenv("HOME"), "HOOKBACK_URL=" + os.Getenv("HOOKBACK_URL")}
	out, err := run.Output()
	if err != nil || os.WriteFile(os.Getenv("TEST_AGENT_OUTPUT"), out, 0o600) != nil {
		return 1
	}
	return 0
}

// buildProgram builds the command as make does.
func buildProgram(to string) error {
	build := exec.Command("go", "build", "-tags=nethttpomithttp2", "-buildvcs=false", "-trimpath", "-ldflags=-s -w", "-o", to, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// panickingAdapter is an agent whose adapter panics where its input says.
type panickingAdapter struct{}

func (panickingAdapter) Parse(in hook.Input) (hook.Call, error) {
	if strings.Contains(string(in.Stdin), "read") {
		panic("in Read")
	}
	c, err := hook.Agents[0].Agent.Parse(in)
	c.Capabilities = hook.CanAllow | hook.CanDeny
	return c, err
}

func (panickingAdapter) Render(*hook.Call, hook.Verdict) hook.Reply { panic("in Answer") }

// hookCommand is a hook as an agent runs it.
type hookCommand struct {
	home, hub string
	args      []string // behind "hook"
	env       []string
	stdin     io.Reader
	program   string
}

// newHookCommand is a hook of claude-code with a home of its own.
func newHookCommand(t testing.TB, hub, stdin string, flags ...string) *hookCommand {
	t.Helper()
	return &hookCommand{
		home: t.TempDir(), hub: hub, stdin: strings.NewReader(stdin), program: program,
		args: append([]string{"claude-code"}, flags...),
	}
}

func (c *hookCommand) stateDir() string { return filepath.Join(c.home, ".local", "state", "hookback") }

// log is the hook's log.
func (c *hookCommand) log() string {
	text, _ := os.ReadFile(filepath.Join(c.stateDir(), "hook.log"))
	return string(text)
}

// spooledEvents counts the events that are kept.
func (c *hookCommand) spooledEvents() int {
	return len(spool{filepath.Join(c.stateDir(), "spool")}.list())
}

// command is the process, not started.
func (c *hookCommand) command(ctx context.Context) *exec.Cmd {
	cmd := exec.CommandContext(ctx, c.program, slices.Concat([]string{"hook"}, c.args)...)
	cmd.Env = slices.Concat([]string{"HOME=" + c.home, "HOOKBACK_URL=" + c.hub, "CLAUDE_PROJECT_DIR=" + c.home}, c.env)
	cmd.Dir, cmd.Stdin = c.home, c.stdin
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

// startedHook is a hook that was started.
type startedHook struct {
	*exec.Cmd
	out, err  bytes.Buffer
	startedAt time.Time
}

func (c *hookCommand) start(t testing.TB, ctx context.Context) *startedHook {
	t.Helper()
	r := &startedHook{Cmd: c.command(ctx), startedAt: time.Now()}
	r.Stdout, r.Stderr = &r.out, &r.err
	require.NoError(t, r.Start())
	return r
}

// wait is what the hook left, and how long it took.
func (r *startedHook) wait() (cliResult, time.Duration) {
	_ = r.Wait()
	return cliResult{r.ProcessState.ExitCode(), r.out.String(), r.err.String()}, time.Since(r.startedAt)
}

func (c *hookCommand) run(t testing.TB) cliResult {
	t.Helper()
	got, _ := c.start(t, t.Context()).wait()
	return got
}

// noOutput is no opinion, for every agent.
var noOutput cliResult

func readSample(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "hook", "testdata", name+".json"))
	require.NoError(t, err)
	return string(text)
}
