package install_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient/e2e/loadcase"
	"github.com/hookback/hookback/agentclient/install"
)

// The rules tell the files that agents load from those that they drop. Installing into one that would be dropped changes
// nothing and says why.
func TestUnloaded(t *testing.T) {
	t.Parallel()
	for _, c := range loadcase.All() {
		t.Run(c.Agent+" "+c.Name, func(t *testing.T) {
			t.Parallel()
			m := newTestMachine(t)
			file := m.home(settingsPaths[c.Agent].user)
			m.write(file, "{}")
			m.install(installOptions(c.Agent))
			content, err := c.Content([]byte(m.read(file)))
			require.NoError(t, err)
			m.write(file, string(content))

			reason, fix := install.Unloaded(c.Agent, content)
			p := m.plan(installOptions(c.Agent))
			if c.Loaded {
				require.Empty(t, reason)
				return
			}
			require.NotEmpty(t, reason)
			require.NotEmpty(t, fix)
			if len(p.Problems) == 0 { // an entry of ours was wrong, and the installation mends it
				require.Empty(t, p.Apply())
				reason, _ = install.Unloaded(c.Agent, []byte(m.read(file)))
				require.Empty(t, reason)
				return
			}
			require.Regexp(t, `line \d|larger than`, p.Problems[0].Error())
			require.Empty(t, p.Apply())
			require.Equal(t, string(content), m.read(file), "nothing is written")
		})
	}
}
