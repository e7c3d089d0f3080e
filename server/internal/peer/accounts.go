package peer

import (
	"net/netip"
	"os"
	"runtime"
	"slices"
)

// Accounts is the set of accounts whose programs use the hub without credentials. The hub's
// own account and root always belong to it: both can read the database.
type Accounts struct {
	All  bool     // every account of this machine
	UIDs []uint32 // more accounts
}

// Contains reports whether the account belongs to the set.
func (a Accounts) Contains(uid uint32) bool {
	return a.All || uid == 0 || int64(uid) == int64(os.Geteuid()) || slices.Contains(a.UIDs, uid)
}

// KnowsOwners reports whether this operating system names the owner of a TCP connection, so
// that Owner can find it.
const KnowsOwners = runtime.GOOS == "linux"

// Owner returns the account that opened the remote end of a TCP connection; remote and local
// are the addresses as the accepting side sees them. ok is false for connections from other
// machines, for closed connections and on systems other than Linux. It costs a few system
// calls.
func Owner(remote, local netip.AddrPort) (uid uint32, ok bool) {
	remote, local, ok = localEnds(remote, local)
	if !ok {
		return 0, false
	}
	return ownerOf(remote, local)
}

// localEnds returns the addresses without IPv4-in-IPv6 mapping. ok is false if the remote
// end is on another machine.
func localEnds(remote, local netip.AddrPort) (_, _ netip.AddrPort, ok bool) {
	remote = netip.AddrPortFrom(remote.Addr().Unmap(), remote.Port())
	local = netip.AddrPortFrom(local.Addr().Unmap(), local.Port())
	ok = remote.IsValid() && local.IsValid() && (remote.Addr().IsLoopback() || remote.Addr() == local.Addr())
	return remote, local, ok
}
