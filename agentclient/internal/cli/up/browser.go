package up

import (
	"errors"
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

var errNoBrowser = errors.New("No browser was found") //nolint:staticcheck // the start of a sentence for people

// openBrowser opens an address in the program of BROWSER, or in the system's browser.
func openBrowser(env func(string) string, address string) error {
	argv := []string{"xdg-open"}
	switch program, _, _ := strings.Cut(env("BROWSER"), string(filepath.ListSeparator)); {
	case strings.TrimSpace(program) != "":
		argv = strings.Fields(program)
	case runtime.GOOS == "darwin":
		argv = []string{"open"}
	case isWindows:
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

// writeRedirect writes a page that leads to link into dir, readable by this account only. It keeps
// the code of a sign-in link out of the list of processes.
func writeRedirect(dir, link string) (string, error) {
	f, err := os.CreateTemp(dir, "sign-in-*.html") // mode 0600
	if err != nil {
		return "", err
	}
	link = html.EscapeString(link)
	_, err = fmt.Fprintf(f, `<!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer"><meta http-equiv="refresh" content="0;url=%s"><title>Hookback</title><a href="%s">Open Hookback</a>`+"\n", link, link)
	return f.Name(), errors.Join(err, f.Close())
}

// fileURL returns the address of a file for a browser.
func fileURL(file string) string {
	file = filepath.ToSlash(file)
	if !strings.HasPrefix(file, "/") {
		file = "/" + file // C:/…
	}
	return "file://" + strings.NewReplacer("%", "%25", " ", "%20", "#", "%23", "?", "%3F").Replace(file)
}
