package httpapi

import (
	"cmp"
	"context"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/server/internal/reach"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/storetest"
)

// internet is what the hub finds outside: an HTTP proxy leads every name to one HTTPS server with a
// certificate for example.com.
type internet struct {
	proxy  *httptest.Server
	server *httptest.Server
	answer atomic.Pointer[http.Handler]
}

func newInternet(t *testing.T) *internet {
	t.Helper()
	n := &internet{}
	n.server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		(*n.answer.Load()).ServeHTTP(w, req)
	}))
	n.serve(http.NotFound)
	n.proxy = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if strings.HasPrefix(req.Host, "unknown.") {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		to, err := net.Dial("tcp", n.server.Listener.Addr().String())
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		from, buffered, err := http.NewResponseController(w).Hijack()
		if err != nil {
			_ = to.Close()
			return
		}
		_, _ = io.WriteString(from, "HTTP/1.1 200 OK\r\n\r\n")
		go func() { _, _ = io.Copy(to, buffered); _ = to.Close() }()
		_, _ = io.Copy(from, to)
		_ = from.Close()
	}))
	t.Cleanup(func() { n.proxy.Close(); n.server.Close() })
	return n
}

func (n *internet) serve(h http.HandlerFunc) {
	var handler http.Handler = h
	n.answer.Store(&handler)
}

// forward leads to a hub, as a reverse proxy that keeps the Host header does.
func (n *internet) forward(addr string) {
	p := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(&url.URL{Scheme: "http", Host: addr})
		r.Out.Host = r.In.Host
		r.SetXForwarded()
	}, Transport: &http.Transport{DisableKeepAlives: true}}
	n.serve(p.ServeHTTP)
}

// use makes a hub reach the outside through n.
func (n *internet) use(t *testing.T, flag string) func(*Config) {
	return func(cfg *Config) {
		roots := x509.NewCertPool()
		roots.AddCert(n.server.Certificate())
		var err error
		cfg.Reach, err = reach.Open(t.Context(), reach.Config{
			Store: cfg.Store.(store.Store), Local: "http://localhost:4000", Flag: flag, ProxyURL: n.proxy.URL, Machine: "laptop", Roots: roots,
		})
		require.NoError(t, err)
	}
}

func TestReach_AdminSetsAddress(t *testing.T) {
	t.Parallel()
	net := newInternet(t)
	r := setup(t, net.use(t, ""))
	ada := r.owner("ada")
	var got control.Reach
	r.expectOK(&got, "GET "+control.PathReach, "", ada.headers()...)
	require.Equal(t, control.Reach{PublicURL: "http://localhost:4000", State: control.ReachLocal, Machine: "laptop"}, got)
	get := func(host, headers string) int {
		resp, _ := r.raw(fmt.Sprintf("GET /events/recent HTTP/1.1\r\nHost: %s\r\n%s\r\n", host, headers))
		return resp.StatusCode
	}
	require.Equal(t, http.StatusMisdirectedRequest, get("example.com", ""))

	net.forward(r.addr)
	r.expectOK(&got, "PUT "+control.PathReach, `{"publicUrl":"https://Example.com:443/"}`, ada.headers()...)
	want := control.Reach{PublicURL: "https://example.com", State: control.ReachOK, Machine: "laptop"}
	require.Equal(t, want, got)
	require.True(t, r.Reach.IsOK())
	require.Equal(t, http.StatusUnauthorized, get("example.com", ""), "accepted without a restart, but never as a local program")
	require.Equal(t, http.StatusMisdirectedRequest, get("example.com:8443", ""))
	require.Equal(t, http.StatusMisdirectedRequest, get("www.example.com", ""))
	cookie := ""
	for i := 0; i+1 < len(ada.headers()); i += 2 {
		cookie += ada.headers()[i] + ": " + ada.headers()[i+1] + "\r\n"
	}
	require.Equal(t, http.StatusOK, get("example.com", cookie+"Origin: https://example.com\r\nSec-Fetch-Site: same-origin\r\n"))
	require.Equal(t, http.StatusForbidden, get("example.com", cookie+"Origin: https://evil.example\r\nSec-Fetch-Site: cross-site\r\n"))

	entries, err := r.store.Ledger(t.Context(), store.LedgerPage{Limit: 1})
	require.NoError(t, err)
	require.Contains(t, string(entries[0]), `"reach.changed"`)
	require.Contains(t, string(entries[0]), `https://example.com`)
	invited := r.inviteLink(ada, "grace")
	require.True(t, strings.HasPrefix(invited, "https://example.com/#sign-in="), invited)

	r.expectOK(&got, "PUT "+control.PathReach, `{"publicUrl":""}`, ada.headers()...)
	require.Equal(t, control.ReachLocal, got.State)
	require.Equal(t, http.StatusMisdirectedRequest, get("example.com", ""))
}

