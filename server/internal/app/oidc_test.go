package app

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zitadel/oidc/v3/example/server/exampleop"
	"github.com/zitadel/oidc/v3/example/server/storage"

	"github.com/hookback/hookback/schema"
)

// startProvider runs a real OpenID provider on loopback with its example users.
func startProvider(t *testing.T, clients ...*storage.Client) *httptest.Server {
	t.Helper()
	var handler http.Handler
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handler.ServeHTTP(w, r) }))
	_, port, _ := strings.Cut(server.Listener.Addr().String(), ":")
	issuer := "http://localhost:" + port
	storage.RegisterClients(clients...)
	handler = exampleop.SetupServer(issuer, storage.NewStorage(storage.NewUserStore(issuer)), slog.New(slog.DiscardHandler), false)
	server.Start()
	server.URL = issuer
	t.Cleanup(server.Close)
	return server
}

// testBrowser is an HTTP client that keeps cookies and stops at a redirect with a
// fragment.
type testBrowser struct {
	t        *testing.T
	client   *http.Client
	location *url.URL // last redirect target
}

func newBrowser(t *testing.T) *testBrowser {
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	b := &testBrowser{t: t}
	b.client = &http.Client{Jar: jar, Transport: &http.Transport{DisableKeepAlives: true}, CheckRedirect: func(r *http.Request, _ []*http.Request) error {
		if b.location = r.URL; r.URL.Fragment != "" {
			return http.ErrUseLastResponse
		}
		return nil
	}}
	return b
}

func (b *testBrowser) open(address string) {
	b.t.Helper()
	resp, err := b.client.Get(address)
	require.NoError(b.t, err)
	require.NoError(b.t, resp.Body.Close())
}

// logIn submits the provider's login form, follows the redirects to the hub and returns
// the final fragment.
func (b *testBrowser) logIn(user string) string {
	b.t.Helper()
	require.Equal(b.t, "/login/username", b.location.Path, "the provider's own page")
	form := url.Values{"id": {b.location.Query().Get("authRequestID")}, "username": {user}, "password": {"verysecure"}}
	resp, err := b.client.PostForm(b.location.ResolveReference(&url.URL{Path: "/login/username"}).String(), form)
	require.NoError(b.t, err)
	require.NoError(b.t, resp.Body.Close())
	require.Equal(b.t, "/", b.location.Path)
	return b.location.Fragment
}

// signIn exchanges the code in a fragment for a session.
func (b *testBrowser) signIn(a *App, fragment string) schema.Me {
	b.t.Helper()
	code, ok := strings.CutPrefix(fragment, "sign-in=")
	require.True(b.t, ok, fragment)
	resp, err := b.client.Post(a.URL()+schema.PathSignIn, "application/json", strings.NewReader(`{"code":"`+code+`"}`))
	require.NoError(b.t, err)
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	require.NoError(b.t, err)
	require.Equal(b.t, 200, resp.StatusCode, string(text))
	var in schema.SignInResult
	require.NoError(b.t, json.Unmarshal(text, &in))
	return in.Me
}

func startHubWithProvider(t *testing.T, issuer string, change ...func(*OIDC)) *App {
	t.Helper()
	cfg := testConfig(t)
	cfg.OIDC = OIDC{Issuer: issuer, Client: "hookback-native"}
	for _, c := range change {
		c(&cfg.OIDC)
	}
	a, _ := startHub(t, cfg)
	return a
}

