package netguard_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/server/internal/netguard"
)

func newGuard(t *testing.T, cfg netguard.Config) *netguard.Guard {
	g, err := netguard.New(cfg)
	require.NoError(t, err)
	return g
}

func TestGuard_CheckHost(t *testing.T) {
	t.Parallel()
	none := newGuard(t, netguard.Config{})
	some := newGuard(t, netguard.Config{Allow: []string{"10.1.0.0/16", "127.0.0.1:8025", "mail.local", "169.254.0.0/16"}, OwnPorts: []uint16{4000}})
	for host, want := range map[string][2]bool{ // host → allowed by none, by some
		"192.0.66.2":                    {true, true},
		"2606:4700::1111":               {true, true},
		"ntfy.example":                  {true, true}, // its addresses are checked when connecting
		"mail.local":                    {true, true},
		"127.0.0.1":                     {false, true},
		"::ffff:127.0.0.1":              {false, true},
		"localhost":                     {false, true},
		"LocalHost":                     {false, true}, // names have no case
		"localhost.":                    {false, true},
		"NTFY.Example":                  {true, true},
		"127.0.0.2":                     {false, false},
		"::1":                           {false, false},
		"10.1.2.3":                      {false, true},
		"10.2.0.1":                      {false, false},
		"192.168.1.1":                   {false, false},
		"fd00::1":                       {false, false},
		"100.64.0.1":                    {false, false},
		"198.18.0.1":                    {false, false},
		"169.254.169.254":               {false, false}, // not even if allowed
		"64:ff9b::a9fe:a9fe":            {false, false},
		"::169.254.169.254":             {false, false},
		"2002:a9fe:a9fe::":              {false, false},
		"0.0.0.0":                       {false, false},
		"::":                            {false, false},
		"224.0.0.1":                     {false, false},
		"fe80::1%eth0":                  {false, false},
		"2130706433":                    {false, false}, // 127.0.0.1 in another form
		"0x7f.1":                        {false, false},
		"":                              {false, false},
		strings.Repeat("x", 64) + ".de": {false, false},
	} {
		require.Equal(t, want[0], none.CheckHost(host, 8025) == nil, "%s without allowed targets", host)
		require.Equal(t, want[1], some.CheckHost(host, 8025) == nil, "%s with allowed targets", host)
	}
	require.ErrorIs(t, some.CheckHost("127.0.0.1", 25), netguard.ErrRefused, "the port is part of the target")
	own := newGuard(t, netguard.Config{Allow: []string{"127.0.0.1"}, OwnPorts: []uint16{4000}})
	require.ErrorIs(t, own.CheckHost("127.0.0.1", 4000), netguard.ErrRefused, "the hub's own port")
}

func TestNew_RejectsInvalidSettings(t *testing.T) {
	t.Parallel()
	for _, cfg := range []netguard.Config{
		{Allow: []string{"127.1"}}, {Allow: []string{"a b"}}, {Allow: []string{"host:0"}}, {Allow: []string{"fe80::1%eth0"}},
		{ProxyURL: "socks5://p"}, {ProxyURL: "proxy"}, {ProxyURL: "http://"},
	} {
		_, err := netguard.New(cfg)
		require.Error(t, err, "%+v", cfg)
	}
}

// TestGuard_ChecksResolvedAddress connects by a name that resolves to this machine, as after DNS
// rebinding.
func TestGuard_ChecksResolvedAddress(t *testing.T) {
	t.Parallel()
	calls := make(chan string, 10)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) { calls <- req.URL.Path }))
	t.Cleanup(server.Close)
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	require.NoError(t, err)
	byName := "http://" + net.JoinHostPort("localhost", port)

	_, err = newGuard(t, netguard.Config{}).HTTPClient().Get(byName + "/refused")
	require.ErrorIs(t, err, netguard.ErrRefused)
	resp, err := newGuard(t, netguard.Config{Allow: []string{"127.0.0.0/8", "::1"}}).HTTPClient().Get(byName + "/allowed")
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, "/allowed", <-calls)
	require.Empty(t, calls)
}

// TestGuard_ProxyChecksLiteralAddresses sends through a proxy, which resolves names itself.
func TestGuard_ProxyChecksLiteralAddresses(t *testing.T) {
	t.Parallel()
	asked := make(chan string, 10)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		asked <- req.URL.String()
		http.Redirect(w, req, "http://169.254.169.254/", http.StatusFound)
	}))
	t.Cleanup(proxy.Close)
	client := newGuard(t, netguard.Config{ProxyURL: proxy.URL}).HTTPClient()
	resp, err := client.Get("http://ntfy.example/topic")
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusFound, resp.StatusCode, "a redirect is not followed")
	require.Equal(t, "http://ntfy.example/topic", <-asked)
	_, err = client.Get("http://169.254.169.254/latest")
	require.ErrorIs(t, err, netguard.ErrRefused)
	require.Empty(t, asked)
}

func TestIsPublic(t *testing.T) {
	t.Parallel()
	require.True(t, netguard.IsPublic(netip.MustParseAddr("1.1.1.1")))
	require.False(t, netguard.IsPublic(netip.MustParseAddr("::ffff:10.0.0.1")))
	require.False(t, netguard.IsPublic(netip.MustParseAddr("168.63.129.16")))
	u, err := url.Parse("https://127.0.0.1/x")
	require.NoError(t, err)
	require.Error(t, new(netguard.Guard).CheckURL(u))
}
