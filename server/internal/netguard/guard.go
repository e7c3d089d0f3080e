package netguard

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/hookback/hookback/agentclient/socket"
)

// ErrRefused is wrapped by every error for an address that the hub may not connect to.
var ErrRefused = errors.New("the hub may not connect to this address")

// dialTimeout limits one connection attempt.
const dialTimeout = 5 * time.Second

// Config configures a Guard.
type Config struct {
	// Allow lists targets outside the public internet: CIDRs, IP addresses, host names, or
	// host:port.
	Allow []string
	// OwnPorts are the hub's ports, which are never dialed on this machine.
	OwnPorts []uint16
	// ProxyURL is the http:// or https:// proxy of HTTP requests; empty: none. The proxy resolves
	// the names of destinations; only literal addresses are checked then.
	ProxyURL string
}

// Guard opens connections to the public internet and to allowed targets, and refuses all others.
// Every resolved address is checked just before the system call that connects to it, which
// prevents DNS rebinding. The zero Guard allows no target.
type Guard struct {
	allow    []Target
	ownPorts []uint16
	proxy    *url.URL
}

// New returns a Guard. Its errors name the invalid entry.
func New(cfg Config) (*Guard, error) {
	g := &Guard{ownPorts: slices.Clone(cfg.OwnPorts)}
	for _, entry := range cfg.Allow {
		t, err := ParseTarget(entry)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", entry, err)
		}
		g.allow = append(g.allow, t)
	}
	if cfg.ProxyURL != "" {
		u, err := url.Parse(cfg.ProxyURL)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
			return nil, errors.New("the proxy must be a URL such as http://proxy.example:3128")
		}
		g.proxy = u
	}
	return g, nil
}

// CheckHost refuses a host that is a literal address or localhost and not allowed. It looks up no
// name: the addresses of a name are checked when connecting.
func (g *Guard) CheckHost(host string, port uint16) error {
	if addr, err := netip.ParseAddr(host); err == nil {
		return g.checkAddr(host, port, addr)
	}
	if socket.IsLoopback(host) {
		return g.checkAddr(host, port, netip.AddrFrom4([4]byte{127, 0, 0, 1}))
	}
	if !isHostName(strings.ToLower(host)) {
		return refused("%s is not a host name", strconv.QuoteToASCII(host[:min(len(host), 80)]))
	}
	return nil
}

// CheckURL applies CheckHost to the host of an http or https URL.
func (g *Guard) CheckURL(u *url.URL) error {
	port, err := strconv.ParseUint(u.Port(), 10, 16)
	if err != nil {
		port = 443
		if u.Scheme == "http" {
			port = 80
		}
	}
	return g.CheckHost(u.Hostname(), uint16(port))
}

// CheckName refuses a host whose name resolves to an address that is not allowed. It is for libraries
// that take no dialer; they resolve the name again. With a proxy nothing is resolved.
func (g *Guard) CheckName(ctx context.Context, host string) error {
	if g.proxy != nil {
		return g.CheckHost(host, 443)
	}
	addrs, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return err
	}
	for _, addr := range addrs {
		if err := g.checkAddr(host, 443, addr); err != nil {
			return err
		}
	}
	return nil
}

func refused(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrRefused, fmt.Sprintf(format, args...))
}

// checkAddr checks an address that host resolved to.
func (g *Guard) checkAddr(host string, port uint16, addr netip.Addr) error {
	if addr.Zone() != "" {
		return refused("it has a zone")
	}
	addr = addr.Unmap()
	if !addr.IsLoopback() && IsNeverDialed(addr) {
		return refused("%s is a link-local, multicast, metadata or unspecified address", addr)
	}
	if slices.Contains(g.ownPorts, port) && (addr.IsLoopback() || IsOwn(addr)) {
		return refused("port %d is the hub's own", port)
	}
	if IsPublic(addr) {
		return nil
	}
	for _, t := range g.allow {
		if t.MatchesName(host, port) || t.Contains(addr, port) {
			return nil
		}
	}
	return refused("%s is on this machine or in a private network and not allowed", addr)
}

// DialContext connects like net.Dialer.DialContext and checks every address.
func (g *Guard) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, refused("%s is not an address", strconv.QuoteToASCII(address))
	}
	dialer := net.Dialer{Timeout: dialTimeout, Control: func(_, resolved string, _ syscall.RawConn) error {
		to, err := netip.ParseAddrPort(resolved)
		if err != nil {
			return refused("%s is not an address", strconv.QuoteToASCII(resolved))
		}
		return g.checkAddr(host, to.Port(), to.Addr())
	}}
	return dialer.DialContext(ctx, network, address)
}

// HTTPClient returns a client that follows no redirects, because a message goes to the configured
// address or nowhere, and ignores the proxy variables of the environment.
func (g *Guard) HTTPClient() *http.Client {
	t := &http.Transport{ForceAttemptHTTP2: true, MaxIdleConns: 32, IdleConnTimeout: 30 * time.Second}
	g.Protect(t)
	return &http.Client{Transport: t, CheckRedirect: RefuseRedirect}
}

// Protect makes an unused transport connect through the guard.
func (g *Guard) Protect(t *http.Transport) {
	t.Proxy, t.DialContext, t.DialTLSContext = nil, g.DialContext, nil
	if g.proxy == nil {
		return
	}
	t.Proxy = func(req *http.Request) (*url.URL, error) { return g.proxy, g.CheckURL(req.URL) }
	t.DialContext = (&net.Dialer{Timeout: dialTimeout}).DialContext // connects to the proxy only
}

// RefuseRedirect is a CheckRedirect function that returns the redirect as the response.
func RefuseRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
