package socket

import (
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/hookback/hookback/agentclient/internal/account"
)

// SystemDir is the directory of a hub that has an account for itself. Only root can create
// it, for example by RuntimeDirectory in a systemd unit.
const SystemDir = "/run/hookback"

// findAccountDir returns the directory of the sockets of this account's hubs.
func findAccountDir() (string, error) {
	runtime := "/run/user/" + strconv.Itoa(os.Geteuid())
	if info, err := os.Lstat(runtime); err == nil && Owner(info) == os.Geteuid() && info.Mode() == fs.ModeDir|0o700 {
		return filepath.Join(runtime, "hookback"), nil
	}
	home, err := account.HomeOf(os.Geteuid())
	if err != nil {
		return "", err
	}
	return filepath.Join(home, ".local", "state", "hookback", "run"), nil
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
	var peer *syscall.Ucred
	failed := raw.Control(func(fd uintptr) {
		peer, err = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	})
	if failed != nil {
		return 0, 0, failed
	}
	if err != nil {
		return 0, 0, err
	}
	return peer.Uid, int(peer.Pid), nil
}
