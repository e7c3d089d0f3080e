//go:build unix

package stream

import (
	"net"
	"syscall"
)

// nonBlocking returns the socket of a connection whose bytes can be written to it directly, or
// nil: TLS encrypts them.
func nonBlocking(c net.Conn) syscall.RawConn {
	if sc, ok := c.(syscall.Conn); ok {
		if raw, err := sc.SyscallConn(); err == nil {
			return raw
		}
	}
	return nil
}

// socketWriter writes to sockets without blocking. Its zero value is ready; it is reused because
// a function per write would be allocated.
type socketWriter struct {
	rest []byte
	call func(fd uintptr) bool
}

// write returns how many bytes of b the socket took.
func (w *socketWriter) write(socket syscall.RawConn, b []byte) int {
	if w.call == nil {
		w.call = w.writeTo
	}
	w.rest = b
	_ = socket.Write(w.call) // an error means that nothing more was written
	n := len(b) - len(w.rest)
	w.rest = nil
	return n
}

// writeTo implements the callback of syscall.RawConn. It always reports true, because false
// would wait until the socket takes more.
func (w *socketWriter) writeTo(fd uintptr) bool {
	for len(w.rest) > 0 {
		n, err := syscall.Write(int(fd), w.rest) // package net opens sockets in non-blocking mode
		if n > 0 {
			w.rest = w.rest[n:]
		}
		if err != nil && err != syscall.EINTR {
			break
		}
	}
	return true
}
