package sqlite

import (
	"os"
	"runtime"
	"sync"
)

// tempInMemory reports whether SQLite has no directory for temporary files, which migrations and large
// sorts need. A service or container with a read-only system often has none. Without temp_store=MEMORY
// SQLite then fails with "unable to open database file" or "disk I/O error".
var tempInMemory = sync.OnceValue(func() bool {
	if runtime.GOOS == "windows" {
		return false // SQLite asks the system
	}
	return !isAnyWritable(os.Getenv("SQLITE_TMPDIR"), os.Getenv("TMPDIR"), "/var/tmp", "/usr/tmp", "/tmp", ".") //nolint:forbidigo // the places where SQLite looks
})

// isAnyWritable reports whether a file can be created in one of the directories.
func isAnyWritable(dirs ...string) bool {
	for _, dir := range dirs {
		if dir == "" {
			continue
		}
		if f, err := os.CreateTemp(dir, "hookback-*"); err == nil {
			_ = f.Close()
			_ = os.Remove(f.Name()) //nolint:gosec // the file of CreateTemp
			return true
		}
	}
	return false
}
