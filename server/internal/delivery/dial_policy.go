package delivery

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/netguard"
)

// ErrBlocked is wrapped by every error for an address that may not be dialed.
var ErrBlocked = errors.New("the hub may not dial this address")

// DialPolicyConfig lists the addresses that may be dialed in addition to loopback addresses.
type DialPolicyConfig struct {
	// Allow lists additional targets: a CIDR (10.1.0.0/16), an IP address, a host name, or
	// host:port. Their listeners must use wss, unless the entry begins with ws://
	// (ws://172.17.0.0/16), which permits plaintext.
	Allow []string
	// OwnPorts are the hub's ports, which are never dialed.
	OwnPorts []uint16
}

// DialPolicy decides which addresses may be dialed. It is the protection against SSRF: a
// callback makes the hub connect to an address that an untrusted event names. By default only
// this machine is allowed, as a loopback address or exactly "localhost", neither of which
// requires a name lookup. The address that is actually connected to is checked again at that
// moment, which prevents DNS rebinding.
type DialPolicy struct {
	allow    []allowEntry
	ownPorts []uint16
}

// allowEntry is one entry of DialPolicyConfig.Allow.
type allowEntry struct {
	netguard.Target
	plaintext bool // permits ws without TLS
}

// target is the address of a URL that the policy allows.
type target struct {
	host string     // in lower case
	addr netip.Addr // invalid for a name
	port uint16
	tls  bool
}

const (
	localhost = "localhost"
	// lowestPort excludes the ports of the machine's system services.
	lowestPort = 1024
)

// NewDialPolicy parses the configuration. Its errors name the invalid entry.
func NewDialPolicy(cfg DialPolicyConfig) (*DialPolicy, error) {
	p := &DialPolicy{ownPorts: slices.Clone(cfg.OwnPorts)}
	for _, entry := range cfg.Allow {
		a, err := parseAllowEntry(strings.TrimSpace(entry))
		if err != nil {
			return nil, fmt.Errorf("callback-allow %q: %w", entry, err)
		}
		p.allow = append(p.allow, a)
	}
	return p, nil
}

func parseAllowEntry(entry string) (a allowEntry, err error) {
	entry, a.plaintext = strings.CutPrefix(entry, "ws://")
	a.Target, err = netguard.ParseTarget(entry)
	return a, err
}

// Check returns nil if the hub may dial rawURL. Otherwise the error wraps ErrBlocked and is safe
// to show to anyone. It does no name lookup.
func (p *DialPolicy) Check(rawURL string) error {
	_, err := p.checkURL(rawURL)
	return err
}

func blockedError(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrBlocked, fmt.Sprintf(format, args...))
}

// checkURL checks a URL. Its errors contain only the host and port, because the path is the agent's
// secret.
func (p *DialPolicy) checkURL(rawURL string) (target, error) {
	u, err := url.Parse(rawURL)
	switch {
	case len(rawURL) > schema.MaxURL || err != nil || u.Opaque != "" || u.Host == "":
		return target{}, blockedError("it is not a ws:// or wss:// URL")
	case u.Scheme != "ws" && u.Scheme != "wss":
		return target{}, blockedError("its scheme is neither ws nor wss")
	case u.User != nil:
		return target{}, blockedError("it contains a user name")
	case strings.Contains(rawURL, "#"):
		return target{}, blockedError("it contains a fragment")
	}
	to := target{host: strings.ToLower(u.Hostname()), tls: u.Scheme == "wss"}
	if to.host == localhost+"." { // the same name with the dot of the DNS root
		to.host = localhost
	}
	if to.port, err = portOf(u); err != nil {
		return target{}, err
	}
	if addr, err := netip.ParseAddr(to.host); err == nil {
		to.addr = addr
		return to, p.checkAddr(to, addr)
	}
	switch byName := p.allowsName(to); {
	case to.host == localhost || byName:
		if to.host != localhost {
			return to, nil // its addresses are checked when connecting
		}
		return to, p.checkLoopback(to, netip.AddrFrom4([4]byte{127, 0, 0, 1}))
	default:
		return target{}, blockedError("%s is not this machine (127.0.0.1 or localhost) and not allowed; start the hub with -callback-allow to allow it, or let the agent pull its answer", quoteHost(to.host))
	}
}

