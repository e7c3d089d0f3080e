package install

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/hookback/hookback/schema/control"
)

// States returns the agents with an installation of the account, and what their settings do now. It starts no program.
// Settings of a project count only if they were installed from this account.
func States(m Machine) (all []control.Installation, err error) {
	m.Dir = m.Home
	known, err := m.readManifest()
	if err != nil {
		return nil, err
	}
	found, err := m.inspect(known)
	if err != nil {
		return nil, err
	}
	for i := range agentConfigs {
		a := &agentConfigs[i]
		files := slices.DeleteFunc(slices.Clone(found.Hooks), func(h InstalledHooks) bool { return h.Agent != a.name })
		for file, r := range known.Files {
			isFound := slices.ContainsFunc(files, func(h InstalledHooks) bool { return h.File == file || h.File == filepath.Dir(file) })
			if r.Agent == a.name && !isFound && len(r.Entries)+len(r.OwnedHash) > 0 {
				files = append(files, InstalledHooks{Agent: a.name, File: file, Scope: r.Scope, Err: errRemoved})
			}
		}
		// The administrator's and the account's settings gate every project, those of a project only some calls.
		for _, scope := range []Scope{Managed, User} {
			if slices.ContainsFunc(files, func(h InstalledHooks) bool { return h.Scope == scope }) {
				files = slices.DeleteFunc(files, func(h InstalledHooks) bool { return h.Scope != scope })
				break
			}
		}
		if len(files) > 0 {
			all = append(all, a.state(m, files, found.Disabled[a.name]))
		}
	}
	return all, nil
}

// errRemoved is the error of a file that had our entries.
var errRemoved = errors.New("the hooks that were installed are not there anymore")

func (a *agentConfig) state(m Machine, files []InstalledHooks, disabledBy []string) control.Installation {
	slices.SortFunc(files, func(x, y InstalledHooks) int { return strings.Compare(x.File, y.File) })
	s := control.Installation{Agent: a.name, Remedy: Hint(a.name)}
	if s.Remedy == "" || files[0].Scope == Managed {
		s.Remedy = "use " + a.title + " once"
	}
	if path, err := m.findProgram(a); err == nil {
		s.Version = installedVersion(path)
	}
	var entries strings.Builder
	for i := range files {
		h := &files[i]
		for _, e := range h.Entries {
			fmt.Fprintf(&entries, "%s %s %q %q %t %t\n", h.File, e.Event, e.Argv, e.Args, e.Enforced, e.Changed)
		}
		if s.State != "" {
			continue
		}
		if s.State, s.Detail = a.fileState(h); s.State != "" {
			s.Detail = strings.Replace(h.File, m.Home+string(filepath.Separator), "~/", 1) + ": " + s.Detail
			if s.Remedy = a.repair(h); h.NotLoaded != "" {
				s.Remedy = h.Fix
			}
		}
	}
	if len(disabledBy) > 0 {
		s.State, s.Detail, s.Remedy = control.CoverageOff, "its hooks are disabled: "+disabledBy[0], "remove that setting"
	}
	s.Settings = hash(entries.String())[:16]
	return s
}

// fileState returns the state that one file alone leads to, or "" if the agent runs the gate.
func (a *agentConfig) fileState(h *InstalledHooks) (state control.CoverageState, detail string) {
	switch _, err := os.Stat(h.File); {
	case h.NotLoaded != "":
		return control.CoverageNotLoaded, h.NotLoaded
	case errors.Is(h.Err, errRemoved), h.Err != nil && errors.Is(err, fs.ErrNotExist):
		return control.CoverageOff, h.Err.Error()
	case h.Err != nil:
		return control.CoverageNotLoaded, h.Err.Error()
	}
	observes, changed := true, ""
	for _, e := range h.Entries {
		if filepath.IsAbs(e.Binary) && !isExecutable(e.Binary) {
			return control.CoverageNotLoaded, "the program " + e.Binary + " does not exist or is not executable"
		}
		observes = observes && (e.Observes() || !a.gatesEvent(e.Event))
		if e.Changed {
			changed = "changed by hand: " + e.Event
		}
	}
	for _, event := range h.Missing {
		if a.gatesEvent(event) {
			return control.CoverageOff, "no hook for " + event
		}
		changed = "no hook for " + event
	}
	switch {
	case observes:
		return control.CoverageObserves, "its hooks only send events"
	case changed != "":
		return control.CoverageChanged, changed
	}
	return "", ""
}

func (a *agentConfig) gatesEvent(name string) bool {
	return slices.ContainsFunc(a.events, func(e event) bool { return e.key() == name && e.mode != observe })
}

// repair returns the command that installs the hooks of a file again.
func (a *agentConfig) repair(h *InstalledHooks) string {
	command := "hookback install --agent " + a.name
	switch h.Scope {
	case User:
	case Managed:
		command += " --managed /"
	default:
		command += " --scope " + string(h.Scope)
	}
	if slices.ContainsFunc(h.Entries, func(e HookEntry) bool { return e.Changed }) {
		command += " --force"
	}
	if slices.ContainsFunc(h.Entries, HookEntry.Wakes) {
		command += " --wake"
	}
	if slices.ContainsFunc(h.Entries, func(e HookEntry) bool { return e.Enforced && !e.Observes() }) {
		command += " --mode enforce"
	}
	return command
}

var versionInPath = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[/\\@_-]v?(\d+\.\d+\.\d+)(?:[/\\]|$|-)`) })

// installedVersion returns the version of a program without starting it: from the package that it is part of, or from
// its path. Otherwise it returns the time of the file, which changes with an update.
func installedVersion(program string) string {
	path, err := filepath.EvalSymlinks(program)
	if err != nil {
		return ""
	}
	dir := path
	for range 4 {
		dir = filepath.Dir(dir)
		var manifest struct{ Name, Version string }
		text, _, err := readSettings(filepath.Join(dir, "package.json"))
		if err == nil && json.Unmarshal(text, &manifest) == nil && manifest.Name != "" && manifest.Version != "" {
			return manifest.Version
		}
	}
	if found := versionInPath().FindAllStringSubmatch(path, -1); len(found) > 0 {
		return found[len(found)-1][1]
	}
	info, err := os.Stat(path)
	if err != nil {
		return ""
	}
	return "of " + info.ModTime().UTC().Format("2006-01-02 15:04:05")
}
