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

	mode    os.FileMode
	record  *record // what the manifest will say; nil: nothing
	chained string  // where a file of somebody else's goes first, or comes back from
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
	if err := o.validate(); err != nil {
		return nil, err
	}
	known, err := m.readManifest()
	if err != nil {
		return nil, err
	}
	p := &Plan{machine: m}
	for _, name := range o.Agents {
		w := findAgent(name)
		if w == nil {
			return nil, fmt.Errorf("there is no agent %q; it is %s, or auto", name, strings.Join(Names(), ", "))
		}
		p.install(w, o, known)
	}
	return p, nil
}

func (o Options) validate() error {
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

func (p *Plan) install(w *agentConfig, o Options, known *manifest) {
	if o.Scope == Project {
		o.Binary = programName
	}
	if w.format.forbidsSlashes && strings.HasPrefix(o.Hub, "https:") {
		p.Problems = append(p.Problems, FileError{w.name, "", fmt.Errorf("%s can't have an https address in its settings (it takes what follows two slashes for a comment); set HOOKBACK_URL instead", w.title)})
		return
	}
	version := ""
	if path, err := p.machine.findProgram(w); err == nil && w.minVersion != "" {
		version = p.machine.Version(path)
		o.Shell = o.Shell || !isAtLeast(version, w.minVersion)
	}
	files, err := w.settingsFiles(p.machine, o.Scope)
	if err != nil {
		p.Problems = append(p.Problems, FileError{w.name, "", err})
		return
	}
	change := w.planChange
	if w.ownedFile != nil {
		change = w.planOwnedFile
	}
	wrote := false
	for _, file := range files {
		c, err := change(p.machine, file, known.recordOf(file), installTarget{o, version})
		if err != nil {
			p.Problems = append(p.Problems, FileError{w.name, file, err})
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

// findProgram is the agent's own program.
func (m Machine) findProgram(w *agentConfig) (path string, err error) {
	for _, name := range w.programs {
		if path, err = m.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", err
}

// installTarget is what a file shall hold.
type installTarget struct {
	Options
	version string // the agent's
}

// planChange plans one settings file.
func (w *agentConfig) planChange(m Machine, file string, r *record, t installTarget) (Change, error) {
	c, err := w.openFile(file)
	if err != nil {
		return c, err
	}
	content := c.Before
	if r == nil || !c.Exists {
		r = &record{Agent: w.name, Scope: t.Scope}
	}
	if !c.Exists {
		content, r.Created, c.mode = "{}\n", true, 0o600
		if t.Scope == Project {
			c.mode = 0o644
		}
	}
	e := editor{agent: w, content: content, record: r, change: &c, windows: m.Windows}
	if err := e.applyEntries(t); err != nil {
		return c, err
	}
	r.addBinary(t.Binary)
	c.After, c.record = e.content, r
	return c, nil
}

// openFile reads a settings file.
func (w *agentConfig) openFile(file string) (Change, error) {
	c := Change{Agent: w.name, Title: w.title, File: file}
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
	for i := range agentConfigs {
		w := &agentConfigs[i]
		if len(o.Agents) > 0 && !slices.Contains(o.Agents, w.name) {
			continue
		}
		for _, file := range w.candidateFiles(m, o.Scope, known) {
			removal := w.planRemoval
			if w.ownedFile != nil {
				removal = w.planOwnedRemoval
			}
			c, err := removal(file, known.recordOf(file), o.Force)
			if err != nil {
				p.Problems = append(p.Problems, FileError{w.name, file, err})
				continue
			}
			p.Changes = append(p.Changes, c)
		}
	}
	return p, nil
}

// candidateFiles are the files that may hold entries for the agent.
func (w *agentConfig) candidateFiles(m Machine, s Scope, known *manifest) (files []string) {
	for _, one := range []Scope{User, Project, Local} {
		if _, has := w.files[one]; has && (s == one || s == "" && one == User) {
			found, err := w.settingsFiles(m, one)
			if err == nil {
				files = append(files, found...)
			}
		}
	}
	for path, r := range known.Files {
		if r.Agent == w.name && s == "" && !slices.Contains(files, path) {
			files = append(files, path)
		}
	}
	slices.Sort(files)
	return slices.Compact(files)
}

// planRemoval plans to take our entries out of one file.
func (w *agentConfig) planRemoval(file string, r *record, force bool) (Change, error) {
	c, err := w.openFile(file)
	if err != nil || !c.Exists {
		return c, err
	}
	e := editor{agent: w, content: c.Before, record: r, change: &c}
	left, err := e.removeEntries(force)
	if err != nil {
		return c, err
	}
	c.After, c.record = e.content, r
	if left == 0 {
		c.record = nil
	}
	if r != nil && r.Created && left == 0 {
		if root, err := parse(e.content); err == nil && isEmpty(e.content, root) {
			c.Delete, c.After = true, ""
			c.record = &record{Dirs: r.Dirs} // Apply removes them, and then this
		}
	}
	return c, nil
}
