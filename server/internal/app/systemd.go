package app

import (
	"log/slog"
	"net"
)

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
