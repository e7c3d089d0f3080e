//go:build unix

package account

import (
	"bytes"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"sync"
)

// passwdFile is the file of the account database. The linker replaces it in a program for tests.
var passwdFile = "/etc/passwd"

func lookUp() (string, error) { return own().home, own().err }

type entry struct {
	name, home string
	err        error
}

// own returns the entry of this process's account. A hook needs it several times.
var own = sync.OnceValue(func() (e entry) {
	e.name, e.home, e.err = find(os.Getuid())
	return e
})

// HomeOf returns the home directory of an account. It reads the account database. The
// passwd file comes first, because a program that links the C library would start more
// slowly.
func HomeOf(id int) (string, error) {
	_, home, err := find(id)
	return home, err
}

func find(id int) (name, home string, err error) {
	uid := strconv.Itoa(id)
	if text, err := os.ReadFile(passwdFile); err == nil {
		if name, home := findInPasswd(text, uid); home != "" {
			return name, home, nil
		}
	}
	account, err := user.LookupId(uid)
	if err != nil {
		return "", "", fmt.Errorf("look up account %s: %w", uid, err)
	}
	if !filepath.IsAbs(account.HomeDir) {
		return account.Username, "", fmt.Errorf("account %s has no home directory", uid)
	}
	return account.Username, account.HomeDir, nil
}

func lookUpName() string { return own().name }

// findInPasswd returns the name and the home directory of a user id in the text of /etc/passwd, or
// "".
func findInPasswd(text []byte, uid string) (name, home string) {
	for line := range bytes.Lines(text) {
		fields := bytes.Split(bytes.TrimRight(line, "\n"), []byte(":"))
		if len(fields) == 7 && string(fields[2]) == uid && filepath.IsAbs(string(fields[5])) {
			return string(fields[0]), string(fields[5])
		}
	}
	return "", ""
}

// ConfigDir returns the directory of an account's settings.
func ConfigDir(home string) string { return filepath.Join(home, ".config", "hookback") }

// SystemDir is the directory of the machine's administrator.
const SystemDir = "/etc/hookback"
