//go:build !linux

package peer

import "net/netip"

func parentCommand(*Process) (*Process, bool) { return nil, false }

func processOf(_, _ netip.AddrPort) (*Process, bool) { return nil, false }

func ownerOf(_, _ netip.AddrPort) (uid uint32, ok bool) { return 0, false }

func programOf(_, _ netip.AddrPort) (ProcessRef, bool) { return ProcessRef{}, false }

func refOf(pid int) ProcessRef { return ProcessRef{PID: pid} }

func describe(ProcessRef) (*Process, bool) { return nil, false }
