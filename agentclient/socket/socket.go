// Package socket connects programs to a hub on the same machine through a Unix domain
// socket. Unlike TCP, such a socket names the account at the other end, so that both ends
// check it before they send anything. It works on Linux and macOS.
//
// The path of a hub's socket depends on the account and the hub's port only, never on the
// environment, which an agent can set.
package socket

import (
	"context"
	"encoding/hex"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// MaxPath is the length in bytes of the longest path of a socket.
const MaxPath = 103

// ErrNone reports that no hub listens on a socket: there is no file, nothing listens, or its
// mode excludes this account. A client then uses TCP.
var ErrNone = errors.New("no hub listens on the socket")

// UnsafeError reports that a socket may belong to another program than the hub. Nothing was
// sent. A client must not use TCP instead, because the port may be that program's too.
type UnsafeError struct{ Path, Reason string }

func (e *UnsafeError) Error() string {
	return "the socket " + e.Path + " is not used: " + e.Reason + ". Nothing was sent. Find out who created it, then remove it"
}

// Dial connects to the socket of the hub that listens on a loopback port. The error is
// ErrNone or an *UnsafeError.
func Dial(ctx context.Context, port string) (net.Conn, error) {
	for path := range paths(port) {
		conn, err := DialPath(ctx, path)
		if !errors.Is(err, ErrNone) {
			return conn, err
		}
	}
	return nil, ErrNone
}

// Scheme is the scheme of a hub's address that names a socket: unix:///PATH.
const Scheme = "unix"

// hostSuffix ends the host name that stands for a socket in an HTTP address.
const hostSuffix = ".unix.invalid"

// HTTPAddress returns the HTTP address of a hub for use with a Transport. It replaces
// unix:///PATH and returns any other address unchanged.
func HTTPAddress(hub string) string {
	path, ok := strings.CutPrefix(hub, Scheme+"://")
	if !ok {
		return hub
	}
	return "http://" + hex.EncodeToString([]byte(path)) + hostSuffix
}

// pathOf returns the path of the socket that a host name from HTTPAddress stands for.
func pathOf(host string) (path string, ok bool) {
	text, ok := strings.CutSuffix(host, hostSuffix)
	if !ok {
		return "", false
	}
	b, err := hex.DecodeString(text)
	return string(b), err == nil
}

// IsLoopback reports whether a host name of an address is this machine's. Names have no case, and
// may end with the dot of the DNS root (RFC 4343, RFC 1034).
func IsLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return strings.ToLower(strings.TrimSuffix(host, ".")) == "localhost" || err == nil && ip.IsLoopback()
}

// Transport sends HTTP requests. It reaches a hub without TLS on a loopback address through
// its socket if there is one.
type Transport struct {
	network *http.Transport // to other addresses
	local   *http.Transport
}

// NewTransport returns a Transport that opens network connections as t does.
func NewTransport(t *http.Transport) *Transport {
	dial := t.DialContext
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	local := t.Clone()
	local.Proxy = nil
	local.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		host, port, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		if path, ok := pathOf(host); ok {
			return dialOnly(ctx, path)
		}
		conn, err := Dial(ctx, port)
		if errors.Is(err, ErrNone) {
			return dial(ctx, network, address)
		}
		return conn, err
	}
	return &Transport{t, local}
}

// dialOnly connects to a socket that has no alternative.
func dialOnly(ctx context.Context, path string) (net.Conn, error) {
	conn, err := DialPath(ctx, path)
	if errors.Is(err, ErrNone) {
		return nil, &net.OpError{Op: "dial", Net: Scheme, Addr: &net.UnixAddr{Name: path, Net: Scheme}, Err: err}
	}
	return conn, err
}

// RoundTrip implements http.RoundTripper.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if _, ok := pathOf(r.URL.Hostname()); ok {
		named := *r
		named.Host = "localhost"
		return t.local.RoundTrip(&named)
	}
	if IsDirect(r.URL) {
		return t.local.RoundTrip(r)
	}
	return t.network.RoundTrip(r)
}

// IsDirect reports whether a hub at this address may have a socket: without TLS, on this
// machine.
func IsDirect(u *url.URL) bool { return u.Scheme == "http" && IsLoopback(u.Hostname()) }

// CloseIdleConnections closes the connections that no request uses.
func (t *Transport) CloseIdleConnections() {
	t.network.CloseIdleConnections()
	t.local.CloseIdleConnections()
}
