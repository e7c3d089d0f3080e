package delivery

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
)

func newPolicy(t testing.TB, allow ...string) *DialPolicy {
	t.Helper()
	targets, err := NewDialPolicy(DialPolicyConfig{Allow: allow, OwnPorts: []uint16{4000}})
	require.NoError(t, err)
	return targets
}

func TestDialPolicy_Defaults(t *testing.T) {
	t.Parallel()
	own := newPolicy(t)
	for _, url := range []string{
		"ws://127.0.0.1:50123", "ws://127.0.0.1:50123/", "ws://127.9.8.7:1024/p?q=r", "ws://localhost:50123", "ws://[::1]:50123/a/b",
		"ws://[::ffff:127.0.0.1]:50123", "WS://localhost:65535", "ws://LOCALHOST:5000", "ws://localhost.:5000",
	} {
		require.NoError(t, own.Check(url), url)
	}
	for _, url := range []string{
		"", "x", "ws:", "ws://", "ws:///p", "http://127.0.0.1:5000", "https://127.0.0.1:5000", "file:///etc/passwd", "ws:127.0.0.1:5000",
		"ws://127.0.0.1", "ws://127.0.0.1:80", "ws://127.0.0.1:22", "ws://127.0.0.1:4000/stream", "ws://localhost:4000", "ws://[::1]:4000",
		"wss://127.0.0.1:5000", "wss://localhost:5000",
		"ws://127.0.0.1:0", "ws://127.0.0.1:65536", "ws://127.0.0.1:http", "ws://127.0.0.1:-1", "ws://127.0.0.1:5000:5000",
		"ws://user@127.0.0.1:5000", "ws://user:pw@127.0.0.1:5000", "ws://localhost:5000@10.0.0.1:5000", "ws://127.0.0.1:5000/#f", "ws://127.0.0.1:5000#",
		"ws://2130706433:5000", "ws://0x7f000001:5000", "ws://0x7f.1:5000", "ws://127.1:5000", "ws://0177.0.0.1:5000", "ws://127.0.0.1.:5000",
		"ws://Localhost:4000", "ws://localhost.:4000", "ws://localhost..:5000", "ws://localhoſt:5000",
		"ws://localhost.evil.example:5000", "ws://foo.localhost:5000", "ws://ip6-localhost:5000",
		"ws://127.0.0.1.nip.io:5000", "ws://%31%32%37.0.0.1:5000", "ws://１２７.0.0.1:5000", "ws://127。0。0。1:5000",
		"ws://0.0.0.0:5000", "ws://[::]:5000", "ws://10.0.0.1:5000", "ws://192.168.1.1:5000", "ws://169.254.169.254:5000",
		"ws://[::ffff:169.254.169.254]:5000", "ws://[fd00::1]:5000", "ws://[fe80::1]:5000", "ws://[fe80::1%25lo]:5000", "ws://[::1%25lo]:5000",
		"ws://[64:ff9b::7f00:1]:5000", "ws://[::127.0.0.1]:5000", "ws://224.0.0.1:5000", "ws://255.255.255.255:5000", "ws://8.8.8.8:5000",
		"ws://example.org:5000", "wss://example.org", "ws://127.0.0.1:5000/" + strings.Repeat("x", schema.MaxURL), "ws://127.0.0.1:5000/\x00", " ws://127.0.0.1:5000",
	} {
		require.ErrorIs(t, own.Check(url), ErrBlocked, url)
	}
}

func TestDialPolicy_AllowList(t *testing.T) {
	t.Parallel()
	targets := newPolicy(t, "10.1.0.0/16", "ws://172.17.0.0/16", "192.0.2.7:9000", "agent.example", "ws://build.example:8080", "[fd00::5]:7000",
		"localhost:443", "fd00:1::/32", "0.0.0.0/0", "::/0")
	narrow := newPolicy(t, "10.1.0.0/16", "ws://172.17.0.0/16", "192.0.2.7:9000", "agent.example", "ws://build.example:8080", "[fd00::5]:7000", "localhost:443")
	for _, url := range []string{
		"wss://10.1.2.3:5000", "wss://10.1.2.3", "ws://172.17.0.2:5000", "wss://172.17.0.2:5000", "wss://192.0.2.7:9000", "wss://agent.example/x",
		"wss://AGENT.example:5000", "ws://build.example:8080", "wss://[fd00::5]:7000", "wss://localhost:443", "wss://[::ffff:10.1.2.3]:5000", "ws://localhost:5000",
	} {
		require.NoError(t, narrow.Check(url), url)
	}
	for _, url := range []string{
		"ws://10.1.2.3:5000", "wss://10.2.2.3:5000", "wss://192.0.2.7:9001", "ws://agent.example", "wss://sub.agent.example", "wss://agent.example.",
		"ws://build.example:8081", "wss://[fd00::5]:7001", "wss://localhost:444", "ws://localhost:4000",
	} {
		require.ErrorIs(t, narrow.Check(url), ErrBlocked, url)
	}
	// No entry can allow these.
	for _, url := range []string{
		"wss://169.254.169.254", "wss://[fe80::1]", "wss://224.0.0.1", "wss://0.0.0.0", "wss://[::]", "wss://[64:ff9b::7f00:1]", "wss://[::127.0.0.1]",
		"wss://[::ffff:169.254.169.254]", "wss://100.100.100.200", "wss://[fd00:ec2::254]", "wss://127.0.0.1:4000", "wss://[ff02::1]", "wss://127.0.0.1:4001",
	} {
		require.ErrorIs(t, targets.Check(url), ErrBlocked, url)
	}
	require.NoError(t, targets.Check("wss://8.8.8.8"))
	require.ErrorIs(t, targets.Check("wss://other.example"), ErrBlocked, "an allowed network does not allow names")
}

