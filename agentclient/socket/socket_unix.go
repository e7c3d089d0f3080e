//go:build linux || darwin

package socket

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"net"
	"os"
	"path/filepath"
	"syscall"
)

// Supported reports whether this operating system has sockets that name accounts.
const Supported = true

// HubPath returns the path at which a hub of this account listens: in SystemDir if that
// belongs to the account, else in a directory of the account.
func HubPath(port string) (string, error) {
	if info, err := os.Lstat(SystemDir); err == nil && info.IsDir() && Owner(info) == os.Geteuid() {
		return filepath.Join(SystemDir, port+".sock"), nil
	}
	dir, err := accountDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, port+".sock"), nil
}

// accountDir returns the directory of the sockets of this account's hubs. Tests replace it.
var accountDir = findAccountDir

// paths yields the paths at which a client looks for the socket of a port. The directory
// that root provides comes first.
func paths(port string) iter.Seq[string] {
	return func(yield func(string) bool) {
		if !yield(filepath.Join(SystemDir, port+".sock")) {
			return
		}
		if dir, err := accountDir(); err == nil {
			yield(filepath.Join(dir, port+".sock"))
		}
	}
}

// DialPath connects to a socket after it has checked its owner, its directory and the
// account at the other end. The error is ErrNone or an *UnsafeError.
func DialPath(ctx context.Context, path string) (net.Conn, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNone, err)
	}
	if reason := checkFiles(path, info, fs.ModeSocket, "a socket"); reason != "" {
		return nil, &UnsafeError{path, reason}
	}
	conn, err := new(net.Dialer).DialContext(ctx, "unix", path)
	switch {
	case err == nil:
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.EAGAIN), // nothing listens, or it is too busy
		errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
		return nil, fmt.Errorf("%w: %w", ErrNone, err)
	default:
		return nil, err
	}
	uid, _, err := Peer(conn)
	if err != nil || !isTrusted(int(uid)) {
		_ = conn.Close()
		if err != nil {
			return nil, &UnsafeError{path, "the account at its other end is unknown (" + err.Error() + ")"}
		}
		return nil, &UnsafeError{path, fmt.Sprintf("a program of user id %d listens on it", uid)}
	}
	return conn, nil
}

// isFileOfHub reports whether a file exists that only a hub's account can have written.
func isFileOfHub(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && checkFiles(path, info, 0, "a file") == ""
}

// checkFiles returns the reason why a file is not safe to use, or "". It must have this type.
func checkFiles(path string, info fs.FileInfo, want fs.FileMode, kind string) string {
	if info.Mode().Type() != want {
		return "it is not " + kind
	}
	if !isTrusted(Owner(info)) {
		return fmt.Sprintf("it belongs to user id %d", Owner(info))
	}
	dir := filepath.Dir(path)
	if err := CheckDir(dir); err != nil {
		return err.Error()
	}
	return ""
}

// CheckDir returns an error unless only a hub's account can create files in a directory.
func CheckDir(dir string) error {
	info, err := os.Lstat(dir)
	switch {
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s is not a directory", dir)
	case !isTrusted(Owner(info)):
		return fmt.Errorf("its directory %s belongs to user id %d", dir, Owner(info))
	case info.Mode().Perm()&0o022 != 0:
		return fmt.Errorf("others can write to its directory %s (chmod go-w)", dir)
	}
	return nil
}

// isTrusted reports whether the account may run a hub for this one: it is the same account,
// root, or the account to which root gave SystemDir.
func isTrusted(uid int) bool {
	if uid == 0 || uid == os.Geteuid() {
		return true
	}
	info, err := os.Lstat(SystemDir)
	return err == nil && info.IsDir() && Owner(info) == uid
}

// Owner returns the user id of a file's owner, or -1 if it is unknown.
func Owner(info fs.FileInfo) int {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(stat.Uid)
	}
	return -1
}
