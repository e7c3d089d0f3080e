package postgres

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRedact(t *testing.T) {
	t.Parallel()
	for dsn, want := range map[string]string{
		"postgres://u:secret@h/db":             "postgres://u:xxxxx@h/db",
		"postgres://h/db?password=secret&b=1":  "postgres://h/db?b=1&password=xxxxx",
		"postgres://u@h/db?sslmode=verify-ca":  "postgres://u@h/db?sslmode=verify-ca",
		"postgres://u:secret@h:port with/ db%": "postgres://…",
	} {
		require.Equal(t, want, Redact(dsn))
	}
}

func TestPoolConfig_VerifiesRemoteServers(t *testing.T) {
	t.Parallel()
	for dsn, verifies := range map[string]bool{
		"postgres://db.example/hub":                   true,
		"postgres://db.example/hub?sslmode=require":   false, // as given
		"postgres://127.0.0.1/hub":                    false,
		"postgres://localhost/hub?pool_max_conns=2":   false,
		"postgres://[::1]/hub":                        false,
		"postgres:///hub?host=/run/postgresql":        false,
		"postgres:///hub?host=10.1.2.3":               true,
		"postgresql://a.example,b.example/hub":        true,
		"postgres://localhost/hub?host=remote.server": true,
	} {
		cfg, err := poolConfig(dsn)
		require.NoError(t, err, dsn)
		tls := cfg.ConnConfig.TLSConfig
		require.Equal(t, verifies, tls != nil && !tls.InsecureSkipVerify && tls.ServerName != "" && len(cfg.ConnConfig.Fallbacks) <= 1, dsn)
		require.Equal(t, "on", cfg.ConnConfig.RuntimeParams["synchronous_commit"])
	}
	cfg, err := poolConfig("postgres://localhost/hub?pool_max_conns=2")
	require.NoError(t, err)
	require.EqualValues(t, 2, cfg.MaxConns)
}

func TestPoolConfig_RefusesLossOfCommits(t *testing.T) {
	t.Parallel()
	for _, dsn := range []string{
		"postgres://localhost/hub?synchronous_commit=off", "postgres://localhost/hub?synchronous_commit=local",
		"postgres://localhost/hub?options=-c%20synchronous_commit%3Doff",
	} {
		_, err := poolConfig(dsn)
		require.ErrorContains(t, err, "synchronous_commit", dsn)
	}
	_, err := poolConfig("postgres://user:secret@host:x/hub")
	require.Error(t, err)
	require.NotContains(t, err.Error(), "secret")
}

// Patterns match the escaped form of bytes.
func TestEscapeBytes(t *testing.T) {
	t.Parallel()
	require.Equal(t, `%a\\303\\251%`, escapeBytes("%aé%"))
	require.Equal(t, strings.Repeat(`\`, 8), escapeBytes(strings.Repeat(`\`, 4)))
	require.Equal(t, `%\%x\\\\y\_%`, escapeBytes(`%\%x\\y\_%`))
}
