package account_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient/internal/account"
)

// The home directory is that of the account, whatever the environment contains.
func TestHome_IgnoresEnvironment(t *testing.T) {
	want, err := account.Home()
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv("USERPROFILE", t.TempDir())
	got, again := account.Home()
	require.Equal(t, want, got)
	require.Equal(t, err == nil, again == nil)
}
