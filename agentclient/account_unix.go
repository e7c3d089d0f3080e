//go:build unix

package agentclient

import (
	"bytes"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// systemDir is the directory of the machine's administrator.
const systemDir = "/etc/hookback"

// lookUpHome returns the home directory of this process's account. It reads the account
// database and never the environment, which the agent can set. The passwd file comes
// first, because a program that links the C library would start more slowly.
func lookUpHome() (string, error) {
	uid := strconv.Itoa(os.Getuid())
	if text, err := os.ReadFile("/etc/passwd"); err == nil {
		if home := homeInPasswd(text, uid); home != "" {
			return home, nil
		}
	}
	account, err := user.LookupId(uid)
	if err != nil {
		return "", fmt.Errorf("look up account %s: %w", uid, err)
	}
	if !filepath.IsAbs(account.HomeDir) {
		return "", fmt.Errorf("account %s has no home directory", uid)
	}
	return account.HomeDir, nil
}

// homeInPasswd returns the home directory of a user id in the text of /etc/passwd, or "".
func homeInPasswd(text []byte, uid string) string {
	for line := range bytes.Lines(text) {
		fields := bytes.Split(bytes.TrimRight(line, "\n"), []byte(":"))
		if len(fields) == 7 && string(fields[2]) == uid && filepath.IsAbs(string(fields[5])) {
			return string(fields[5])
		}
	}
	return ""
}

// configDir returns the directory of an account's settings.
func configDir(home string) string { return filepath.Join(home, ".config", "hookback") }

// checkOwner returns an error unless f belongs to one of the user ids and its mode has only
// the bits in allowed.
func checkOwner(f *os.File, allowed os.FileMode, owners ...int) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return fmt.Errorf("%s: the owner can't be determined", f.Name())
	}
	for _, uid := range owners {
		if int(stat.Uid) != uid {
			continue
		}
		if extra := info.Mode().Perm() &^ allowed; extra != 0 {
			return fmt.Errorf("%s has mode %04o; it may have at most %04o (chmod %o)", f.Name(), info.Mode().Perm(), allowed, info.Mode().Perm()&allowed)
		}
		return nil
	}
	return fmt.Errorf("%s belongs to user id %d, not to %d", f.Name(), stat.Uid, owners[0])
}
