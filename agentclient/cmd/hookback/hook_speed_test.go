package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient/internal/cli/clitest"
	"github.com/hookback/hookback/server/hubtest"
)

// contender is a program of the benchmark.
type contender struct {
	name    string
	command func() *exec.Cmd
	times   []time.Duration
}

// BenchmarkHook compares the hook with a Go program that does nothing and with common
// alternatives. They run in turns, so that other load affects all of them. Times are from start to
// exit; the value after a slash is relative to the empty program. It fails if the hook takes
// five times as long as the empty program. Use -benchtime 200x for 200 rounds.
func BenchmarkHook(b *testing.B) {
	input := readSample(b, "claude-code-PostToolUse-Bash")
	big := strings.Replace(input, `"tool_input": {`, `"tool_input": {"text": "`+strings.Repeat("0123456789abcde ", 1<<16)+`", `, 1)
	require.Greater(b, len(big), 1<<20)
	fast := clitest.StartHub(b, clitest.RespondWith(200, "application/json", `{"id":1}`)) // without the hub's fsync and queue
	stored := hubtest.Start(b)

	gated := readSample(b, "claude-code-PreToolUse-Bash")
	// Each hook has a separate home directory.
	hookProgram := func(hub, stdin string) func() *exec.Cmd {
		c := newHookCommand(b, hub, "")
		return func() *exec.Cmd {
			c.stdin = strings.NewReader(stdin)
			return c.command(b.Context())
		}
	}
	// A rule asks for the effect of a removal, as a question does.
	removal := func(files int) func() *exec.Cmd {
		tree := newTree(b, files)
		c := newHookCommand(b, fast.URL(), "", "--policy", filepath.Join(tree, "policy.json"))
		input := fmt.Sprintf(`{"session_id":"s","hook_event_name":"PreToolUse","cwd":%q,"tool_name":"Bash","tool_input":{"command":"rm -r src"}}`, tree)
		return func() *exec.Cmd {
			c.stdin = strings.NewReader(input)
			return c.command(b.Context())
		}
	}
	empty := buildEmpty(b)
	shell := func(name string, args ...string) func() *exec.Cmd {
		if _, err := exec.LookPath(name); err != nil {
			return nil
		}
		return func() *exec.Cmd {
			cmd := exec.CommandContext(b.Context(), name, args...)
			cmd.Stdin = strings.NewReader(input)
			return cmd
		}
	}
	contenders := []*contender{
		{name: "empty", command: shell(empty)},
		{name: "hook", command: hookProgram(fast.URL(), input)},
		{name: "gate", command: hookProgram(fast.URL(), gated)},
		{name: "remove-1", command: removal(1)},
		{name: "remove-20000", command: removal(20_000)},
		{name: "hook-stored", command: hookProgram(stored.URL(), input)},
		{name: "hook-1MiB", command: hookProgram(fast.URL(), big)},
		{name: "hook-no-hub", command: hookProgram(clitest.ClosedHubURL(b), input)},
		{name: "curl", command: shell("sh", "-c", "curl -s -o "+os.DevNull+" -H 'Content-Type: application/json' --data-binary @- "+fast.URL()+"/nothing")},
		{name: "python", command: shell("python3", "-c",
			"import sys,urllib.request as u\ntry: u.urlopen(u.Request('"+fast.URL()+"/nothing', sys.stdin.buffer.read(), {'Content-Type': 'application/json'}))\nexcept u.HTTPError: pass")},
	}
	contenders = slices.DeleteFunc(contenders, func(c *contender) bool { return c.command == nil })
	for b.Loop() {
		for _, c := range contenders {
			c.round(b)
		}
	}
	base := contenders[0].percentile(50)
	for _, c := range contenders {
		b.ReportMetric(ms(c.percentile(50)), c.name+"-p50-ms")
		b.ReportMetric(ms(c.percentile(95)), c.name+"-p95-ms")
		b.ReportMetric(ms(c.percentile(50))/ms(base), c.name+"/empty")
	}
	one, many := contenders[slices.IndexFunc(contenders, hasName("remove-1"))], contenders[slices.IndexFunc(contenders, hasName("remove-20000"))]
	b.ReportMetric(ms(many.percentile(95)-one.percentile(95)), "remove-20000-more-p95-ms")
	if best, limit := contenders[1].percentile(0), 5*contenders[0].percentile(0); best >= limit {
		b.Errorf("the fastest hook took %v, limit %v", best, limit)
	}
	b.ReportMetric(0, "ns/op") // meaningless for all contenders together
}

