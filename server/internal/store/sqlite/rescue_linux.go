package sqlite

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// findLostDatabase finds a process that has the database and its write-ahead log open although
// at least one of them is not the file of that name any more.
func findLostDatabase(file string) (*lostDatabase, error) {
	names := []string{file}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(file)); err == nil {
		names = append(names, filepath.Join(dir, filepath.Base(file)))
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
		target = strings.TrimSuffix(target, " (deleted)")
		pid, err := strconv.Atoi(strings.Split(d, "/")[2])
		if err != nil {
			continue
		}
		for _, name := range names {
			if target != name && target != name+"-wal" {
				continue
			}
			if found[pid] == nil {
				found[pid] = &lostDatabase{pid: pid}
			}
			if target == name {
				found[pid].database = d
			} else {
				found[pid].wal = d
			}
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
	if err != nil {
		return false
	}
	named, err := os.Lstat(name)
	return err == nil && os.SameFile(open, named)
}
