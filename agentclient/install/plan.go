package install

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hookback/hookback/agentclient/install/jsonc"
)

// Change is the planned change of one file.
type Change struct {
	Agent, Title string
	File         string // the agent's path, possibly a link
	Before       string
	After        string
	Exists       bool // the file exists before the change
	Delete       bool
	Notes        []string // messages for the user

	mode   os.FileMode
	record *record // the file's new record in the manifest, or nil
	// mustLoad means that the file is only worth writing if the agent loads it.
	mustLoad bool
	chained  string // path of a foreign hook that is moved aside or restored
}

// HasChanges reports whether applying c changes the file.
func (c *Change) HasChanges() bool {
	return c.Delete || c.Before != c.After || c.Exists == (c.After == "")
}

// Hooks returns the number of our hooks in the file after the change.
func (c *Change) Hooks() int {
	switch {
	case c.Delete || c.record == nil:
		return 0
	case c.record.OwnedHash != "":
		return 1
	}
	return len(c.record.Entries)
}

// FileError is the reason why a file was not changed.
type FileError struct {
	Agent, File string
	Err         error
}

func (e FileError) Error() string {
	if e.File == "" {
		return e.Err.Error()
	}
	return e.File + ": " + e.Err.Error()
}

// Plan is the set of changes of an installation or removal. Planning writes nothing.
type Plan struct {
	Changes  []Change
	Problems []FileError
	Notes    []string // next steps for the user

	machine Machine
}

// Install plans an installation. Problems of single agents or files are in the plan; an
// error means that the options or the manifest are invalid.
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
		a := findAgent(name)
		if a == nil {
			return nil, fmt.Errorf("unknown agent %q; use %s or auto", name, strings.Join(AgentNames(), ", "))
		}
		p.install(a, o, known)
	}
	return p, nil
}

func (o Options) validate() error {
	switch {
	case !slices.Contains([]Scope{User, Project, Local, Managed}, o.Scope):
		return fmt.Errorf("unknown scope %q; use user, project or local", o.Scope)
	case !slices.Contains([]Mode{Observe, Gate, Enforce}, o.Mode):
		return fmt.Errorf("unknown mode %q; use observe, gate or enforce", o.Mode)
	case strings.ContainsAny(o.Hub, "@?# \n\r'\"`"):
		return errors.New("a hub address in settings must not contain credentials or a query; set HOOKBACK_URL instead")
	case o.Wake && o.Mode == Observe:
		return errors.New("hooks in mode observe hand over no messages, so they can't wake a session")
	case o.Wake && !slices.ContainsFunc(o.Agents, SupportsWake):
		return errors.New("messages can wake sessions of Claude Code only")
	case (o.Scope == User || o.Scope == Managed) && !filepath.IsAbs(o.Binary):
		return fmt.Errorf("the program path %q is not absolute", o.Binary)
	}
	return nil
}

func (p *Plan) install(a *agentConfig, o Options, known *manifest) {
	if o.Scope == Project {
		o.Binary = programName
	}
	if o.Scope == Managed {
		a = a.managed()
	}
	if a.format.forbidsSlashes && strings.Contains(o.Hub, "//") && !strings.HasPrefix(o.Hub, "http:") {
		p.Problems = append(p.Problems, FileError{a.name, "", fmt.Errorf("%s does not support an https address or a unix address in its settings (it treats two slashes as the start of a comment); set HOOKBACK_URL instead", a.title)})
		return
	}
	version := ""
	if path, err := p.machine.findProgram(a); err == nil && a.minVersion != "" {
		version = p.machine.Version(path)
		o.Shell = o.Shell || !isAtLeast(version, a.minVersion)
	}
	if err := a.checkEnforce(version); o.Mode == Enforce && err != nil {
		p.Problems = append(p.Problems, FileError{a.name, "", err})
		return
	}
	files, err := a.settingsFiles(p.machine, o.Scope)
	if err != nil {
		p.Problems = append(p.Problems, FileError{a.name, "", err})
		return
	}
	change := a.planChange
	if a.ownedFile != nil {
		change = a.planOwnedFile
	}
	changed := false
	for _, file := range files {
		c, err := change(p.machine, file, known.recordOf(file), installTarget{o, version})
		if err != nil {
			p.Problems = append(p.Problems, FileError{a.name, file, err})
			continue
		}
		changed = changed || c.HasChanges()
		p.Changes = append(p.Changes, c)
	}
	for _, reason := range DisabledBy(p.machine, a.name) {
		p.Notes = append(p.Notes, a.title+" runs no hook: "+reason+"; remove that setting")
	}
	for _, n := range a.notes {
		if changed && (n.scope == "" && o.Scope != Managed || n.scope == o.Scope) {
			p.Notes = append(p.Notes, n.text)
		}
	}
}

