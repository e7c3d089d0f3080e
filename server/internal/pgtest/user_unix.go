//go:build unix

package pgtest

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"
)

// asServerUser lets root start the server as another user, because PostgreSQL refuses to run as root.
func asServerUser(cmd *exec.Cmd, dir string) error {
	// Signals to the test program, such as an interrupt, do not reach the server.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if os.Getuid() != 0 {
		return nil
	}
	account, err := user.Lookup("postgres")
	if err != nil {
		account, err = user.Lookup("nobody")
	}
	if err != nil {
		return fmt.Errorf("find a user for PostgreSQL: %w", err)
	}
	uid, errUID := strconv.ParseUint(account.Uid, 10, 32)
	gid, errGID := strconv.ParseUint(account.Gid, 10, 32)
	if errUID != nil || errGID != nil {
		return fmt.Errorf("find a user for PostgreSQL: %q has no numeric id", account.Username)
	}
	cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return os.Chown(dir, int(uid), int(gid))
}

// sharedMemory is the size that a file system in memory must have free for the server's files.
const sharedMemory = 512 << 20

// dataParent returns the directory for the server's files: in memory if there is room. A benchmark
// names another one in HOOKBACK_TEST_PGDATA.
func dataParent() string {
	if dir := os.Getenv("HOOKBACK_TEST_PGDATA"); dir != "" {
		return dir
	}
	var fs syscall.Statfs_t
	if err := syscall.Statfs("/dev/shm", &fs); err == nil && uint64(fs.Bavail)*uint64(fs.Bsize) >= sharedMemory {
		return "/dev/shm"
	}
	return os.TempDir()
}
