package agentclient_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient"
	"github.com/hookback/hookback/schema"
)

// The token is sent with every request, but not to redirect targets, and appears in no
// error.
func TestToken_IsSentOnlyToHub(t *testing.T) {
	t.Parallel()
	const token = "hubin_notARealOne"
	var mu sync.Mutex
	seen := map[string]string{}
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		seen["elsewhere"] += "request with " + r.Header.Get("Authorization")
	}))
	defer elsewhere.Close()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		seen[r.Method+" "+r.URL.Path] = r.Header.Get("Authorization")
		mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		switch {
		case strings.HasSuffix(r.URL.Path, "/cancel"):
			http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
		case r.Method == http.MethodGet:
			_, _ = w.Write([]byte(`[]`))
		default:
			_, _ = w.Write([]byte(`{"id":7,"requestSecret":"s"}`))
		}
	}))
	defer server.Close()
	c := agentclient.New(agentclient.Options{Hubs: []string{server.URL}, Token: token, UnreachableAfter: 50 * time.Millisecond})
	defer func() { _ = c.Close() }()
	e, err := c.Send(t.Context(), schema.Event{HookEventType: "Stop"})
	require.NoError(t, err)
	_, err = c.Ledger(t.Context(), 0)
	require.NoError(t, err)
	err = c.Withdraw(t.Context(), e, "")
	require.Error(t, err, "redirects are not followed")
	require.NotContains(t, err.Error(), token)
	mu.Lock()
	defer mu.Unlock()
	require.Equal(t, map[string]string{
		"POST /events": "Bearer " + token, "GET " + schema.PathLedger: "Bearer " + token, "POST /events/7/cancel": "Bearer " + token,
	}, seen)
}

func TestToken_RejectsInvalidCharacters(t *testing.T) {
	t.Parallel()
	c := agentclient.New(agentclient.Options{Token: "hubin_x\r\nHost: evil.example"})
	defer func() { _ = c.Close() }()
	_, err := c.Send(t.Context(), schema.Event{HookEventType: "Stop"})
	require.ErrorIs(t, err, schema.ErrInvalid)
	require.NotContains(t, err.Error(), "evil.example")
}