func hasName(name string) func(*contender) bool {
	return func(c *contender) bool { return c.name == name }
}

// newTree returns a git repository with that many files below src, all committed, and a policy that counts
// what a removal loses.
func newTree(b testing.TB, files int) string {
	b.Helper()
	tree := b.TempDir()
	require.NoError(b, os.WriteFile(filepath.Join(tree, "policy.json"), []byte(
		`{"rules": [{"tool": "Bash", "when": {"consequence": {"unrecoverable": {"greater": 100000}}}, "then": "deny"}]}`), 0o600))
	for i := range files {
		dir := filepath.Join(tree, "src", strconv.Itoa(i/100))
		require.NoError(b, os.MkdirAll(dir, 0o700))
		require.NoError(b, os.WriteFile(filepath.Join(dir, strconv.Itoa(i)), []byte(strconv.Itoa(i)), 0o600))
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "src"}, {"-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-qm", "all"}} {
		cmd := exec.Command("git", append([]string{"-C", tree}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull)
		out, err := cmd.CombinedOutput()
		require.NoError(b, err, string(out))
	}
	return tree
}

func (c *contender) round(b testing.TB) {
	b.Helper()
	cmd := c.command()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	start := time.Now()
	err := cmd.Run()
	c.times = append(c.times, time.Since(start))
	if err != nil && c.name != "curl" {
		b.Fatalf("%s: %v %s", c.name, err, &stderr)
	}
}

// percentile returns a percentile of the measured times.
func (c *contender) percentile(percent int) time.Duration {
	slices.Sort(c.times)
	return c.times[min(len(c.times)-1, len(c.times)*percent/100)]
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// buildEmpty builds a program that does nothing.
func buildEmpty(b testing.TB) string {
	b.Helper()
	dir := b.TempDir()
	source := filepath.Join(dir, "main.go")
	require.NoError(b, os.WriteFile(source, []byte("package main\n\nfunc main() {}\n"), 0o600))
	binary := filepath.Join(dir, "empty")
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", binary, source)
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=")
	out, err := build.CombinedOutput()
	require.NoError(b, err, string(out))
	return binary
}

// A hook starts with every tool call of every agent. This test counts allocations, which do not
// depend on the load of the machine; BenchmarkHook measures and limits the time.
func TestHook_AllocatesLittle(t *testing.T) {
	t.Parallel()
	hub := clitest.StartHub(t, clitest.RespondWith(200, "application/json", `{"id":1}`))
	self, err := os.Executable()
	require.NoError(t, err)
	c := newHookCommand(t, hub.URL(), stopEvent)
	file := filepath.Join(c.home, "allocations")
	c.program, c.env = self, []string{"TEST_HOOK_ALLOCATIONS=" + file, "GORACE=atexit_sleep_ms=0"}
	require.Equal(t, noOutput, c.run(t))
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	allocations, err := strconv.Atoi(string(text))
	require.NoError(t, err)
	require.Positive(t, allocations)
	t.Log(allocations, "allocations")
	require.LessOrEqual(t, allocations, 1000)
}

// Every hook pays for package initialization. Allocations are counted because they are the same
// on every machine. Compiling one regular expression takes about 40 of them, and 30 µs.
func TestProgram_FewInitAllocations(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), program, "version")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	trace, err := cmd.CombinedOutput()
	require.NoError(t, err)
	found := regexp.MustCompile(`(?m)^init (main|github\.com/hookback/\S+) .* (\d+) allocs$`).FindAllStringSubmatch(string(trace), -1)
	require.NotEmpty(t, found)
	total := 0
	for _, f := range found {
		n, err := strconv.Atoi(f[2])
		require.NoError(t, err)
		total += n
	}
	require.LessOrEqual(t, total, 300, "%v", found)
}
