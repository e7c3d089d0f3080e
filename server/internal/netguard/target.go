// Package netguard decides which addresses the hub may connect to. It is the protection against
// server-side request forgery (SSRF): agents and admins name addresses, and the hub must not become
// a way into its own machine or network.
package netguard

import (
	"errors"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// Target is an allowed address: a network, or a host name.
type Target struct {
	Prefix netip.Prefix // invalid for a name
	Name   string       // in lower case
	Port   uint16       // 0: any
}

// ParseTarget reads a CIDR (10.1.0.0/16), an IP address, a host name, or host:port.
func ParseTarget(entry string) (t Target, err error) {
	if prefix, err := netip.ParsePrefix(entry); err == nil {
		t.Prefix = prefix.Masked()
		return t, nil
	}
	host := entry
	if h, port, err := net.SplitHostPort(entry); err == nil {
		p, err := strconv.ParseUint(port, 10, 16)
		if err != nil || p == 0 {
			return t, errors.New("the port must be a number from 1 to 65535")
		}
		host, t.Port = h, uint16(p)
	}
	host = strings.Trim(host, "[]")
	if addr, err := netip.ParseAddr(host); err == nil {
		if addr.Zone() != "" {
			return t, errors.New("an address with a zone is not accepted")
		}
		addr = addr.Unmap()
		t.Prefix = netip.PrefixFrom(addr, addr.BitLen())
		return t, nil
	}
	t.Name = strings.ToLower(host)
	if !isHostName(t.Name) {
		return t, errors.New("not a network, address or host name; use a form such as 10.1.0.0/16, agent.example or agent.example:8443")
	}
	return t, nil
}

// MatchesName reports whether the target names this host and covers the port.
func (t Target) MatchesName(host string, port uint16) bool {
	return t.Name != "" && t.Name == strings.ToLower(host) && (t.Port == 0 || t.Port == port)
}

// Contains reports whether the target is a network that contains addr, and covers the port.
func (t Target) Contains(addr netip.Addr, port uint16) bool {
	return t.Prefix.IsValid() && t.Prefix.Contains(addr) && (t.Port == 0 || t.Port == port)
}

// isHostName reports whether name is a host name and not an address in an unusual form, such as
// 127.1, 0x7f.1 or 2130706433, which some resolvers accept as this machine.
func isHostName(name string) bool {
	labels := strings.Split(name, ".")
	for _, label := range labels {
		if label == "" || len(label) > 63 || strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return false
		}
	}
	last := labels[len(labels)-1]
	return last[0] < '0' || last[0] > '9'
}

// neverDialed are refused even if a target contains them: this network, link-local, multicast and
// cloud metadata addresses, and IPv6 forms of IPv4 addresses, which would bypass the other checks.
var neverDialed = parsePrefixes("0.0.0.0/8", "169.254.0.0/16", "224.0.0.0/4", "240.0.0.0/4", "100.100.100.200/32", "168.63.129.16/32", "192.0.0.192/32",
	"::/96", "64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "fe80::/10", "fec0::/10", "ff00::/8", "fd00:ec2::254/128", "fd20:ce::254/128")

// notPublic are networks besides the private ones that are not reachable through the internet:
// carrier-grade NAT (RFC 6598), protocol assignments (RFC 6890) and benchmarks (RFC 2544).
var notPublic = parsePrefixes("100.64.0.0/10", "192.0.0.0/24", "198.18.0.0/15")

func parsePrefixes(list ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(list))
	for i, s := range list {
		out[i] = netip.MustParsePrefix(s)
	}
	return out
}

func anyContains(prefixes []netip.Prefix, addr netip.Addr) bool {
	return slices.ContainsFunc(prefixes, func(p netip.Prefix) bool { return p.Contains(addr) })
}

// IsNeverDialed reports whether no setting can allow addr. Loopback addresses, which ::/96 contains,
// must be handled before.
func IsNeverDialed(addr netip.Addr) bool { return anyContains(neverDialed, addr) }

// IsPublic reports whether addr is neither on this machine nor in a private network.
func IsPublic(addr netip.Addr) bool {
	addr = addr.Unmap()
	return addr.IsGlobalUnicast() && !addr.IsPrivate() && !IsNeverDialed(addr) && !anyContains(notPublic, addr)
}

// IsOwn reports whether one of this machine's interfaces has the address.
func IsOwn(addr netip.Addr) bool {
	own, err := net.InterfaceAddrs()
	if err != nil {
		return true // fail closed
	}
	return slices.ContainsFunc(own, func(a net.Addr) bool {
		p, err := netip.ParsePrefix(a.String())
		return err == nil && p.Addr().Unmap() == addr
	})
}
