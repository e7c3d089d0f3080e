//go:build unix

package account

import (
	"bytes"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
)

// passwdFile is the file of the account database. The linker replaces it in a program for tests.
var passwdFile = "/etc/passwd"

func lookUp() (string, error) { return HomeOf(os.Getuid()) }

// HomeOf returns the home directory of an account. It reads the account database. The
// passwd file comes first, because a program that links the C library would start more
// slowly.
func HomeOf(id int) (string, error) {
	uid := strconv.Itoa(id)
	if text, err := os.ReadFile(passwdFile); err == nil {
		if _, home := findInPasswd(text, uid); home != "" {
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

func lookUpName() string {
	uid := strconv.Itoa(os.Getuid())
	if text, err := os.ReadFile(passwdFile); err == nil {
		if name, _ := findInPasswd(text, uid); name != "" {
			return name
		}
	}
	account, err := user.LookupId(uid)
	if err != nil {
		return ""
	}
	return account.Username
}

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
