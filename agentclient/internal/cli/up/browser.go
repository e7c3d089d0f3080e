package up

import (
	"errors"
	"fmt"
	"html"
	"os"
	"path/filepath"
	"strings"
)

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
