// Package atomicfile replaces files in one step.
package atomicfile

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
)

// Replace writes text to a file, so that readers see the old or the new text also after a crash. The directory must
// exist. The checks get the temporary file and run immediately before the rename; an error leaves the old file.
func Replace(file string, text []byte, mode fs.FileMode, checks ...func(temporary *os.File) error) error {
	f, err := os.CreateTemp(filepath.Dir(file), ".hookback-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }() // fails once it is renamed
	_, err = f.Write(text)
	if err == nil {
		err = cmp.Or(f.Chmod(mode), f.Sync())
	}
	for _, check := range checks {
		if err == nil {
			err = check(f)
		}
	}
	if err = cmp.Or(err, f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), file); err != nil {
		return err
	}
	if dir, err := os.Open(filepath.Dir(file)); err == nil { // not every system can make the rename durable
		_ = dir.Sync()
		_ = dir.Close()
	}
	return nil
}
