package app

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"syscall"
	"time"

	"github.com/hookback/hookback/agentclient/socket"
	"github.com/hookback/hookback/server/internal/peer"
)

// listen opens the port. A loopback address is opened for IPv4 and IPv6. Otherwise another
// program could listen on the other family and receive the requests of clients that prefer
// it.
func listen(addr string) ([]net.Listener, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	if net.ParseIP(host) == nil && socket.IsLoopback(host) {
		host = "127.0.0.1"
	}
	const maxAttempts = 20 // a port can be free in one family and in use in the other
	for attempt := 1; ; attempt++ {
		lns, err := listenBoth(host, port)
		if err == nil || port != "0" || !errors.Is(err, syscall.EADDRINUSE) || attempt == maxAttempts {
			return lns, explainPortInUse(err)
		}
	}
}

func listenBoth(host, port string) ([]net.Listener, error) {
	first, err := net.Listen("tcp", net.JoinHostPort(host, port))
	if err != nil {
		return nil, err
	}
	twin := map[string]string{"127.0.0.1": "::1", "::1": "127.0.0.1"}[host]
	if twin == "" {
		return []net.Listener{first}, nil
	}
	port = strconv.Itoa(portOf(first))
	second, err := net.Listen("tcp", net.JoinHostPort(twin, port))
	switch {
	case err == nil:
		return []net.Listener{first, second}, nil
	case errors.Is(err, syscall.EADDRINUSE):
		_ = first.Close()
		return nil, err
	default: // only one family is available
		return []net.Listener{first}, nil
	}
}

func portOf(ln net.Listener) int {
	if tcp, ok := ln.Addr().(*net.TCPAddr); ok {
		return tcp.Port
	}
	return 0
}

// explainPortInUse adds the program that uses the port to the error, if it can be
// determined.
func explainPortInUse(err error) error {
	var op *net.OpError
	if !errors.Is(err, syscall.EADDRINUSE) || !errors.As(err, &op) || op.Addr == nil {
		return err
	}
	owner := "another program"
	if name := portOwner(op.Addr.String()); name != "" {
		owner = name
	}
	return fmt.Errorf("%s is in use by %s: stop it, or choose another port with -addr", op.Addr, owner)
}

// portOwner returns the program that listens at addr, or an empty string. It connects to
// it to find out.
func portOwner(addr string) string {
	conn, err := net.DialTimeout("tcp", addr, time.Second)
	if err != nil {
		return ""
	}
	defer func() { _ = conn.Close() }()
	remote, okRemote := conn.RemoteAddr().(*net.TCPAddr)
	local, okLocal := conn.LocalAddr().(*net.TCPAddr)
	if !okRemote || !okLocal {
		return ""
	}
	// The socket has an owner only after the program has accepted the connection, which
	// takes time on a busy machine. Waiting is fine, because the hub exits afterwards.
	deadline := time.Now().Add(2 * time.Second)
	for time.Now().Before(deadline) {
		if p, ok := peer.ProcessOf(remote.AddrPort(), local.AddrPort()); ok {
			return fmt.Sprintf("%s (process %d)", p.Exe, p.PID)
		}
		<-time.After(5 * time.Millisecond)
	}
	return ""
}

// notifySystemd reports the state of the hub to the service manager if the hub is a unit of Type=notify.
// See sd_notify(3).
func notifySystemd(socket, state string, log *slog.Logger) {
	if socket == "" {
		return
	}
	name := socket
	if name[0] == '@' { // a socket in the abstract namespace
		name = "\x00" + name[1:]
	}
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: name, Net: "unixgram"})
	if err == nil {
		_, err = conn.Write([]byte(state))
		_ = conn.Close()
	}
	if err != nil {
		log.Warn("service manager not notified", "state", state, "err", err)
	}
}
