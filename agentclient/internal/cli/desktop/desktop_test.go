package desktop

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestProbe(t *testing.T) {
	answers := map[string]string{"/api/hub": `{"hubId":"h1"}`, "/healthz": `{"version":"v1.2.3"}`}
	hub := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		_, _ = io.WriteString(w, answers[req.URL.Path])
	}))
	defer hub.Close()
	found, err := Probe(t.Context(), hub.URL)
	require.NoError(t, err)
	require.Equal(t, Hub{Version: "v1.2.3"}, found)

	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	_, err = Probe(t.Context(), other.URL)
	require.ErrorIs(t, err, ErrForeign)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = Probe(ended, hub.URL)
	require.ErrorIs(t, err, context.Canceled)

	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, ln.Close())
	_, err = Probe(t.Context(), "http://"+ln.Addr().String())
	require.Error(t, err, "a free port")
	require.NotErrorIs(t, err, ErrForeign)
}

func TestOpenBrowser(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the browser of this test is a shell script")
	}
	browser := filepath.Join(t.TempDir(), "browser")
	require.NoError(t, os.WriteFile(browser, []byte("#!/bin/sh\necho \"$*\" >> \"$0.log\"\n"), 0o700)) //nolint:gosec // a program
	env := func(value string) func(string) string {
		return func(name string) string { return map[string]string{"BROWSER": value}[name] }
	}
	require.NoError(t, OpenBrowser(env(browser+" --new-window:other"), "http://localhost:4000/"))
	require.Eventually(t, func() bool {
		b, _ := os.ReadFile(browser + ".log")
		return string(b) == "--new-window http://localhost:4000/\n"
	}, time.Minute, 10*time.Millisecond)
	require.ErrorIs(t, OpenBrowser(env(browser+".gone"), "http://localhost:4000/"), errNoBrowser)
}
