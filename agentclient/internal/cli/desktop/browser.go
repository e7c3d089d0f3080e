package desktop

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

var errNoBrowser = errors.New("No browser was found") //nolint:staticcheck // the start of a sentence for people

// OpenBrowser opens an address in the program of BROWSER, or in the system's browser.
func OpenBrowser(env func(string) string, address string) error {
	argv := []string{"xdg-open"}
	switch program, _, _ := strings.Cut(env("BROWSER"), string(filepath.ListSeparator)); {
	case strings.TrimSpace(program) != "":
		argv = strings.Fields(program)
	case runtime.GOOS == "darwin":
		argv = []string{"open"}
	case runtime.GOOS == "windows":
		argv = []string{"rundll32", "url.dll,FileProtocolHandler"}
	case env("DISPLAY") == "" && env("WAYLAND_DISPLAY") == "":
		return errNoBrowser
	}
	path, err := exec.LookPath(argv[0])
	if err != nil {
		return errNoBrowser
	}
	cmd := exec.Command(path, append(argv[1:], address)...) //nolint:gosec,noctx // the person's own browser, which goes on
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("The browser did not start (%w)", err) //nolint:staticcheck // the start of a sentence for people
	}
	go func() { _ = cmd.Wait() }()
	return nil
}
