package kit

import (
	"net/url"

	"github.com/hookback/hookback/agentclient/socket"
)

// IsLoopbackURL reports whether the address of a listener means a process of the hub's own machine.
func IsLoopbackURL(address string) bool {
	u, err := url.Parse(address)
	return err == nil && socket.IsLoopback(u.Hostname())
}
