// Package peer finds the local program at the other end of a loopback connection, and
// whether one program was started by another.
//
// The hub stores the result with every question and answer as evidence. It is no proof,
// because programs of the same user can impersonate each other. But an agent whose own
// child process approves its question is noticed. It works on Linux; on other systems
// nothing is found.
package peer

import (
	"net/netip"
	"os"
	"runtime"
	"slices"
	"sync"
)

// Process is a program and its ancestry. It is stored as JSON with a pending question.
type Process struct {
	Program

	// Chain is the process and its ancestors, the nearest first.
	Chain []ProcessRef `json:"chain"`
	// Boot is the boot id of the machine, because PIDs and start times are unique only
	// within one boot.
	Boot string `json:"boot,omitempty"`
}

// Program describes a process to people.
type Program struct {
	PID       int      `json:"pid"`
	Exe       string   `json:"exe,omitempty"`
	Ancestors []string `json:"ancestors,omitempty"` // nearest first, as "exe (pid)"
}

// ProcessRef identifies a process. PIDs are reused, but not with the same start time.
type ProcessRef struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start"` // clock ticks after boot
}

// IsDescendant reports whether the answering process is the asking one or one of its
// descendants. A common ancestor is not enough: a command that a person types into the
// shell that also runs the agent is the person's own. Processes that detach from their
// parent are not recognized.
func IsDescendant(answerer, asker *Process) bool {
	if answerer == nil || asker == nil || len(asker.Chain) == 0 || answerer.Boot != asker.Boot {
		return false
	}
	return slices.Contains(answerer.Chain, asker.Chain[0])
}

// ParentCommand returns the program that ran p: its parent, or the nearest ancestor above
// shells that only run a command line or a script. ok is false if a person ran p from an
// interactive shell.
func ParentCommand(p *Process) (*Process, bool) { return parentCommand(p) }

// ProcessOf returns the process that owns the remote end of a TCP connection; remote and
// local are the addresses as the accepting side sees them. ok is false for connections
// from other machines, for processes that this user may not inspect and for closed
// connections. A known connection costs two system calls. The first connection of a
// process may require a scan of all processes. The result is shared and must not be
// changed.
func ProcessOf(remote, local netip.AddrPort) (*Process, bool) {
	remote, local, ok := localEnds(remote, local)
	if !ok {
		return nil, false
	}
	return processOf(remote, local)
}

// ConnectionCache keeps the process that opened one connection, and the program that ran it. A nil
// cache keeps nothing.
type ConnectionCache struct {
	mu      sync.Mutex
	process *Process
	parent  *Process // nil: none, or not looked up
	known   bool     // parent was looked up
}

// Process returns the process that find returned first for the connection. find returns nil if it
// finds none, and is called again for the next request then. The result stays the same if the
// process exits and a child of it continues to use the connection: an answer counts as that of the
// process that connected.
func (c *ConnectionCache) Process(find func() *Process) *Process {
	if c == nil {
		return find()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.process == nil {
		c.process = find()
	}
	return c.process
}

// ParentCommand returns the first result of the function of that name for the connection's process.
func (c *ConnectionCache) ParentCommand(p *Process) (*Process, bool) {
	if c == nil {
		return ParentCommand(p)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.known {
		c.parent, _ = ParentCommand(p)
		c.known = true
	}
	return c.parent, c.parent != nil
}

// RefOf returns the process with a PID, or only the PID where processes cannot be read.
func RefOf(pid int) ProcessRef { return refOf(pid) }

// Describe returns a process with its ancestors. ok is false if it has ended, also if its PID
// was reused, and on systems other than Linux.
func Describe(ref ProcessRef) (*Process, bool) { return describe(ref) }

// Processes finds the processes of this machine. It is ProcessOf as a value.
type Processes struct{}

// ProcessOf calls the function of that name.
func (Processes) ProcessOf(remote, local netip.AddrPort) (*Process, bool) {
	return ProcessOf(remote, local)
}

// ProgramOf returns the program at the remote end of a connection, like ProcessOf but without its
// ancestors. Concurrent calls share one scan of all processes, and scans take a bounded part of the
// CPU, so a call takes tens of milliseconds.
func ProgramOf(remote, local netip.AddrPort) (ProcessRef, bool) {
	remote, local, ok := localEnds(remote, local)
	if !ok {
		return ProcessRef{}, false
	}
	return programOf(remote, local)
}

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