func TestNewDialPolicy_RejectsInvalidEntries(t *testing.T) {
	t.Parallel()
	for _, entry := range []string{"", "127.1", "0x7f.1", "2130706433", "agent.example:0", "agent.example:99999", "a b", "fe80::1%lo", "http://x", "10.0.0.0/33", "*", "a..b", "agent.example."} {
		_, err := NewDialPolicy(DialPolicyConfig{Allow: []string{entry}})
		require.ErrorContains(t, err, "callback-allow", entry)
	}
}

// An allowed name may resolve to any address, so every address is checked.
func TestDialPolicy_RejectsDNSRebinding(t *testing.T) {
	t.Parallel()
	targets := newPolicy(t, "agent.example", "ws://agent.example")
	to, err := targets.checkURL("ws://agent.example:5000")
	require.NoError(t, err)
	for _, addr := range []string{"169.254.169.254:5000", "[fe80::1]:5000", "[::]:5000", "0.0.0.0:5000", "10.1.2.3:5001", "nonsense", "[fe80::1%lo]:5000"} {
		require.ErrorIs(t, targets.checkConnect(to, addr), ErrBlocked, addr)
	}
	require.NoError(t, targets.checkConnect(to, "10.1.2.3:5000"))
	to.port = 4000
	require.ErrorIs(t, targets.checkConnect(to, "127.0.0.1:4000"), ErrBlocked, "the hub's own port")
	own, err := net.InterfaceAddrs()
	require.NoError(t, err)
	for _, a := range own {
		addr := netip.MustParsePrefix(a.String()).Addr()
		require.ErrorIs(t, targets.checkConnect(to, netip.AddrPortFrom(addr, 4000).String()), ErrBlocked, addr)
	}
}

// The errors of Check are shown to anyone.
func TestDialPolicy_ErrorsOmitPath(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"ws://10.0.0.1:5000/", "ws://evil.example/", "http://localhost:1/", "ws://u:p@h/", "ws://localhost:1/", "ws://localhost:5000/#", "ws://[::1/", "ws://a\x7f/"} {
		err := newPolicy(t).Check(url + secretPath)
		require.Error(t, err)
		require.NotContains(t, err.Error(), secretPath)
	}
}

var errStop = errors.New("stopped before connecting")

// dialedAddrs returns the addresses that a connection to a target would connect to. It cancels
// the connection just before the system call.
func dialedAddrs(targets *DialPolicy, to target) []netip.AddrPort {
	var mu sync.Mutex
	var out []netip.AddrPort
	_, _ = targets.connectVia(context.Background(), to, net.Dialer{
		ControlContext: func(_ context.Context, _, address string, _ syscall.RawConn) error {
			mu.Lock()
			defer mu.Unlock()
			out = append(out, netip.MustParseAddrPort(address))
			return errStop
		},
	})
	return out
}

func FuzzDialPolicy(f *testing.F) {
	for _, url := range []string{"ws://127.0.0.1:5000/x", "ws://localhost:5000", "ws://[::1]:5000?x", "ws://[::ffff:127.0.0.1]:5000", "wss://10.1.2.3", "ws://127.1:5000", "ws://0x7f.1:5000",
		"ws://a@127.0.0.1:5000", "ws://127.0.0.1:5000\\@10.0.0.1", "ws://[fe80::1%25lo]:5000", "ws://[::127.0.0.1]:5000", "ws://127.0.0.1:4000"} {
		f.Add(url)
	}
	own := newPolicy(f)
	wide := newPolicy(f, "10.1.0.0/16", "0.0.0.0/0", "::/0")
	f.Fuzz(func(t *testing.T, url string) {
		to, err := own.checkURL(url)
		require.Equal(t, err, own.Check(url))
		if err == nil {
			for _, at := range dialedAddrs(own, to) {
				require.True(t, at.Addr().Unmap().IsLoopback(), "%q connects to %s", url, at)
				require.NotEqual(t, uint16(4000), at.Port())
				require.GreaterOrEqual(t, at.Port(), uint16(lowestPort))
			}
			require.False(t, to.tls)
		} else {
			require.ErrorIs(t, err, ErrBlocked)
		}
		if to, err = wide.checkURL(url); err == nil {
			for _, at := range dialedAddrs(wide, to) {
				addr := at.Addr().Unmap()
				require.False(t, addr.IsLinkLocalUnicast() || addr.IsMulticast() || addr.IsUnspecified(), "%q connects to %s", url, at)
				require.False(t, slices.Contains([]string{"169.254.169.254", "100.100.100.200", "fd00:ec2::254"}, addr.String()))
				require.True(t, addr.IsLoopback() || to.tls, "%q uses plaintext", url)
			}
		}
	})
}
