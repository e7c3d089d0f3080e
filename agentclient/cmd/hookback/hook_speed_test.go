package main

import (
	"bytes"
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

	"github.com/hookback/hookback/server/hubtest"
)

// contender is a program that takes part in a race.
type contender struct {
	name    string
	command func() *exec.Cmd
	times   []time.Duration
}

// BenchmarkHook races the hook against a Go program that does nothing and against
// what people run as hooks otherwise, in turns, so that what else the machine does
// counts for all of them. Times are from start to exit; what is behind a slash is
// compared with the empty program. -benchtime 200x makes it 200 rounds.
func BenchmarkHook(b *testing.B) {
	input := readSample(b, "claude-code-PostToolUse-Bash")
	big := strings.Replace(input, `"tool_input": {`, `"tool_input": {"text": "`+strings.Repeat("0123456789abcde ", 1<<16)+`", `, 1)
	require.Greater(b, len(big), 1<<20)
	quick := startHub(b, respondWith(200, "application/json", `{"id":1}`)) // the other's fsync and queue are the hub's
	stored := hubtest.Start(b)

	// Each in a directory where its own program finds what it needs.
	hooked := func(hub, stdin string) func() *exec.Cmd {
		c := newHookCommand(b, hub, "")
		return func() *exec.Cmd {
			c.stdin = strings.NewReader(stdin)
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
	race := []*contender{
		{name: "empty", command: shell(empty)},
		{name: "hook", command: hooked(quick.URL(), input)},
		{name: "hook-stored", command: hooked(stored.URL(), input)},
		{name: "hook-1MiB", command: hooked(quick.URL(), big)},
		{name: "hook-no-hub", command: hooked(closedHubURL(b), input)},
		{name: "curl", command: shell("sh", "-c", "curl -s -o "+os.DevNull+" -H 'Content-Type: application/json' --data-binary @- "+quick.URL()+"/nothing")},
		{name: "python", command: shell("python3", "-c",
			"import sys,urllib.request as u\ntry: u.urlopen(u.Request('"+quick.URL()+"/nothing', sys.stdin.buffer.read(), {'Content-Type': 'application/json'}))\nexcept u.HTTPError: pass")},
	}
	race = slices.DeleteFunc(race, func(c *contender) bool { return c.command == nil })
	for b.Loop() {
		for _, c := range race {
			c.round(b)
		}
	}
	base := race[0].percentile(50)
	for _, c := range race {
		b.ReportMetric(ms(c.percentile(50)), c.name+"-p50-ms")
		b.ReportMetric(ms(c.percentile(95)), c.name+"-p95-ms")
		b.ReportMetric(ms(c.percentile(50))/ms(base), c.name+"/empty")
	}
	b.ReportMetric(0, "ns/op") // of all contenders together it says nothing
}

func (c *contender) round(b testing.TB) {
	b.Helper()
	cmd := c.command()
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	begun := time.Now()
	err := cmd.Run()
	c.times = append(c.times, time.Since(begun))
	if err != nil && c.name != "curl" {
		b.Fatalf("%s: %v %s", c.name, err, &complaints)
	}
}

// percentile is a percentile.
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

// A hook starts with every tool call of every agent. This fails when it becomes
// several times slower; how fast it is says BenchmarkHook.
func TestHook_StaysFast(t *testing.T) {
	hub := startHub(t, respondWith(200, "application/json", `{"id":1}`))
	program := buildEmpty(t)
	c := newHookCommand(t, hub.URL(), "")
	empty := contender{command: func() *exec.Cmd { return exec.CommandContext(t.Context(), program) }}
	told := contender{command: func() *exec.Cmd {
		c.stdin = strings.NewReader(stopEvent)
		return c.command(t.Context())
	}}
	for range 30 {
		empty.round(t)
		told.round(t)
	}
	// The quickest of each: what else the machine does only adds to a time.
	require.Less(t, told.percentile(0), 5*empty.percentile(0), "%v against %v", told.percentile(0), empty.percentile(0))
}

// What packages do when the program starts, every hook pays for. It is counted in
// allocations, which are the same on every machine: a regular expression that is
// compiled then costs some 40 of them, and 30 µs.
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
