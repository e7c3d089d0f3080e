package e2e_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient/install"
)

// npmCache is a directory of installed npm packages, one directory per version. Several
// test runs may share it: a package appears there only when its installation is complete.
type npmCache struct {
	dir string
	npm []string // the command

	mu sync.Mutex // npm installs one package at a time
}

// installLimit is how long npm may take for one package.
const installLimit = 10 * time.Minute

var sharedPackages = &npmCache{dir: filepath.Join(os.TempDir(), "hookback-e2e-agents"), npm: []string{"npm"}}

// latest returns the newest version of a package in the registry.
func (c *npmCache) latest(name string) (string, error) {
	out, err := c.run(time.Minute, "", "view", name, "version")
	return strings.TrimSpace(string(out)), err
}

// run runs npm in a directory and returns its output.
func (c *npmCache) run(limit time.Duration, dir string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	command := exec.CommandContext(ctx, c.npm[0], append(slices.Clone(c.npm[1:]), args...)...)
	var stderr bytes.Buffer
	command.Dir, command.WaitDelay, command.Stderr = dir, time.Second, &stderr
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("npm %s: %w\n%s%s", args[0], err, out, stderr.Bytes())
	}
	return out, nil
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
	if _, err = c.run(installLimit, incomplete, "install", "--prefix", incomplete, "--no-audit", "--no-fund", "--ignore-scripts", spec); err != nil {
		return err
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

// quickNPM is an npm whose registry has version 9.9.9 of every package, and installs every program.
const quickNPM = `#!/bin/sh
case "$1 $2" in
"view cline") echo "no such package" >&2; exit 1 ;;
view*) echo 9.9.9; exit ;;
esac
modules=$3/node_modules
for program in ` + everyProgram + `; do
	mkdir -p "$modules/${program%/*}"
	: > "$modules/$program"
done
`

const everyProgram = "@anthropic-ai/claude-code-x/claude @openai/codex-x/vendor/x/bin/codex .bin/gemini " +
	"@github/copilot-linux-x64/copilot opencode-linux-x64/bin/opencode " +
	"@qwen-code/qwen-code/cli.js @factory/cli-x/bin/droid @cline/cli-x/bin/cline " +
	".bin/mcp-inspector"

// Without LATEST a run tests the proven versions. With it, a run tests the newest ones and prints
// which are behind.
func TestInstallAgents_SelectsVersions(t *testing.T) {
	t.Parallel()
	npm := filepath.Join(t.TempDir(), "npm")
	require.NoError(t, os.WriteFile(npm, []byte(quickNPM), 0o600))
	cache := &npmCache{dir: filepath.Join(t.TempDir(), "cache"), npm: []string{"sh", npm}}
	var log strings.Builder
	pinned := installAgents(cache, false, &log)
	for agent, p := range pinned {
		require.NoError(t, p.err)
		require.FileExists(t, p.path)
		require.Equal(t, cmp.Or(install.ProvenVersion(agent), inspectorVersion), p.version)
	}
	require.Empty(t, log.String())
	for agent, p := range installAgents(cache, true, &log) {
		if agent == "cline" {
			require.ErrorContains(t, p.err, "no such package")
			continue
		}
		if agent == mcpInspector {
			require.Equal(t, pinned[agent], p)
			continue
		}
		require.NoError(t, p.err)
		require.Equal(t, "9.9.9", p.version)
		require.FileExists(t, p.path)
		require.Contains(t, p.path, "9.9.9")
	}
	require.Contains(t, log.String(), "behind: @openai/codex "+install.ProvenVersion("codex")+", newest 9.9.9\n")
	require.NotContains(t, log.String(), "cline")
}