func portOf(u *url.URL) (uint16, error) {
	if u.Port() == "" {
		return map[string]uint16{"ws": 80, "wss": 443}[u.Scheme], nil
	}
	p, err := strconv.ParseUint(u.Port(), 10, 16)
	if err != nil || p == 0 {
		return 0, blockedError("its port is not a number from 1 to 65535")
	}
	return uint16(p), nil
}

// quoteHost returns an untrusted host, quoted and truncated.
func quoteHost(host string) string { return strconv.QuoteToASCII(host[:min(len(host), 80)]) }

// allowsName reports whether an entry allows the host by its name.
func (p *DialPolicy) allowsName(to target) bool {
	return slices.ContainsFunc(p.allow, func(a allowEntry) bool {
		return a.MatchesName(to.host, to.port) && (to.tls || a.plaintext)
	})
}

// checkLoopback checks a port of this machine. A port below lowestPort, or wss, must be allowed
// by an entry such as -callback-allow localhost:443.
func (p *DialPolicy) checkLoopback(to target, addr netip.Addr) error {
	if slices.Contains(p.ownPorts, to.port) {
		return blockedError("port %d is the hub's own", to.port)
	}
	if slices.ContainsFunc(p.allow, func(a allowEntry) bool {
		return a.Port == to.port && (a.Name == to.host || a.Contains(addr, to.port))
	}) {
		return nil
	}
	switch {
	case to.port < lowestPort:
		return blockedError("port %d is below %d, where system services listen", to.port, lowestPort)
	case to.tls:
		return blockedError("a listener on this machine must use ws, not wss")
	default:
		return nil
	}
}

// checkAddr checks an address, either the URL's own or one that its name resolved to.
func (p *DialPolicy) checkAddr(to target, addr netip.Addr) error {
	unmapped := addr.Unmap()
	if addr.Zone() != "" {
		return blockedError("%s has a zone", quoteHost(to.host))
	}
	if unmapped.IsLoopback() {
		return p.checkLoopback(to, unmapped)
	}
	if netguard.IsNeverDialed(unmapped) {
		return blockedError("%s is never dialed: it is a link-local, multicast, metadata or unspecified address", unmapped)
	}
	if slices.Contains(p.ownPorts, to.port) && netguard.IsOwn(unmapped) {
		return blockedError("port %d is the hub's own", to.port)
	}
	if p.allowsName(to) {
		return nil
	}
	for _, a := range p.allow {
		if a.Contains(unmapped, to.port) {
			if to.tls || a.plaintext {
				return nil
			}
			return blockedError("%s must be dialed with wss; -callback-allow ws://%s allows ws", unmapped, a.Prefix)
		}
	}
	return blockedError("%s is not this machine and not allowed; start the hub with -callback-allow to allow it, or let the agent pull its answer", unmapped)
}

// hostPort returns the listener's address for messages and limits.
func (to target) hostPort() string {
	return net.JoinHostPort(to.host, strconv.Itoa(int(to.port)))
}

// connect opens a TCP connection to a target. The policy checks every resolved address just
// before the system call that connects to it.
func (p *DialPolicy) connect(ctx context.Context, to target) (net.Conn, error) {
	return p.connectVia(ctx, to, net.Dialer{})
}

func (p *DialPolicy) connectVia(ctx context.Context, to target, dialer net.Dialer) (net.Conn, error) {
	next := dialer.ControlContext
	dialer.ControlContext = func(ctx context.Context, network, address string, raw syscall.RawConn) error {
		if err := p.checkConnect(to, address); err != nil {
			return err
		}
		if next != nil {
			return next(ctx, network, address, raw)
		}
		return nil
	}
	port := strconv.Itoa(int(to.port))
	if to.host != localhost {
		return dialer.DialContext(ctx, "tcp", net.JoinHostPort(to.host, port))
	}
	// Use these two addresses whatever a resolver returns for localhost.
	conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort("127.0.0.1", port))
	if err != nil {
		if conn, err6 := dialer.DialContext(ctx, "tcp", net.JoinHostPort("::1", port)); err6 == nil {
			return conn, nil
		}
	}
	return conn, err
}

func (p *DialPolicy) checkConnect(to target, address string) error {
	addrPort, err := netip.ParseAddrPort(address)
	if err != nil || addrPort.Port() != to.port {
		return blockedError("%s resolves to another port or an invalid address", quoteHost(to.host))
	}
	return p.checkAddr(to, addrPort.Addr())
}
