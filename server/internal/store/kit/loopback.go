package kit

import (
	"net/netip"
	"net/url"
	"strings"
)

// IsLoopbackURL reports whether the address of a listener means a process of the hub's own machine.
func IsLoopbackURL(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	host := strings.ToLower(u.Hostname())
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.Unmap().IsLoopback()
}
