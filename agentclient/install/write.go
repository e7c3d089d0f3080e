package install

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// maxSettings is the largest settings file that is read.
const maxSettings = 16 << 20

// maxBackups is how many backups of a file are kept.
const maxBackups = 5

// ErrConcurrent says that the file changed between planning and writing.
var ErrConcurrent = errors.New("it was changed meanwhile by something else; nothing was written, try again")

// ErrBusy says that another installation runs.
var ErrBusy = errors.New("another hookback install is running")

// readSettings reads a file of a reasonable size.
func readSettings(file string) ([]byte, os.FileInfo, error) {
	info, err := os.Stat(file)
	if err != nil {
		if link, _ := os.Lstat(file); link != nil && errors.Is(err, fs.ErrNotExist) {
			return nil, nil, errors.New("it is a link that leads nowhere")
		}
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil, errors.New("it is no regular file")
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = f.Close() }()
	b, err := io.ReadAll(io.LimitReader(f, maxSettings+1))
	if err == nil && len(b) > maxSettings {
		err = fmt.Errorf("it is larger than %d MiB", maxSettings>>20)
	}
	return b, info, err
}

// Apply does what the plan says, each file by itself, and returns what could not be
// done.
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
	slices.Sort(dirs) // what is inside a directory comes behind it
	for _, dir := range slices.Backward(dirs) {
		_ = os.Remove(dir) // only when it is empty
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
			return errors.New("it is read-only; make it writable, or change it by hand (--dry-run shows how)")
		}
		if err := m.backup(c); err != nil {
			return fmt.Errorf("there can be no backup: %w", err)
		}
	} else {
		made, err := makeDirs(filepath.Dir(target))
		if c.record != nil {
			c.record.Dirs = append(made, c.record.Dirs...)
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
	// The manifest first: what is ours and not known to be would be left for ever.
	if err := m.saveRecord(c.File, c.record); err != nil {
		return err
	}
	return replaceFile(target, []byte(c.After), c.mode, c.checkUnchanged)
}

// removeOwned deletes a file that is all ours, or puts the one back that was there.
func (m Machine) removeOwned(c *Change) error {
	if c.chained != "" {
		return os.Rename(c.chained, c.File)
	}
	return os.Remove(c.File)
}

// checkUnchanged is an error when the file is not as it was when the change was planned.
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

// replaceFile writes a file so that it is there whole, or as it was: beside it,
// then in its place. last is asked right before that.
func replaceFile(target string, content []byte, mode os.FileMode, last ...func(string) error) (err error) {
	f, err := os.CreateTemp(filepath.Dir(target), ".hookback-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	_, err = io.Copy(f, bytes.NewReader(content))
	if err == nil {
		err = f.Chmod(mode)
	}
	if err == nil {
		err = keepOwner(f, target)
	}
	if err == nil {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	for _, ask := range last {
		if err == nil {
			err = ask(target)
		}
	}
	if err == nil {
		err = os.Rename(f.Name(), target)
	}
	if err == nil {
		syncDir(filepath.Dir(target))
	}
	return err
}

// syncDir makes a rename last. Not every system can.
func syncDir(dir string) {
	d, err := os.Open(dir)
	if err != nil {
		return
	}
	_ = d.Sync()
	_ = d.Close()
}

// makeDirs makes a directory and those above it, and names the new ones, the
// outermost first.
func makeDirs(dir string) (made []string, err error) {
	if exists(dir) {
		return nil, nil
	}
	if parent := filepath.Dir(dir); parent != dir {
		if made, err = makeDirs(parent); err != nil {
			return made, err
		}
	}
	if err := os.Mkdir(dir, 0o755); err != nil { //nolint:gosec // as the agents make them: a project's is shared
		return made, err
	}
	return append(made, dir), nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// backup keeps a file as it was. Not beside it: some agents read every file in the
// directory of their settings.
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
	if err := replaceFile(file, []byte(c.Before), 0o600); err != nil {
		return err
	}
	old, err := filepath.Glob(filepath.Join(dir, name+".2*"))
	if err != nil {
		return nil //nolint:nilerr // too many backups are no reason to stop
	}
	slices.Sort(old)
	for len(old) > maxBackups {
		_ = os.Remove(old[0])
		old = old[1:]
	}
	return nil
}

// lock keeps two installations apart. One that died leaves its lock for a minute.
func (m Machine) lock() (unlock func(), err error) {
	if err := os.MkdirAll(m.State, 0o700); err != nil {
		return nil, err
	}
	file := filepath.Join(m.State, "install.lock")
	for try := range 2 {
		f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err == nil {
			_ = f.Close()
			return func() { _ = os.Remove(file) }, nil
		}
		info, statErr := os.Stat(file)
		if try > 0 || statErr != nil || m.Now().Sub(info.ModTime()) < time.Minute {
			break
		}
		_ = os.Remove(file)
	}
	return nil, fmt.Errorf("%w (if not, delete %s)", ErrBusy, file)
}
