// Package install writes Hookback into the settings of coding agents, and takes it
// out again.
//
// The settings are their owner's. An edit is textual and touches our own entries
// only: other people's fields, comments, order, indentation and line ends stay byte
// for byte, and a file that can't be read for certain is not written at all.
//
// An entry is ours when it calls a program named hookback, at an absolute path or
// on the PATH, with "hook" and the agent's name. What was written where is kept in a
// manifest, so that an entry that its user changed by hand is told from one that is
// merely old; without the manifest the rule above is enough to uninstall.
package install

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Scope says whose settings are written.
type Scope string

// The scopes. Not every agent has all of them.
const (
	User    Scope = "user"    // this user's, in every project
	Project Scope = "project" // the project's, shared with those who work on it
	Local   Scope = "local"   // this user's in this project
)

// Mode says what hooks may do.
type Mode string

// The modes.
const (
	Observe Mode = "observe" // send events, nothing else
	Gate    Mode = "gate"    // also ask people, and say no by the policy
)

// Machine is what an installation sees of the computer.
type Machine struct {
	Home  string // the user's home
	Dir   string // the project
	State string // where the manifest and backups are kept
	Env   func(name string) string
	// LookPath finds a program, and Version asks it which one it is; "" when it
	// doesn't say.
	LookPath func(name string) (string, error)
	Version  func(program string) string
	Now      func() time.Time
	Windows  bool
}

// Options say what is installed.
type Options struct {
	Agents []string // names as in hook.Agents; "auto" alone: those that are here
	Scope  Scope
	Mode   Mode
	Binary string // absolute path of hookback
	Hub    string // its address where it isn't the default, for the command lines
	Force  bool   // also replace or remove entries that were changed by hand
	Shell  bool   // a shell everywhere: the agent is too old for anything else
}

// ErrScope says that the agent has no settings of that scope.
var ErrScope = errors.New("there are no settings of that scope")

// Names lists the agents that can be installed for.
func Names() []string {
	names := make([]string, 0, len(agentConfigs))
	for i := range agentConfigs {
		names = append(names, agentConfigs[i].name)
	}
	return names
}

// Has reports whether the agent has settings of that scope.
func Has(agent string, s Scope) bool {
	w := findAgent(agent)
	return w != nil && w.files[s] != pathSpec{}
}

// Title is an agent's name as its maker writes it.
func Title(agent string) string {
	if w := findAgent(agent); w != nil {
		return w.title
	}
	return agent
}

func findAgent(agent string) *agentConfig {
	if i := slices.IndexFunc(agentConfigs, func(w agentConfig) bool { return w.name == agent }); i >= 0 {
		return &agentConfigs[i]
	}
	return nil
}

// DetectedAgent is an agent that is on this machine, and how that shows.
type DetectedAgent struct {
	Agent, Title string
	Dir          string // its directory, "": none yet
	Program      string // on the PATH, "": none
}

// Detect lists the agents that are here.
func Detect(m Machine) (all []DetectedAgent) {
	for i := range agentConfigs {
		if f, here := agentConfigs[i].detect(m); here {
			all = append(all, f)
		}
	}
	return all
}

func (w *agentConfig) detect(m Machine) (f DetectedAgent, here bool) {
	f = DetectedAgent{Agent: w.name, Title: w.title}
	for _, p := range w.dirs {
		if path := p.resolve(m); f.Dir == "" && exists(path) {
			f.Dir = path
		}
	}
	for _, name := range w.programs {
		if path, err := m.LookPath(name); f.Program == "" && err == nil {
			f.Program = path
		}
	}
	return f, f.Dir != "" || f.Program != ""
}

// resolve is the path on this machine.
func (p pathSpec) resolve(m Machine) string {
	base := m.Dir
	switch {
	case p.variable != "" && filepath.IsAbs(m.Env(p.variable)):
		base = m.Env(p.variable)
	case p.home != "":
		base = filepath.Join(m.Home, filepath.FromSlash(p.home))
	}
	return filepath.Join(base, filepath.FromSlash(p.path))
}

// settingsFiles are the files of a scope: one, but for agents that want a file for each
// event, and Kiro, that has one for each of its custom agents.
func (w *agentConfig) settingsFiles(m Machine, s Scope) ([]string, error) {
	p, ok := w.files[s]
	if !ok {
		return nil, fmt.Errorf("%s: %w %q", w.title, ErrScope, s)
	}
	path := p.resolve(m)
	if w.ownedFile != nil {
		files := make([]string, len(w.events))
		for i, e := range w.events {
			files[i] = filepath.Join(path, e.name)
		}
		return files, nil
	}
	if !strings.Contains(p.path, "*") {
		return []string{path}, nil
	}
	files, err := filepath.Glob(path)
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("its hooks stand in its custom agents (%s), and there is none: make one with /agent create in Kiro, then install again", path)
	}
	return files, err
}

func itoa(i int) string { return strconv.Itoa(i) }

// atoi is the number that s begins with.
func atoi(s string) int {
	end := strings.IndexFunc(s, func(r rune) bool { return r < '0' || r > '9' })
	if end < 0 {
		end = len(s)
	}
	n, _ := strconv.Atoi(s[:end])
	return n
}
