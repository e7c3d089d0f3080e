package sqlite

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// setFileLock locks for the open file description.
const setFileLock = unix.F_OFD_SETLK

// fileHolder returns the process that has the lock of lockFile, or 0. Only processes of the
// same account can be inspected.
func fileHolder(f *os.File) int {
	info, err := f.Stat()
	if err != nil {
		return 0
	}
	inode := info.Sys().(*syscall.Stat_t).Ino //nolint:forcetypeassert // on this system it always is
	lock := fmt.Sprintf(":%d %d %d", inode, hubLockByte, hubLockByte)
	descriptors, _ := filepath.Glob("/proc/[0-9]*/fdinfo/*")
	for _, d := range descriptors {
		text, err := os.ReadFile(d)
		if err != nil || !bytes.Contains(text, []byte("OFDLCK")) {
			continue
		}
		for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
			if strings.Contains(lines.Text(), "OFDLCK") && strings.HasSuffix(lines.Text(), lock) {
				pid, _ := strconv.Atoi(strings.Split(d, "/")[2])
				return pid
			}
		}
	}
	return 0
}

// preallocate reserves size bytes of disk for f, with fallocate where the file system
// supports it.
func preallocate(f *os.File, size int64) error {
	if unix.Fallocate(int(f.Fd()), 0, 0, size) == nil {
		return nil
	}
	return writeZeros(f, size)
}

// findLostDatabase finds a process that has the database and its write-ahead log open although
// at least one of them is not the file of that name any more.
func findLostDatabase(file string) (*lostDatabase, error) {
	names := []string{file, file + "-wal"}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(file)); err == nil {
		resolved := filepath.Join(dir, filepath.Base(file))
		names = append(names, resolved, resolved+"-wal")
	}
	found := map[int]*lostDatabase{}
	descriptors, err := filepath.Glob("/proc/[0-9]*/fd/*")
	if err != nil {
		return nil, err
	}
	for _, d := range descriptors {
		target, err := os.Readlink(d)
		if err != nil {
			continue // another account's process, or it has ended
		}
		i := slices.Index(names, strings.TrimSuffix(target, " (deleted)"))
		pid, err := strconv.Atoi(strings.Split(d, "/")[2])
		if i < 0 || err != nil {
			continue
		}
		if found[pid] == nil {
			found[pid] = &lostDatabase{pid: pid}
		}
		if i%2 == 0 {
			found[pid].database = d
		} else {
			found[pid].wal = d
		}
	}
	inPlace := false
	for _, l := range found {
		if l.database == "" || l.wal == "" {
			continue
		}
		if !isOpenAs(l.database, file) || !isOpenAs(l.wal, file+"-wal") {
			return l, nil
		}
		inPlace = true
	}
	if inPlace {
		return nil, fmt.Errorf("the database %s is in its place; nothing was written; copy it with hookback-server backup FILE", file)
	}
	return nil, fmt.Errorf("no process of this account has %s open; nothing was written; name the file with -db as for the hub, run this as the hub's account or root, or restore a backup", file)
}

func isOpenAs(descriptor, name string) bool {
	open, err := os.Stat(descriptor)
	named, nameErr := os.Lstat(name)
	return err == nil && nameErr == nil && os.SameFile(open, named)
}
