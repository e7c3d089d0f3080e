// Package peer tells which program on this machine is on the other end of a
// loopback connection, and whether one program was started by another.
//
// The hub stores it with every question and every answer as evidence: under one
// user account a program can pretend to be another, so it proves nothing, but a
// coding agent whose own child process approves its own question does not go
// unnoticed. Only Linux tells; elsewhere nothing is found.
package peer

import (
	"net/netip"
	"slices"

	"github.com/hookback/hookback/schema"
)

// Process is a program and where it came from. It survives as JSON: a question
// keeps its asker that way until it is answered.
type Process struct {
	schema.Process

	// Chain is the process itself and then its ancestors, the nearest first.
	Chain []ProcessRef `json:"chain"`
	// Boot names the run of the machine that the chain belongs to.
	Boot string `json:"boot,omitempty"`
}

// ProcessRef names one process of a chain for good: process ids are used again, but not
// at the same start time.
type ProcessRef struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start"` // clock ticks after boot
}

// IsDescendant reports whether the answering process is the asking one or was started
// by it, directly or not. To share an ancestor is not enough: what a person types
// into the shell that also runs the agent is the person's own. A program that cuts
// itself loose from its parent is not recognised.
func IsDescendant(answerer, asker *Process) bool {
	if answerer == nil || asker == nil || len(asker.Chain) == 0 || answerer.Boot != asker.Boot {
		return false
	}
	return slices.Contains(answerer.Chain, asker.Chain[0])
}

// ParentCommand is the program that had p run: its parent, or the nearest ancestor behind
// shells that only run a command line or a script for it. There is none when a
// person runs p: behind the shell that somebody types into there is no program whose
// doing it is.
func ParentCommand(p *Process) (*Process, bool) { return parentCommand(p) }

// ProcessOf names the process that holds the remote end of a TCP connection of ours,
// where remote and local are as the accepting side sees them. It finds nothing for
// connections from other machines, from processes of other users that may not be
// looked at, and when the other end is closed already. A connection seen before
// costs two questions to the kernel; the first one of a process may cost a look at
// every process there is. The result is shared: don't change it.
func ProcessOf(remote, local netip.AddrPort) (*Process, bool) {
	remote = netip.AddrPortFrom(remote.Addr().Unmap(), remote.Port())
	local = netip.AddrPortFrom(local.Addr().Unmap(), local.Port())
	if !remote.IsValid() || !local.IsValid() {
		return nil, false
	}
	if !remote.Addr().IsLoopback() && remote.Addr() != local.Addr() {
		return nil, false
	}
	return processOf(remote, local)
}
