package e2e_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// npmCache is a directory of installed npm packages, one directory per version. Several
// test runs may share it: a package appears there only when its installation is complete.
type npmCache struct {
	dir string
	npm []string // the command

	mu sync.Mutex // npm installs one package at a time
}

var sharedPackages = &npmCache{dir: filepath.Join(os.TempDir(), "hookback-e2e-agents"), npm: []string{"npm"}}

// npmProgram installs an agent from the registry once for all runs. It returns the first
// path below node_modules that matches the pattern. The test fails if the package is not
// available: a run that leaves agents out must not pass.
func npmProgram(t testing.TB, name, version, pattern string) string {
	t.Helper()
	program, err := sharedPackages.program(name, version, pattern)
	require.NoError(t, err, "install %s@%s", name, version)
	require.NotEmpty(t, program, "%s is not in %s@%s", pattern, name, version)
	return program
}

// program returns the first path below node_modules of the package that matches the
// pattern, or "". It installs the package if it is missing, without running the package's
// scripts.
func (c *npmCache) program(name, version, pattern string) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	dir := filepath.Join(c.dir, filepath.Base(name)+"-"+version)
	find := func() string {
		found, _ := filepath.Glob(filepath.Join(dir, "node_modules", filepath.FromSlash(pattern)))
		if len(found) == 0 {
			return ""
		}
		return found[0]
	}
	if program := find(); program != "" {
		return program, nil
	}
	if err := c.install(dir, name+"@"+version); err != nil {
		return "", err
	}
	return find(), nil
}

// install installs a package into a temporary directory and renames it. Another run may
// have been faster; its installation is kept.
func (c *npmCache) install(dir, spec string) error {
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return err
	}
	incomplete, err := os.MkdirTemp(c.dir, "incomplete-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(incomplete) }()
	ctx, cancel := context.WithTimeout(context.Background(), 4*waitLimit)
	defer cancel()
	command := exec.CommandContext(ctx, c.npm[0], append(slices.Clone(c.npm[1:]), "install", "--prefix", incomplete, "--no-audit", "--no-fund", "--ignore-scripts", spec)...)
	command.Dir = incomplete
	command.WaitDelay = time.Second
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	if err := os.Rename(incomplete, dir); err != nil {
		if _, exists := os.Stat(filepath.Join(dir, "node_modules")); exists != nil {
			return err
		}
	}
	return nil
}

// slowNPM is an npm that writes half a program, waits for the file "go" next to it if it is
// the first one, and then writes the other half.
const slowNPM = `#!/bin/sh
dir=$3
mkdir -p "$dir/node_modules/agent"
printf '#!/bin/sh\n' > "$dir/node_modules/agent/run"
chmod 700 "$dir/node_modules/agent/run"
here=${0%/*}
if mkdir "$here/first" 2>/dev/null; then
	read go < "$here/go"
fi
echo 'echo complete' >> "$dir/node_modules/agent/run"
`

// Two test runs with a cold cache install the same agent. Neither runs a program that the
// other is still writing.
func TestNPMCache_ColdRunsInParallel(t *testing.T) {
	t.Parallel()
	tools, dir := t.TempDir(), filepath.Join(t.TempDir(), "cache")
	npm := filepath.Join(tools, "npm")
	require.NoError(t, os.WriteFile(npm, []byte(slowNPM), 0o600))
	require.NoError(t, exec.Command("mkfifo", filepath.Join(tools, "go")).Run())
	run := func() string {
		program, err := (&npmCache{dir: dir, npm: []string{"sh", npm}}).program("@vendor/agent", "1.0.0", "agent/run")
		if err != nil {
			return err.Error()
		}
		out, err := exec.Command(program).CombinedOutput()
		return fmt.Sprint(string(out), err)
	}
	slow := make(chan string, 1)
	go func() { slow <- run() }()
	require.True(t, eventually(func() bool {
		_, err := os.Stat(filepath.Join(tools, "first"))
		return err == nil
	}), "the first installation is in progress")
	require.Equal(t, "complete\n<nil>", run())
	require.NoError(t, os.WriteFile(filepath.Join(tools, "go"), []byte("\n"), 0o600))
	require.Equal(t, "complete\n<nil>", <-slow)
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	require.Equal(t, []string{filepath.Join(dir, "agent-1.0.0")}, left, "no incomplete installation is left")
}
