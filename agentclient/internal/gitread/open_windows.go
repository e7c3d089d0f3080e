package gitread

import "syscall"

const nonBlocking = 0

const (
	errNotDir = syscall.ENOTDIR
	errIsDir  = syscall.Errno(5) // ERROR_ACCESS_DENIED, of reading a folder
)
