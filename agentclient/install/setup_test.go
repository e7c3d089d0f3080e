package install_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient/install"
)

const binary = "/opt/hookback/bin/hookback"

// testMachine is a machine of a test's own.
type testMachine struct {
	t       *testing.T
	machine install.Machine
	version string            // what every agent says it is
	env     map[string]string // its environment
	onPath  map[string]bool
	now     time.Time
}

func newTestMachine(t *testing.T) *testMachine {
	t.Helper()
	dir := t.TempDir()
	b := &testMachine{t: t, env: map[string]string{}, onPath: map[string]bool{}, now: time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)}
	b.machine = install.Machine{
		Home: filepath.Join(dir, "home"), Dir: filepath.Join(dir, "project"), State: filepath.Join(dir, "state"),
		Env: func(name string) string { return b.env[name] },
		LookPath: func(name string) (string, error) {
			if b.onPath[name] {
				return "/usr/bin/" + name, nil
			}
			return "", errors.New("not found")
		},
		Version: func(string) string { return b.version },
		Now:     func() time.Time { b.now = b.now.Add(time.Second); return b.now },
	}
	for _, dir := range []string{b.machine.Home, b.machine.Dir} {
		require.NoError(t, os.MkdirAll(dir, 0o700))
	}
	return b
}

// home is a path below the home, in the tests' notation: with slashes.
func (b *testMachine) home(path string) string {
	return filepath.Join(b.machine.Home, filepath.FromSlash(path))
}

func (b *testMachine) project(path string) string {
	return filepath.Join(b.machine.Dir, filepath.FromSlash(path))
}

func (b *testMachine) write(path, content string) {
	b.t.Helper()
	require.NoError(b.t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(b.t, os.WriteFile(path, []byte(content), 0o600))
}

func (b *testMachine) read(path string) string {
	b.t.Helper()
	content, err := os.ReadFile(path)
	require.NoError(b.t, err)
	return string(content)
}

// installOptions are those of an installation for one agent.
func installOptions(agent string) install.Options {
	return install.Options{Agents: []string{agent}, Scope: install.User, Mode: install.Gate, Binary: binary}
}

func (b *testMachine) plan(o install.Options) *install.Plan {
	b.t.Helper()
	p, err := install.Install(b.machine, o)
	require.NoError(b.t, err)
	return p
}

// install installs and expects no trouble.
func (b *testMachine) install(o install.Options) *install.Plan {
	b.t.Helper()
	p := b.plan(o)
	require.Empty(b.t, p.Problems)
	require.Empty(b.t, p.Apply())
	return p
}

// uninstall takes everything away that o names, and expects no trouble.
func (b *testMachine) uninstall(o install.Options) *install.Plan {
	b.t.Helper()
	p, err := install.Remove(b.machine, o)
	require.NoError(b.t, err)
	require.Empty(b.t, p.Problems)
	require.Empty(b.t, p.Apply())
	return p
}

// readTree is every file below a directory, by its path there.
func readTree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := filepath.ToSlash(strings.TrimPrefix(path, dir))
		if d.IsDir() {
			files[name+"/"] = ""
			return nil
		}
		content, err := os.ReadFile(path)
		files[name] = string(content)
		return err
	}))
	return files
}

// planNotes is all that a plan says of its files.
func planNotes(p *install.Plan) string {
	var all []string
	for _, c := range p.Changes {
		all = append(all, c.Notes...)
	}
	return strings.Join(all, "\n")
}

// planHasChanges reports whether anything would be written.
func planHasChanges(p *install.Plan) bool {
	for _, c := range p.Changes {
		if c.HasChanges() {
			return true
		}
	}
	return false
}
