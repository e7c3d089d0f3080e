package account

import (
	"os/user"
	"path/filepath"
)

// lookUp returns the profile directory of this process's account.
func lookUp() (string, error) {
	account, err := user.Current() // reads the process's token, not the environment
	if err != nil {
		return "", err
	}
	return account.HomeDir, nil
}

func lookUpName() string {
	account, err := user.Current()
	if err != nil {
		return ""
	}
	return account.Username
}

// ConfigDir returns the directory of an account's settings.
func ConfigDir(home string) string { return filepath.Join(home, "AppData", "Roaming", "hookback") }