// checkEnforce returns an error if this version of the agent can't block calls while its
// hook can't run.
func (a *agentConfig) checkEnforce(version string) error {
	if !slices.ContainsFunc(a.events, a.format.canEnforce) {
		var able []string
		for i := range agentConfigs {
			if b := &agentConfigs[i]; slices.ContainsFunc(b.events, b.format.canEnforce) {
				able = append(able, b.title)
			}
		}
		return fmt.Errorf("%s runs a call if its hook can't run, so it does not support --mode enforce; %s do", a.title, strings.Join(able, ", "))
	}
	if !isAtLeast(version, a.format.enforceVersion) {
		return fmt.Errorf("%s %s does not support --mode enforce; update it to %s", a.title, version, a.format.enforceVersion)
	}
	return nil
}

// findProgram returns the path of the agent's program.
func (m Machine) findProgram(a *agentConfig) (path string, err error) {
	for _, name := range a.programs {
		if path, err = m.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", err
}

// installTarget is the desired state of a file.
type installTarget struct {
	Options
	version string // the agent's version, or ""
}

// planChange plans the change of one settings file.
func (a *agentConfig) planChange(m Machine, file string, r *record, t installTarget) (Change, error) {
	c, err := a.openFile(file)
	if err != nil {
		return c, err
	}
	content := c.Before
	if r == nil || !c.Exists {
		r = &record{Agent: a.name, Scope: t.Scope}
		if r.CreatedPaths, err = a.ownContainers(content); err != nil {
			return c, err
		}
	}
	if !c.Exists {
		content, r.Created, c.mode = "{}\n", true, 0o600
		if t.Scope == Project || t.Scope == Managed {
			c.mode = 0o644
		}
	}
	e := editor{agent: a, content: content, record: r, change: &c, windows: m.Windows}
	if err := e.applyEntries(t); err != nil {
		return c, err
	}
	r.addBinary(t.Binary)
	c.After, c.record, c.mustLoad = e.content, r, true
	return c, a.requireLoadable([]byte(c.After))
}

// requireLoadable returns an error if the agent does not load a file with this content.
func (a *agentConfig) requireLoadable(content []byte) error {
	reason, fix := Unloaded(a.name, content)
	if reason == "" {
		return nil
	}
	return fmt.Errorf("not loaded: %s; %s, then install again", reason, fix)
}

// openFile reads a settings file. A missing file is no error.
func (a *agentConfig) openFile(file string) (Change, error) {
	c := Change{Agent: a.name, Title: a.title, File: file}
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

// Remove plans an uninstallation. Without a scope it covers every file in the manifest and
// the user's settings; with a scope, only the files of that scope for m.
func Remove(m Machine, o Options) (*Plan, error) {
	known, err := m.readManifest()
	if err != nil {
		return nil, err
	}
	p := &Plan{machine: m}
	for i := range agentConfigs {
		a := &agentConfigs[i]
		if len(o.Agents) > 0 && !slices.Contains(o.Agents, a.name) {
			continue
		}
		for _, file := range a.candidateFiles(m, o.Scope, known) {
			removal := a.planRemoval
			if a.ownedFile != nil {
				removal = a.planOwnedRemoval
			}
			c, err := removal(file, known.recordOf(file), o.Force)
			if err != nil {
				p.Problems = append(p.Problems, FileError{a.name, file, err})
				continue
			}
			p.Changes = append(p.Changes, c)
		}
	}
	return p, nil
}

// candidateFiles returns the files that may contain entries for the agent.
func (a *agentConfig) candidateFiles(m Machine, s Scope, known *manifest) (files []string) {
	for _, scope := range []Scope{User, Project, Local} {
		if _, has := a.files[scope]; has && (s == scope || s == "" && scope == User) {
			settings, err := a.settingsFiles(m, scope)
			if err == nil {
				files = append(files, settings...)
			}
		}
	}
	for path, r := range known.Files {
		if r.Agent == a.name && s == "" && !slices.Contains(files, path) {
			files = append(files, path)
		}
	}
	slices.Sort(files)
	return slices.Compact(files)
}

// planRemoval plans the removal of our entries from one file.
func (a *agentConfig) planRemoval(file string, r *record, force bool) (Change, error) {
	c, err := a.openFile(file)
	if err != nil || !c.Exists {
		return c, err
	}
	e := editor{agent: a, content: c.Before, record: r, change: &c}
	kept, err := e.removeEntries(force)
	if err != nil {
		return c, err
	}
	c.After, c.record = e.content, r
	if kept == 0 {
		c.record = nil
	}
	if r != nil && r.Created && kept == 0 {
		if d, err := jsonc.Parse(e.content); err == nil && jsonc.IsEmpty(d.Lookup()) {
			c.Delete, c.After = true, ""
			c.record = &record{Dirs: r.Dirs} // Apply removes the directories, then the record
		}
	}
	return c, nil
}
