package report

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient"
	"github.com/hookback/hookback/agentclient/internal/cli/clitest"
	"github.com/hookback/hookback/agentclient/internal/fakehub"
	"github.com/hookback/hookback/schema"
)

// newPoster returns a poster without a token.
func newPoster(hubs ...string) Poster {
	return Poster{Hubs: hubs, Options: agentclient.Options{Env: clitest.NoEnv}}
}

func newParts(text ...string) (b net.Buffers) {
	for _, t := range text {
		b = append(b, []byte(t))
	}
	return b
}

func TestRawPoster_PostsBody(t *testing.T) {
	t.Parallel()
	var got *http.Request
	var body string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		got, body = r, string(text)
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		_, _ = io.WriteString(w, `{"id":1}`)
	}))
	defer server.Close()
	c := newPoster(server.URL + "/sub%20path")
	answer, err := c.Post(time.Now().Add(time.Minute), "/events", newParts(`{"a":`, `1}`))
	require.NoError(t, err)
	require.Equal(t, `{"id":1}`, string(answer))
	require.Equal(t, `{"a":1}`, body)
	require.Equal(t, "/sub path/events", got.URL.Path)
	require.Equal(t, strings.TrimPrefix(server.URL, "http://"), got.Host)
	require.Equal(t, "application/json", got.Header.Get("Content-Type"))
	require.Empty(t, got.Header.Get("Origin"))

	answer, err = c.Post(time.Now().Add(-time.Second), "/events", nil)
	require.ErrorContains(t, err, "no time left")
	require.Nil(t, answer)
}

func TestRawPoster_UsesClientForProxies(t *testing.T) {
	t.Parallel()
	for address, direct := range map[string]bool{
		"http://127.0.0.1:4000": true, "http://localhost:4000": true, "http://[::1]:4000": true, "http://hub.example": false,
		"https://127.0.0.1:4000": false, "http://me:secret@127.0.0.1": false,
	} {
		proxied := Poster{Options: agentclient.Options{Env: func(name string) string {
			if name == "HTTP_PROXY" {
				return "http://proxy.example"
			}
			return ""
		}}}
		require.Equal(t, direct, proxied.isDirect(mustParse(t, address)), address)
	}
	require.True(t, newPoster().isDirect(mustParse(t, "http://hub.example")))

	hub := clitest.StartHub(t, nil)
	body, err := EncodeEvent(&schema.Event{SourceApp: "a", SessionID: "s", HookEventType: "Stop", Payload: json.RawMessage("{}")})
	require.NoError(t, err)
	_, err = newPoster("http://user:word@"+strings.TrimPrefix(hub.URL(), "http://")).Post(time.Now().Add(time.Minute), schema.PathEvents, body)
	require.NoError(t, err)
	require.Len(t, hub.Events(), 1)
	_, err = newPoster("https://127.0.0.1:1").Post(time.Now().Add(time.Minute), schema.PathEvents, body)
	require.Error(t, err)
}

func TestRawPoster_ReturnsRejection(t *testing.T) {
	t.Parallel()
	hub := clitest.StartHub(t, func(w http.ResponseWriter, _ *http.Request) bool {
		fakehub.Refuse(w, schema.ErrForbidden)
		return true
	})
	_, err := newPoster(hub.URL(), "http://127.0.0.1:1").Post(time.Now().Add(time.Minute), schema.PathEvents, newParts("{}"))
	require.ErrorIs(t, err, RejectionError{403})
	require.EqualError(t, err, "rejected by the hub (status 403)")
}

func mustParse(t *testing.T, address string) *url.URL {
	t.Helper()
	u, err := url.Parse(address)
	require.NoError(t, err)
	return u
}
