package socket

import (
	"bytes"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// SystemDir is the directory of a hub that has an account for itself. Only root can create
// it, for example by RuntimeDirectory in a systemd unit.
const SystemDir = "/run/hookback"

// findAccountDir returns the directory of the sockets of this account's hubs.
func findAccountDir() (string, error) {
	runtime := "/run/user/" + strconv.Itoa(os.Geteuid())
	if info, err := os.Lstat(runtime); err == nil && owner(info) == os.Geteuid() && info.Mode() == fs.ModeDir|0o700 {
		return filepath.Join(runtime, "hookback"), nil
	}
	home, err := AccountHome()
	if err != nil {
		return "", err
	}
	return filepath.Join(home, ".local", "state", "hookback", "run"), nil
}

// AccountHome returns the home directory of this process's account. It reads the account
// database and never the environment. It only reads the passwd file, because a program that
// asks the C library starts more slowly, and other accounts usually have /run/user/UID.
func AccountHome() (string, error) {
	text, err := os.ReadFile("/etc/passwd")
	if err != nil {
		return "", err
	}
	uid := strconv.Itoa(os.Geteuid())
	home := homeInPasswd(text, uid)
	if home == "" {
		return "", errors.New("/etc/passwd has no home directory for user id " + uid)
	}
	return home, nil
}

// homeInPasswd returns the home directory of a user id in the text of a passwd file, or "".
func homeInPasswd(text []byte, uid string) string {
	for line := range bytes.Lines(text) {
		fields := bytes.Split(bytes.TrimRight(line, "\n"), []byte(":"))
		if len(fields) == 7 && string(fields[2]) == uid && filepath.IsAbs(string(fields[5])) {
			return string(fields[5])
		}
	}
	return ""
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
