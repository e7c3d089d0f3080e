package install

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hookback/hookback/agentclient/internal/atomicfile"
)

// maxSettings is the size limit for settings files.
const maxSettings = 16 << 20

// maxBackups is the number of backups to keep per file.
const maxBackups = 5

// ErrConcurrent means that the file changed between planning and writing.
var ErrConcurrent = errors.New("another program changed the file; nothing was written; try again")

// ErrBusy means that another installation is running.
var ErrBusy = errors.New("another hookback install is running")

// readSettings reads a regular file of at most maxSettings bytes.
func readSettings(file string) ([]byte, os.FileInfo, error) {
	info, err := os.Stat(file)
	if err != nil {
		if link, _ := os.Lstat(file); link != nil && errors.Is(err, fs.ErrNotExist) {
			return nil, nil, errors.New("the link has no target")
		}
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil, errors.New("not a regular file")
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = f.Close() }()
	b, err := io.ReadAll(io.LimitReader(f, maxSettings+1))
	if err == nil && len(b) > maxSettings {
		err = fmt.Errorf("the file is larger than %d MiB", maxSettings>>20)
	}
	return b, info, err
}

// Apply executes the plan, file by file, and returns the files that failed.
func (p *Plan) Apply() (failed []FileError) {
	unlock, err := p.machine.lock()
	if err != nil {
		return []FileError{{Err: err}}
	}
	defer unlock()
	var dirs []string
	for i := range p.Changes {
		c := &p.Changes[i]
		if err := p.machine.apply(c); err != nil {
			failed = append(failed, FileError{c.Agent, c.File, err})
		} else if c.Delete {
			dirs = append(dirs, c.record.Dirs...)
		}
	}
	slices.Sort(dirs) // the content of a directory sorts after it
	for _, dir := range slices.Backward(dirs) {
		_ = os.Remove(dir) // fails unless it is empty
	}
	return failed
}

func (m Machine) apply(c *Change) error {
	if !c.HasChanges() {
		return m.saveRecord(c.File, c.record)
	}
	target := c.File
	if c.Exists {
		var err error
		if target, err = filepath.EvalSymlinks(c.File); err != nil {
			return err
		}
		if err := c.checkUnchanged(target); err != nil {
			return err
		}
		if c.mode&0o200 == 0 {
			return errors.New("the file is read-only; make it writable, or edit it by hand (--dry-run --verbose shows the change)")
		}
		if err := m.backup(c); err != nil {
			return fmt.Errorf("back up the file: %w", err)
		}
	} else {
		created, err := makeDirs(filepath.Dir(target))
		if c.record != nil {
			c.record.Dirs = append(created, c.record.Dirs...)
		}
		if err != nil {
			return err
		}
	}
	if c.Delete {
		if err := m.removeOwned(c); err != nil {
			return err
		}
		return m.saveRecord(c.File, nil)
	}
	if c.chained != "" {
		if err := os.Rename(c.File, c.chained); err != nil {
			return err
		}
		c.Exists, c.Before, target = false, "", c.File
	}
	// Save the manifest first: an entry without a record might never be removed.
	if err := m.saveRecord(c.File, c.record); err != nil {
		return err
	}
	unchanged := func(*os.File) error { return c.checkUnchanged(target) }
	if err := atomicfile.Replace(target, []byte(c.After), c.mode, keepOwner(target), unchanged); err != nil {
		return err
	}
	return c.checkWritten()
}

// checkWritten returns an error if the agent would not load the file that was written.
func (c *Change) checkWritten() error {
	if !c.mustLoad {
		return nil
	}
	b, _, err := readSettings(c.File)
	if err != nil {
		return err
	}
	return findAgent(c.Agent).requireLoadable(b)
}

// removeOwned deletes a file that is entirely ours, or restores the previous hook.
func (m Machine) removeOwned(c *Change) error {
	if c.chained != "" {
		return os.Rename(c.chained, c.File)
	}
	return os.Remove(c.File)
}

// checkUnchanged returns ErrConcurrent if the file changed after planning.
func (c *Change) checkUnchanged(target string) error {
	b, err := os.ReadFile(target)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !c.Exists:
		return nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	case err != nil || !c.Exists || string(b) != c.Before:
		return ErrConcurrent
	}
	return nil
}

// makeDirs creates a directory with its parents and returns the new ones, the outermost
// first.
func makeDirs(dir string) (created []string, err error) {
	if exists(dir) {
		return nil, nil
	}
	if parent := filepath.Dir(dir); parent != dir {
		if created, err = makeDirs(parent); err != nil {
			return created, err
		}
	}
	if err := os.Mkdir(dir, 0o755); err != nil { //nolint:gosec // the agents' own mode; a project's directory is shared
		return created, err
	}
	return append(created, dir), nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// backup saves a copy of the file before the change. The copy is in the state directory,
// because some agents read every file in the directory of their settings.
func (m Machine) backup(c *Change) error {
	dir := filepath.Join(m.State, "backups")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	name := strings.Trim(strings.Map(func(r rune) rune {
		if strings.ContainsRune(`/\: `, r) {
			return '-'
		}
		return r
	}, c.File), "-")
	if len(name) > 150 {
		name = hash(name) + name[len(name)-100:]
	}
	file := filepath.Join(dir, name+"."+m.Now().UTC().Format("20060102T150405.000000000"))
	if err := atomicfile.Replace(file, []byte(c.Before), 0o600, keepOwner(file)); err != nil {
		return err
	}
	old, err := filepath.Glob(filepath.Join(dir, name+".2*"))
	if err != nil {
		return nil //nolint:nilerr // extra backups are harmless
	}
	slices.Sort(old)
	for len(old) > maxBackups {
		_ = os.Remove(old[0])
		old = old[1:]
	}
	return nil
}

// lock prevents concurrent installations. The lock of a crashed one expires after a
// minute.
func (m Machine) lock() (unlock func(), err error) {
	if err := os.MkdirAll(m.State, 0o700); err != nil {
		return nil, err
	}
	file := filepath.Join(m.State, "install.lock")
	for attempt := range 2 {
		f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err == nil {
			_ = f.Close()
			return func() { _ = os.Remove(file) }, nil
		}
		info, statErr := os.Stat(file)
		if attempt > 0 || statErr != nil || m.Now().Sub(info.ModTime()) < time.Minute {
			break
		}
		_ = os.Remove(file)
	}
	return nil, fmt.Errorf("%w; if that is not the case, delete %s", ErrBusy, file)
}
