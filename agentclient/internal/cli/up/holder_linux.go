package up

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// holder describes the process that listens on a port, such as "nginx (pid 312)". It returns "" if
// that is another account's.
func holder(port int) string {
	var sockets []string
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		b, err := os.ReadFile(table)
		if err != nil {
			continue
		}
		suffix := fmt.Sprintf(":%04X", port)
		for line := range strings.Lines(string(b)) {
			fields := strings.Fields(line)
			if len(fields) > 9 && strings.HasSuffix(fields[1], suffix) && fields[3] == "0A" { // listening
				sockets = append(sockets, "socket:["+fields[9]+"]")
			}
		}
	}
	if len(sockets) == 0 {
		return ""
	}
	all, _ := filepath.Glob("/proc/[0-9]*/fd/*")
	for _, fd := range all {
		target, err := os.Readlink(fd)
		if err != nil || !slices.Contains(sockets, target) {
			continue
		}
		dir := filepath.Dir(filepath.Dir(fd))
		name, err := os.ReadFile(filepath.Join(dir, "comm"))
		if err != nil {
			continue
		}
		return fmt.Sprintf("%s (pid %s)", clean(string(name)), filepath.Base(dir))
	}
	return ""
}
