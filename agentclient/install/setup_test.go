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

// testMachine is an isolated machine in a temporary directory.
type testMachine struct {
	t       *testing.T
	machine install.Machine
	version string            // the version of every agent
	env     map[string]string // environment variables
	onPath  map[string]bool
	now     time.Time
}

func newTestMachine(t *testing.T) *testMachine {
	t.Helper()
	dir := t.TempDir()
	m := &testMachine{t: t, env: map[string]string{}, onPath: map[string]bool{}, now: time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)}
	m.machine = install.Machine{
		Home: filepath.Join(dir, "home"), Dir: filepath.Join(dir, "project"), State: filepath.Join(dir, "state"),
		Env: func(name string) string { return m.env[name] },
		LookPath: func(name string) (string, error) {
			if m.onPath[name] {
				return "/usr/bin/" + name, nil
			}
			return "", errors.New("not found")
		},
		Version: func(string) string { return m.version },
		Now:     func() time.Time { m.now = m.now.Add(time.Second); return m.now },
	}
	for _, dir := range []string{m.machine.Home, m.machine.Dir} {
		require.NoError(t, os.MkdirAll(dir, 0o700))
	}
	return m
}

// home returns a path below the home directory. path has slashes on every system.
func (m *testMachine) home(path string) string {
	return filepath.Join(m.machine.Home, filepath.FromSlash(path))
}

func (m *testMachine) project(path string) string {
	return filepath.Join(m.machine.Dir, filepath.FromSlash(path))
}

func (m *testMachine) write(path, content string) {
	m.t.Helper()
	require.NoError(m.t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(m.t, os.WriteFile(path, []byte(content), 0o600))
}

func (m *testMachine) read(path string) string {
	m.t.Helper()
	content, err := os.ReadFile(path)
	require.NoError(m.t, err)
	return string(content)
}

// installOptions returns the options of a user's installation for one agent.
func installOptions(agent string) install.Options {
	return install.Options{Agents: []string{agent}, Scope: install.User, Mode: install.Gate, Binary: binary}
}

func (m *testMachine) plan(o install.Options) *install.Plan {
	m.t.Helper()
	p, err := install.Install(m.machine, o)
	require.NoError(m.t, err)
	return p
}

// install installs and requires success.
func (m *testMachine) install(o install.Options) *install.Plan {
	m.t.Helper()
	p := m.plan(o)
	require.Empty(m.t, p.Problems)
	require.Empty(m.t, p.Apply())
	return p
}

// uninstall removes the installations selected by o and requires success.
func (m *testMachine) uninstall(o install.Options) *install.Plan {
	m.t.Helper()
	p, err := install.Remove(m.machine, o)
	require.NoError(m.t, err)
	require.Empty(m.t, p.Problems)
	require.Empty(m.t, p.Apply())
	return p
}

// readTree returns the content of every file below a directory, by relative path.
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

// planNotes returns the notes of all changes.
func planNotes(p *install.Plan) string {
	var all []string
	for _, c := range p.Changes {
		all = append(all, c.Notes...)
	}
	return strings.Join(all, "\n")
}

// planHasChanges reports whether the plan would write anything.
func planHasChanges(p *install.Plan) bool {
	for _, c := range p.Changes {
		if c.HasChanges() {
			return true
		}
	}
	return false
}