func TestOIDC_SignIn(t *testing.T) {
	back := "http://localhost" + schema.PathOIDCCallback
	op := startProvider(t, storage.NativeClient("hookback-native", back))

	t.Run("a new person becomes a viewer and is recognized later", func(t *testing.T) {
		a := startHubWithProvider(t, op.URL)
		b := newBrowser(t)
		b.open(a.URL() + schema.PathOIDC) // by IP address: the hub redirects to the host name registered with the provider
		me := b.signIn(a, b.logIn("test-user2"))
		require.Equal(t, "test-user2", me.Name)
		require.True(t, me.Verified)
		require.Equal(t, schema.Viewer, me.Role)
		require.False(t, me.Owner, "only the hub's own link makes an owner")
		require.Equal(t, []string{"oidc"}, me.Ways)

		again := newBrowser(t)
		again.open(a.URL() + schema.PathOIDC)
		require.Equal(t, "test-user2", again.signIn(a, again.logIn("test-user2")).Name)
		require.Len(t, a.auth.Accounts(t.Context()), 1)
	})

	t.Run("a refused or unsolicited callback is rejected", func(t *testing.T) {
		a := startHubWithProvider(t, op.URL)
		b := newBrowser(t)
		b.open(a.URL() + schema.PathOIDCCallback + "?error=access_denied&state=x")
		require.Equal(t, "sign-in-failed=refused", b.location.Fragment)
		b.open(a.URL() + schema.PathOIDCCallback + "?code=made-up&state=made-up")
		require.Equal(t, "sign-in-failed=lost", b.location.Fragment)
		b.open("http://localhost" + a.URL()[strings.LastIndex(a.URL(), ":"):] + schema.PathOIDC)
		b.open("http://localhost" + a.URL()[strings.LastIndex(a.URL(), ":"):] + schema.PathOIDCCallback + "?code=made-up&state=" + b.location.Query().Get("state"))
		require.Contains(t, b.location.Fragment, "sign-in-failed=", "a code that the provider did not issue")
		require.Empty(t, a.auth.Accounts(t.Context()))
	})

	t.Run("a client with a secret", func(t *testing.T) {
		for content, want := range map[string]string{"s3cret\n": "sign-in=", "wrong": "sign-in-failed=refused"} {
			secret := filepath.Join(t.TempDir(), "secret")
			require.NoError(t, os.WriteFile(secret, []byte(content), 0o600))
			a := startHubWithProvider(t, op.URL, func(o *OIDC) { o.Client, o.SecretFile = "hookback-web", secret })
			storage.RegisterClients(storage.WebClient("hookback-web", "s3cret", "http://localhost"+a.URL()[strings.LastIndex(a.URL(), ":"):]+schema.PathOIDCCallback))
			b := newBrowser(t)
			b.open(a.URL() + schema.PathOIDC)
			require.Contains(t, b.logIn("test-user2"), want)
		}
	})

	t.Run("an unreachable provider does not block other requests", func(t *testing.T) {
		gone := httptest.NewServer(http.NotFoundHandler())
		gone.Close()
		a := startHubWithProvider(t, gone.URL)
		b := newBrowser(t)
		b.open("http://localhost" + a.URL()[strings.LastIndex(a.URL(), ":"):] + schema.PathOIDC)
		require.Equal(t, "sign-in-failed=provider-down", b.location.Fragment)
		postEvent(t, a, "Stop")
	})
}

func TestOIDC_CallbackIsBoundToBrowser(t *testing.T) {
	op := startProvider(t, storage.NativeClient("hookback-native", "http://localhost"+schema.PathOIDCCallback))
	a := startHubWithProvider(t, op.URL)
	victim, thief := newBrowser(t), newBrowser(t)
	thief.open(a.URL() + schema.PathOIDC)
	var taken *url.URL
	follow := thief.client.CheckRedirect
	thief.client.CheckRedirect = func(r *http.Request, via []*http.Request) error {
		if r.URL.Path == schema.PathOIDCCallback {
			taken = r.URL
			return http.ErrUseLastResponse
		}
		return follow(r, via)
	}
	form := url.Values{"id": {thief.location.Query().Get("authRequestID")}, "username": {"test-user2"}, "password": {"verysecure"}}
	resp, err := thief.client.PostForm(op.URL+"/login/username", form)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.NotNil(t, taken)

	victim.open(taken.String())
	require.Equal(t, "sign-in-failed=lost", victim.location.Fragment, "another browser's callback is rejected")
	thief.client.CheckRedirect = follow
	thief.open(taken.String())
	require.Contains(t, thief.location.Fragment, "sign-in=")
	thief.open(taken.String())
	require.Equal(t, "sign-in-failed=lost", thief.location.Fragment, "a second time")
}
