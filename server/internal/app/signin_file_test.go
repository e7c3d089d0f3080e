package app

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/auth"
)

// TestSignInLink_IsNotPrintedToFile starts a hub whose output goes to a log, which other accounts may
// read. The link makes its reader the owner.
func TestSignInLink_IsNotPrintedToFile(t *testing.T) {
	t.Parallel()
	log, err := os.Create(filepath.Join(t.TempDir(), "hub.log"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = log.Close() })
	cfg := testConfig(t)
	file := filepath.Join(filepath.Dir(cfg.DB), "sign-in-link")
	cfg.Stdout, cfg.DB = log, "sqlite:"+cfg.DB
	a, stop := startHub(t, cfg)
	printed := func() string {
		text, err := os.ReadFile(log.Name())
		require.NoError(t, err)
		return string(text)
	}
	require.Eventually(t, func() bool { return strings.Contains(printed(), "Ctrl-C") }, time.Minute, time.Millisecond)
	require.NotContains(t, printed(), "#sign-in=")
	require.Contains(t, printed(), "Sign in     with the link in "+file)
	info, err := os.Stat(file)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())

	link, err := os.ReadFile(file)
	require.NoError(t, err)
	_, code, _ := strings.Cut(strings.TrimSpace(string(link)), "#sign-in=")
	resp, err := http.Post(a.URL()+schema.PathSignIn, "application/json", strings.NewReader(`{"code":"`+code+`","name":"ada"}`))
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusOK, resp.StatusCode)
	require.Eventually(t, func() bool {
		_, err := os.Stat(file)
		return os.IsNotExist(err)
	}, time.Minute, time.Millisecond, "the link is used, so the hub removes it")
	stop()

	again, err := SignIn(t.Context(), cfg, "ada")
	require.NoError(t, err)
	require.Equal(t, file, again, "a link for recovery is in the file, too")
	require.FileExists(t, file)
}

// TestSignInLink_IsRemovedAfterEarlySignIn: the link is used before the hub watches for that.
func TestSignInLink_IsRemovedAfterEarlySignIn(t *testing.T) {
	t.Parallel()
	log, err := os.Create(filepath.Join(t.TempDir(), "hub.log"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = log.Close() })
	cfg := testConfig(t)
	cfg.Stdout = log
	a, err := New(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, a.Close()) })
	a.printGreeting(t.Context())
	link, err := os.ReadFile(a.signInLink)
	require.NoError(t, err)
	_, code, _ := strings.Cut(strings.TrimSpace(string(link)), "#sign-in=")
	_, err = a.auth.SignIn(t.Context(), auth.SignInAttempt{Code: code, Name: "ada"})
	require.NoError(t, err)
	require.NoError(t, a.runSignInLink(t.Context()))
	require.NoFileExists(t, a.signInLink)
}

// With -ready-json, the only output is one line for the program that started the hub. It names the
// file of the sign-in link until the hub has an owner.
func TestReadyJSON_IsOnlyOutput(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t)
	cfg.ReadyJSON, cfg.Version = true, "v1.2.3"
	file := filepath.Join(filepath.Dir(cfg.DB), "sign-in-link")
	start := func() (url, line string, stop func()) {
		out, err := os.Create(filepath.Join(t.TempDir(), "out"))
		require.NoError(t, err)
		t.Cleanup(func() { _ = out.Close() })
		cfg.Stdout = out
		a, stop := startHub(t, cfg)
		require.Eventually(t, func() bool {
			text, err := os.ReadFile(out.Name())
			require.NoError(t, err)
			line = string(text)
			return strings.HasSuffix(line, "}\n")
		}, time.Minute, time.Millisecond)
		return a.dashboardURL(), line, stop
	}
	url, line, stop := start()
	require.Equal(t, `{"url":"`+url+`","version":"v1.2.3","signInLink":"`+file+`"}`+"\n", line)
	link, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Contains(t, string(link), url+"/#sign-in=")
	stop()

	_, err = SignIn(t.Context(), cfg, "ada")
	require.NoError(t, err)
	url, line, stop = start()
	require.Equal(t, `{"url":"`+url+`","version":"v1.2.3"}`+"\n", line, "the hub has an owner")
	stop()
}
