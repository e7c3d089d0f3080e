package service

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// ServerProgram is the name of the hub's program.
const ServerProgram = "hookback-server"

// ServerVariable names the environment variable with the path of the hub's program.
const ServerVariable = "HOOKBACK_SERVER"

// FindServer returns the path of the hub's program: from ServerVariable, from the directory of this
// program, or from PATH. The error lists the places that were tried.
func FindServer(env func(string) string) (string, error) {
	if path := env(ServerVariable); path != "" {
		if _, err := os.Stat(path); err != nil {
			return "", fmt.Errorf("%s: %w", ServerVariable, err)
		}
		return filepath.Abs(path)
	}
	name := ServerProgram
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	var tried []string
	if own, err := os.Executable(); err == nil {
		if resolved, err := filepath.EvalSymlinks(own); err == nil {
			own = resolved
		}
		path := filepath.Join(filepath.Dir(own), name)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path, nil
		}
		tried = append(tried, path)
	}
	if path, err := exec.LookPath(name); err == nil {
		return filepath.Abs(path)
	}
	tried = append(tried, "PATH")
	return "", fmt.Errorf("%s was not found (tried %s); install it with go install ./server/cmd/hookback-server in a clone of Hookback, or set %s",
		ServerProgram, strings.Join(tried, ", "), ServerVariable)
}
