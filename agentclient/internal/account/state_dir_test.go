package account_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient/internal/account"
)

func TestStateDir(t *testing.T) {
	t.Parallel()
	for want, env := range map[string]map[string]string{
		"/state/hookback": {"XDG_STATE_HOME": "/state", "HOME": "/home/a"},
		"":                {"XDG_STATE_HOME": "relative"},
	} {
		require.Equal(t, want, account.StateDir(func(name string) string { return env[name] }))
	}
	require.NotEmpty(t, account.StateDir(func(name string) string { return map[string]string{"HOME": "/h", "LocalAppData": `C:\l`}[name] }))
}
