package app

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"
)

func runHealthCheck(t *testing.T, env map[string]string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errOut output
	code = Command(t.Context(), append(args, "-health"), func(name string) string { return env[name] }, &out, &errOut)
	return code, out.String(), errOut.String()
}

func TestHealth_FollowsHub(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t)
	a, stop := startHub(t, cfg)
	addr := a.listeners[0].Addr().String()
	env := map[string]string{"HOOKBACK_ADDR": addr, "HOOKBACK_DB": cfg.DB, "HTTP_PROXY": "http://127.0.0.1:1"}
	code, stdout, stderr := runHealthCheck(t, env)
	require.Zero(t, code, stderr)
	require.Equal(t, "ready\n", stdout)

	stop()
	code, stdout, stderr = runHealthCheck(t, env)
	require.Equal(t, 1, code)
	require.Empty(t, stdout)
	require.Contains(t, stderr, "the hub does not answer")
}

// In a container the hub listens on all addresses, and the check runs with the same settings.
func TestHealth_OfHubOnAllAddresses(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t)
	cfg.Addr, cfg.Insecure = "0.0.0.0:0", true
	a, _ := startHub(t, cfg)
	_, port, ok := splitHostPort(a.listeners[0].Addr().String())
	require.True(t, ok)
	for _, host := range []string{"0.0.0.0", "", "127.0.0.1"} {
		code, _, stderr := runHealthCheck(t, nil, "-addr", host+":"+port, "-insecure", "-db", cfg.DB)
		require.Zero(t, code, stderr)
	}
}

func TestHealth_NamesReason(t *testing.T) {
	t.Parallel()
	full := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = w.Write([]byte(`{"status":"unavailable","reason":"disk full"}`))
	}))
	defer full.Close()
	u, err := url.Parse(full.URL)
	require.NoError(t, err)
	code, _, stderr := runHealthCheck(t, nil, "-addr", u.Host)
	require.Equal(t, 1, code)
	require.Contains(t, stderr, "disk full")

	code, _, stderr = runHealthCheck(t, nil, "-addr", "127.0.0.1:0")
	require.Equal(t, 1, code)
	require.Contains(t, stderr, "needs the port")
}

func TestHealth_OverTLS(t *testing.T) {
	t.Parallel()
	ready := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/readyz" {
			http.NotFound(w, r)
		}
	}))
	defer ready.Close()
	u, err := url.Parse(ready.URL)
	require.NoError(t, err)
	code, _, stderr := runHealthCheck(t, nil, "-addr", u.Host, "-tls-cert", "cert.pem", "-tls-key", "key.pem")
	require.Zero(t, code, stderr)
}
