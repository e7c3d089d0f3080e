package install

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Change is what will become of one file.
type Change struct {
	Agent, Title string
	File         string // as the agent knows it; may be a link
	Before       string
	After        string
	Exists       bool // before
	Delete       bool
	Notes        []string // what a person should know of it

	mode   os.FileMode
	record *record // what the manifest will say; nil: nothing
	aside  string  // where a file of somebody else's goes first, or comes back from
}

// HasChanges reports whether the file will be another than before.
func (c *Change) HasChanges() bool {
	return c.Delete || c.Before != c.After || c.Exists == (c.After == "")
}

// FileError is a file that is left alone, and why.
type FileError struct {
	Agent, File string
	Err         error
}

func (p FileError) Error() string {
	if p.File == "" {
		return p.Err.Error()
	}
	return p.File + ": " + p.Err.Error()
}

// Plan is all that an installation or its removal will do. Making it writes nothing.
type Plan struct {
	Changes  []Change
	Problems []FileError
	Notes    []string // what to do next

	machine Machine
}

// Install plans an installation.
func Install(m Machine, o Options) (*Plan, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	known, err := m.readManifest()
	if err != nil {
		return nil, err
	}
	p := &Plan{machine: m}
	for _, name := range o.Agents {
		w := find(name)
		if w == nil {
			return nil, fmt.Errorf("there is no agent %q; it is %s, or auto", name, strings.Join(Names(), ", "))
		}
		p.install(w, o, known)
	}
	return p, nil
}

func (o Options) check() error {
	switch {
	case !slices.Contains([]Scope{User, Project, Local}, o.Scope):
		return fmt.Errorf("there is no scope %q; it is user, project or local", o.Scope)
	case !slices.Contains([]Mode{Observe, Gate}, o.Mode):
		return fmt.Errorf("there is no mode %q; it is observe or gate", o.Mode)
	case strings.ContainsAny(o.Hub, "@?# \n\r'\"`"):
		return errors.New("a hub's address in settings must not hold a password or a query; keep it in HOOKBACK_URL")
	case o.Scope == User && !filepath.IsAbs(o.Binary):
		return fmt.Errorf("%q is no absolute path of the program", o.Binary)
	}
	return nil
}

func (p *Plan) install(w *wiring, o Options, known *manifest) {
	if o.Scope == Project {
		o.Binary = program
	}
	if w.form.slashes && strings.HasPrefix(o.Hub, "https:") {
		p.Problems = append(p.Problems, FileError{w.agent, "", fmt.Errorf("%s can't have an https address in its settings (it takes what follows two slashes for a comment); set HOOKBACK_URL instead", w.title)})
		return
	}
	version := ""
	if path, err := p.machine.look(w); err == nil && w.oldest != "" {
		version = p.machine.Version(path)
		o.Shell = o.Shell || !knows(version, w.oldest)
	}
	files, err := w.settings(p.machine, o.Scope)
	if err != nil {
		p.Problems = append(p.Problems, FileError{w.agent, "", err})
		return
	}
	change := w.change
	if w.whole != nil {
		change = w.changeWhole
	}
	wrote := false
	for _, file := range files {
		c, err := change(p.machine, file, known.of(file), target{o, version})
		if err != nil {
			p.Problems = append(p.Problems, FileError{w.agent, file, err})
			continue
		}
		wrote = wrote || c.HasChanges()
		p.Changes = append(p.Changes, c)
	}
	for _, n := range w.notes {
		if wrote && (n.scope == "" || n.scope == o.Scope) {
			p.Notes = append(p.Notes, n.text)
		}
	}
}

// look is the agent's own program.
func (m Machine) look(w *wiring) (path string, err error) {
	for _, name := range w.programs {
		if path, err = m.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", err
}

// target is what a file shall hold.
type target struct {
	Options
	version string // the agent's
}

// change plans one settings file.
func (w *wiring) change(m Machine, file string, r *record, t target) (Change, error) {
	c, err := w.open(file)
	if err != nil {
		return c, err
	}
	content := c.Before
	if r == nil || !c.Exists {
		r = &record{Agent: w.agent, Scope: t.Scope}
	}
	if !c.Exists {
		content, r.Created, c.mode = "{}\n", true, 0o600
		if t.Scope == Project {
			c.mode = 0o644
		}
	}
	e := editor{wiring: w, content: content, record: r, change: &c, windows: m.Windows}
	if err := e.fit(t); err != nil {
		return c, err
	}
	r.calls(t.Binary)
	c.After, c.record = e.content, r
	return c, nil
}

// open reads a settings file.
func (w *wiring) open(file string) (Change, error) {
	c := Change{Agent: w.agent, Title: w.title, File: file}
	b, info, err := readSettings(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return c, nil
	case err != nil:
		return c, err
	}
	c.Before, c.Exists, c.mode = string(b), true, info.Mode().Perm()
	return c, nil
}

// Remove plans an uninstallation: of every file the manifest knows and every
// user's settings; with a scope, of that scope's files alone, here.
func Remove(m Machine, o Options) (*Plan, error) {
	known, err := m.readManifest()
	if err != nil {
		return nil, err
	}
	p := &Plan{machine: m}
	for i := range wirings {
		w := &wirings[i]
		if len(o.Agents) > 0 && !slices.Contains(o.Agents, w.agent) {
			continue
		}
		for _, file := range w.mayHold(m, o.Scope, known) {
			removal := w.removal
			if w.whole != nil {
				removal = w.removalWhole
			}
			c, err := removal(file, known.of(file), o.Force)
			if err != nil {
				p.Problems = append(p.Problems, FileError{w.agent, file, err})
				continue
			}
			p.Changes = append(p.Changes, c)
		}
	}
	return p, nil
}

// mayHold are the files that may hold entries for the agent.
func (w *wiring) mayHold(m Machine, s Scope, known *manifest) (files []string) {
	for _, one := range []Scope{User, Project, Local} {
		if _, has := w.files[one]; has && (s == one || s == "" && one == User) {
			found, err := w.settings(m, one)
			if err == nil {
				files = append(files, found...)
			}
		}
	}
	for path, r := range known.Files {
		if r.Agent == w.agent && s == "" && !slices.Contains(files, path) {
			files = append(files, path)
		}
	}
	slices.Sort(files)
	return slices.Compact(files)
}

// removal plans to take our entries out of one file.
func (w *wiring) removal(file string, r *record, force bool) (Change, error) {
	c, err := w.open(file)
	if err != nil || !c.Exists {
		return c, err
	}
	e := editor{wiring: w, content: c.Before, record: r, change: &c}
	left, err := e.clear(force)
	if err != nil {
		return c, err
	}
	c.After, c.record = e.content, r
	if left == 0 {
		c.record = nil
	}
	if r != nil && r.Created && left == 0 {
		if root, err := parse(e.content); err == nil && hollow(e.content, root) {
			c.Delete, c.After = true, ""
			c.record = &record{Dirs: r.Dirs} // Apply removes them, and then this
		}
	}
	return c, nil
}
