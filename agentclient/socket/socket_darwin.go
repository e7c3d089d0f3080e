package socket

import (
	"net"
	"os"
	"path/filepath"
	"syscall"
	"unsafe"

	"github.com/hookback/hookback/agentclient/internal/account"
)

// SystemDir is the directory of a hub that has an account for itself. Only root can create
// it.
const SystemDir = "/var/run/hookback"

// findAccountDir returns the directory of the sockets of this account's hubs.
func findAccountDir() (string, error) {
	home, err := account.HomeOf(os.Geteuid())
	if err != nil {
		return "", err
	}
	return filepath.Join(home, "Library", "Application Support", "hookback", "run"), nil
}

// Options of getsockopt, see sys/un.h, and the layout of LOCAL_PEERCRED, see sys/ucred.h.
const (
	solLocal      = 0
	localPeerCred = 1
	localPeerPID  = 2
)

// peerCredentials is struct xucred.
type peerCredentials struct {
	version uint32
	uid     uint32
	ngroups int16
	groups  [16]uint32
}

// Peer returns the account and the process at the other end of a connection over a Unix
// socket, as they were when it was opened.
func Peer(conn net.Conn) (uid uint32, pid int, err error) {
	c, ok := conn.(syscall.Conn)
	if !ok {
		return 0, 0, syscall.EINVAL
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, 0, err
	}
	var cred peerCredentials
	var id int32
	failed := raw.Control(func(fd uintptr) {
		if err = getsockopt(fd, localPeerCred, unsafe.Pointer(&cred), unsafe.Sizeof(cred)); err == nil {
			err = getsockopt(fd, localPeerPID, unsafe.Pointer(&id), unsafe.Sizeof(id))
		}
	})
	if failed != nil {
		return 0, 0, failed
	}
	if err == nil && cred.version != 0 {
		err = syscall.EINVAL
	}
	return cred.uid, int(id), err
}

func getsockopt(fd uintptr, option int, value unsafe.Pointer, size uintptr) error {
	length := uint32(size)
	_, _, errno := syscall.Syscall6(syscall.SYS_GETSOCKOPT, fd, solLocal,
		uintptr(option), uintptr(value), uintptr(unsafe.Pointer(&length)), 0)
	if errno != 0 {
		return errno
	}
	return nil
}
