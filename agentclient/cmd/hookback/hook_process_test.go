package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/hookback/hookback/agentclient"
	"github.com/hookback/hookback/agentclient/hook"
	"github.com/hookback/hookback/agentclient/internal/cli"
	"github.com/hookback/hookback/agentclient/internal/cli/clitest"
	"github.com/hookback/hookback/agentclient/internal/cli/hookrun"
	"github.com/hookback/hookback/agentclient/internal/cli/report"
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/hubtest"
)

// program is the path of the real binary, which TestMain builds once.
var program string

func TestMain(m *testing.M) {
	cli.TestHome = "HOME"
	if os.Getenv("TEST_PANICKING_HOOK") != "" {
		hook.Agents = append(hook.Agents, hook.AgentInfo{Name: "panics", Agent: panickingAdapter{}})
		os.Exit(hookrun.Process(os.Args[2:], os.Getenv, cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}, os.Exit))
	}
	if file := os.Getenv("TEST_HOOK_ALLOCATIONS"); file != "" {
		os.Exit(countHookAllocations(file))
	}
	if command := os.Getenv("TEST_AGENT_COMMAND"); command != "" {
		os.Exit(runAsAgent(command))
	}
	clitest.IsolateProcess()
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

// runAsAgent runs a hook like Gemini CLI does: through a shell, with the input in a pipe. The
// test binary calls it in a subprocess that plays the agent.
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

// countHookAllocations runs a hook and writes the number of its allocations to file. The test
// binary calls it in a subprocess, so that first-use costs count as in the real program.
func countHookAllocations(file string) int {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	status := hookrun.Process(os.Args[2:], os.Getenv, cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}, os.Exit)
	runtime.ReadMemStats(&after)
	if os.WriteFile(file, strconv.AppendUint(nil, after.Mallocs-before.Mallocs, 10), 0o600) != nil {
		return 1
	}
	return status
}

// buildProgram builds the command with the flags of the Makefile, and with the home directory
// of each test in place of the account's.
func buildProgram(to string) error {
	return buildProgramWith(to, " -X github.com/hookback/hookback/agentclient/internal/cli.TestHome=HOME")
}

// buildProgramWith builds the command with additional linker flags.
func buildProgramWith(to, linkerFlags string) error {
	build := exec.Command("go", "build", "-buildvcs=false", "-trimpath", "-ldflags=-s -w"+linkerFlags, "-o", to, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// panickingAdapter panics in Parse if the input contains "read", and always in Render.
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

// hookCommand runs the hook as a process, like an agent does.
type hookCommand struct {
	home, hub string
	args      []string // after "hook"
	env       []string
	stdin     io.Reader
	program   string
	isEnvHub  bool // only HOOKBACK_URL names the hub
}

// newHookCommand returns a hook of claude-code with a separate home directory.
func newHookCommand(t testing.TB, hub, stdin string, flags ...string) *hookCommand {
	t.Helper()
	return &hookCommand{
		home: t.TempDir(), hub: hub, stdin: strings.NewReader(stdin), program: program,
		args: append([]string{"claude-code"}, flags...),
	}
}

func (c *hookCommand) stateDir() string { return filepath.Join(c.home, ".local", "state", "hookback") }

// log returns the content of the hook log.
func (c *hookCommand) log() string {
	text, _ := os.ReadFile(filepath.Join(c.stateDir(), "hook.log"))
	return string(text)
}

// spooledEvents returns the number of spooled events.
func (c *hookCommand) spooledEvents() int { return c.spool().Len() }

func (c *hookCommand) spool() report.Spool {
	return report.NewSpool(func(name string) string { return map[string]string{"HOME": c.home}[name] })
}

// deliverSpooled sends the spooled events to the hub. On a busy machine a hub can miss
// sendTimeout; the event is then in the spool. The hub deduplicates events that it already has.
func (c *hookCommand) deliverSpooled() { deliverSpooled(c.spool(), c.hub) }

func deliverSpooled(s report.Spool, hub string) {
	deadline := time.Now().Add(time.Minute)
	poster := report.Poster{Hubs: []string{hub}, Options: agentclient.Options{Env: clitest.NoEnv}}
	s.Flush(deadline, func(body net.Buffers) ([]byte, error) {
		return poster.Post(deadline, schema.PathBatch, body)
	})
}

// command returns the process, not yet started.
func (c *hookCommand) command(ctx context.Context) *exec.Cmd {
	args := append([]string{"hook"}, c.args...)
	if !c.isEnvHub && !slices.Contains(args, "--hub") { // as hookback install writes it
		args = append(args, "--hub", c.hub)
	}
	cmd := exec.CommandContext(ctx, c.program, args...)
	cmd.Env = slices.Concat([]string{"HOME=" + c.home, "HOOKBACK_URL=" + c.hub, "CLAUDE_PROJECT_DIR=" + c.home}, c.env)
	cmd.Dir, cmd.Stdin = c.home, c.stdin
	cmd.WaitDelay = 30 * time.Second
	return cmd
}

// startedHook is a running hook process.
type startedHook struct {
	*exec.Cmd
	out, err bytes.Buffer
}

// hookLimit is the time after which a test kills a hook that does not exit by itself. The exit
// status is then -1.
const hookLimit = time.Minute

func (c *hookCommand) start(t testing.TB, ctx context.Context) *startedHook {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, hookLimit)
	t.Cleanup(cancel)
	r := &startedHook{Cmd: c.command(ctx)}
	r.Stdout, r.Stderr = &r.out, &r.err
	require.NoError(t, r.Start())
	return r
}

// wait waits for the hook to exit and returns its result.
func (r *startedHook) wait() cliResult {
	_ = r.Wait()
	return cliResult{r.ProcessState.ExitCode(), r.out.String(), r.err.String()}
}

func (c *hookCommand) run(t testing.TB) cliResult {
	t.Helper()
	return c.start(t, t.Context()).wait()
}

// runInTime runs the hook with stdin and repeats the run while the hub misses sendTimeout, as it
// can on a busy machine.
func (c *hookCommand) runInTime(t testing.TB, stdin string) cliResult {
	t.Helper()
	for range 100 {
		c.stdin = strings.NewReader(stdin)
		got := c.run(t)
		if c.spooledEvents() == 0 {
			return got
		}
		require.NoError(t, os.RemoveAll(c.stateDir()))
	}
	require.Fail(t, "the hub never accepted the event")
	return cliResult{}
}

// noOutput is the result of a hook without an opinion, for every agent.
var noOutput cliResult

func readSample(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "hook", "testdata", name+".json"))
	require.NoError(t, err)
	return string(text)
}
