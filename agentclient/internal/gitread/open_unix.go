//go:build !windows

package gitread

import "syscall"

// nonBlocking keeps an open of a named pipe from blocking.
const nonBlocking = syscall.O_NONBLOCK

const (
	errNotDir = syscall.ENOTDIR
	errIsDir  = syscall.EISDIR
)
