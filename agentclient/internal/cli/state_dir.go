package cli

import (
	"os"
	"path/filepath"

	"github.com/hookback/hookback/agentclient/internal/account"
)

// IsRegularFile reports whether file is a regular file. Reading a named pipe would block
// until another process writes to it.
func IsRegularFile(file string) bool {
	info, err := os.Stat(file)
	return err == nil && info.Mode().IsRegular()
}

// HookLogFile returns the path of the hook log, or "" without a state directory.
func HookLogFile(env func(string) string) string {
	dir := account.StateDir(env)
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, "hook.log")
}