func TestReach_InvalidAddressChangesNothing(t *testing.T) {
	t.Parallel()
	net := newInternet(t)
	r, other := setup(t, net.use(t, "")), setup(t)
	ada := r.owner("ada")
	net.forward(r.addr)
	r.expectOK(nil, "PUT "+control.PathReach, `{"publicUrl":"https://example.com"}`, ada.headers()...)
	refused := func(address, sentence string) {
		t.Helper()
		p := r.expectProblem("invalid", "PUT "+control.PathReach, fmt.Sprintf(`{"publicUrl":%q}`, address), ada.headers()...)
		require.Equal(t, "publicUrl", p.Field)
		require.Contains(t, p.Detail, sentence, address)
		require.Equal(t, "https://example.com", r.Reach.Read().PublicURL)
		require.True(t, r.Reach.IsPublicHost("example.com"))
		require.False(t, r.Reach.IsPublicHost("www.example.com"), "the host of a refused address is not accepted")
	}
	for address, sentence := range map[string]string{
		"http://www.example.com":             "must begin with https://",
		"ftp://www.example.com":              "must begin with https://",
		"www.example.com":                    "such as https://hub.example.com",
		"https://":                           "such as https://hub.example.com",
		"https://ada:secret@www.example.com": "such as https://hub.example.com",
		"https://www.example.com/hub":        "such as https://hub.example.com",
		"https://www.example.com?x=1":        "such as https://hub.example.com",
		"https://www.example.com#x":          "such as https://hub.example.com",
		"https://exa mple.com":               "such as https://hub.example.com",
		"https://exämple.com":                "a valid host name",
		"https://169.254.169.254":            "metadata address",
		"https://example.net":                "The certificate of example.net is not valid",
		"https://unknown.example.com":        "could not connect to unknown.example.com",
	} {
		refused(address, sentence)
	}
	net.serve(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "http://127.0.0.1/")
		w.WriteHeader(http.StatusFound)
	})
	refused("https://example.com", "redirects to another address")
	net.serve(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>Welcome to nginx!") })
	refused("https://example.com", "is not a Hookback hub")
	net.serve(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.Copy(w, io.LimitReader(zeros{}, 4<<20)) })
	refused("https://example.com", "is not a Hookback hub")
	net.serve(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })
	refused("https://example.com", "does not reach a hub")
	otherAddr := other.addr
	net.serve(func(w http.ResponseWriter, req *http.Request) { // another hub, also behind a proxy that sets the Host header
		resp, err := http.Get("http://" + otherAddr + req.URL.RequestURI())
		if err == nil {
			_, _ = io.Copy(w, resp.Body)
			_ = resp.Body.Close()
		}
	})
	refused("https://example.com", "is another hub")
	_, stale := r.raw("GET /api/hub?nonce=0123456789abcdef HTTP/1.1\r\nHost: " + r.addr + "\r\n\r\n")
	net.serve(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(stale) })
	refused("https://example.com", "sent an old response")
	net.serve(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusMisdirectedRequest) })
	refused("https://example.com", "another hub, or a proxy on the way changes the Host header")

	r.expectOK(nil, "PUT "+control.PathReach, `{"publicUrl":""}`, ada.headers()...)
	vera := r.addPerson(ada, `{"name":"vera","role":"viewer"}`)
	r.expectOK(nil, "GET "+control.PathReach, "", vera.headers()...)
	r.expectProblem("not_allowed", "PUT "+control.PathReach, `{"publicUrl":""}`, vera.headers()...)
	r.expectProblem("sign_in", "PUT "+control.PathReach, `{"publicUrl":""}`, "Content-Type", "application/json")
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

func TestReach_FlagOverrulesSetting(t *testing.T) {
	t.Parallel()
	net := newInternet(t)
	r := setup(t, net.use(t, "https://example.com/"))
	ada := r.owner("ada")
	var got control.Reach
	r.expectOK(&got, "GET "+control.PathReach, "", ada.headers()...)
	require.Equal(t, control.Reach{PublicURL: "https://example.com", State: control.ReachUnchecked, Flag: "-public-url https://example.com/", Machine: "laptop"}, got)
	p := r.expectProblem("invalid", "PUT "+control.PathReach, `{"publicUrl":""}`, ada.headers()...)
	require.Contains(t, p.Detail, "the flag -public-url")

	net.forward(r.addr)
	stop := r.runReach()
	require.Eventually(t, r.Reach.IsOK, time.Minute, 5*time.Millisecond)
	stop()
	net.serve(http.NotFound)
	stop = r.runReach()
	require.Eventually(t, func() bool { return r.Reach.Read().State == control.ReachFailed }, time.Minute, 5*time.Millisecond)
	stop()
	require.Contains(t, r.Reach.Read().Reason, "example.com is not a Hookback hub (status 404)")
}

// TestReach_SetLocalAddressIsUsed: messages have links to an address that someone set, also to one of this machine.
func TestReach_SetLocalAddressIsUsed(t *testing.T) {
	t.Parallel()
	db := storetest.Open(t, storetest.Options{Fast: true})
	defer func() { require.NoError(t, db.Close()) }()
	for flag, wantLocal := range map[string]bool{"": true, "http://localhost:4222": false, "https://hub.example.com": false} {
		public, err := reach.Open(t.Context(), reach.Config{
			Store: db, Local: "http://localhost:4000", Machine: "laptop", Flag: flag,
		})
		require.NoError(t, err)
		base, machine, isLocal := public.Links()
		require.Equal(t, []any{cmp.Or(flag, "http://localhost:4000"), "laptop", wantLocal}, []any{base, machine, isLocal})
	}
}

// inviteLink adds a person and returns the link.
func (r *harness) inviteLink(by browser, name string) string {
	r.t.Helper()
	var person schema.Person
	r.expectOK(&person, "POST "+schema.PathPeople, fmt.Sprintf(`{"name":%q}`, name), by.headers()...)
	return person.SignInURL
}

// runReach checks the address like a hub that starts, until stop is called.
func (r *harness) runReach() (stop func()) {
	ctx, cancel := context.WithCancel(r.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.Reach.Run(ctx) }()
	return func() { cancel(); require.NoError(r.t, <-ended) }
}
