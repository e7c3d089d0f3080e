package account

import (
	"path/filepath"
	"runtime"
)

// StateDir returns the directory for data that may be lost, such as the hook log and the
// spool: $XDG_STATE_HOME/hookback, ~/.local/state/hookback, Library/Application
// Support/hookback on macOS, %LocalAppData%\hookback on Windows. It returns "" if the user
// has no such directory.
func StateDir(env func(string) string) string {
	dir := env("XDG_STATE_HOME")
	switch {
	case filepath.IsAbs(dir): // the XDG specification ignores relative paths
	case runtime.GOOS == "windows":
		dir = env("LocalAppData")
	case env("HOME") == "":
		return ""
	case runtime.GOOS == "darwin":
		dir = filepath.Join(env("HOME"), "Library", "Application Support")
	default:
		dir = filepath.Join(env("HOME"), ".local", "state")
	}
	if !filepath.IsAbs(dir) {
		return ""
	}
	return filepath.Join(dir, "hookback")
}
