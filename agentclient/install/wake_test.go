package install_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient/install"
)

// wakeOptions install the hooks that wake idle sessions.
func wakeOptions(s install.Scope) install.Options {
	o := installOptions("claude-code")
	o.Scope, o.Wake, o.Hub = s, true, "http://127.0.0.1:4000"
	return o
}

// wakingEvents returns the events with an entry that wakes idle sessions.
func (m *testMachine) wakingEvents() (events []string) {
	for _, e := range m.inspect()[0].Entries {
		if e.Wakes() {
			events = append(events, e.Event)
		}
	}
	return events
}

func TestInstall_Wake(t *testing.T) {
	t.Parallel()
	for _, scope := range []install.Scope{install.User, install.Project} {
		t.Run(string(scope), func(t *testing.T) {
			t.Parallel()
			m := newTestMachine(t)
			file := m.home(claudeFile)
			if scope == install.Project {
				file = m.project(claudeFile)
			}
			const before = `{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "mine"}]}]}, "model": "opus"}` + "\n"
			m.write(file, before)
			plain := wakeOptions(scope)
			plain.Wake = false
			m.install(plain)
			without := m.read(file)
			require.NotContains(t, without, "asyncRewake")

			m.install(wakeOptions(scope))
			require.Equal(t, []string{"Stop (wake)", "SessionStart (wake)"}, m.wakingEvents())
			require.Equal(t, 2, strings.Count(m.read(file), `"asyncRewake": true`))
			require.Empty(t, m.inspect()[0].Missing)
			require.False(t, planHasChanges(m.plan(wakeOptions(scope))), "again")
			requireLoads(t, "claude-code", m.read(file))
			if scope == install.User {
				require.Contains(t, m.read(file), `"args": ["wait", "claude-code", "--hub", "http://127.0.0.1:4000"],`)
			}

			m.install(plain)
			require.Equal(t, without, m.read(file), "without the flag, the entries are removed")
			m.install(wakeOptions(scope))
			m.uninstall(install.Options{Scope: scope})
			require.Equal(t, before, m.read(file))
		})
	}
}

// A wake hook alone does not report the event: the hook of the same event is still missing.
func TestInspect_WakeEntryIsNoHookOfItsEvent(t *testing.T) {
	t.Parallel()
	m := newTestMachine(t)
	m.write(m.home(claudeFile), `{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "/opt/hookback/bin/hookback", "args": ["wait", "claude-code"], "async": true, "asyncRewake": true, "timeout": 86400}]}]}}`)
	require.True(t, slices.Contains(m.inspect()[0].Missing, "Stop"))
}
