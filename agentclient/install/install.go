// Package install adds Hookback's hooks to the settings of coding agents, and removes
// them again.
//
// The settings belong to the user. An edit changes only our own entries:
// all other members, comments, order, indentation and line endings stay byte for byte.
// A file that can't be parsed reliably is not written.
//
// An entry is ours if it runs a program named hookback, with an absolute path or from
// the PATH, with the arguments "hook" or "wait" and the agent's name. A manifest records the entries
// of each file. It distinguishes an entry that was modified by hand from an
// outdated one; the rule above is sufficient to uninstall without it.
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

// Scope selects the settings files to write.
type Scope string

// The scopes. Not every agent supports all of them.
const (
	User    Scope = "user"    // the user's settings for every project
	Project Scope = "project" // the project's shared settings
	Local   Scope = "local"   // the user's settings for this project
	Managed Scope = "managed" // the administrator's settings for every account of the machine
)

// Mode is the extent of the hooks' influence.
type Mode string

// The modes.
const (
	Observe Mode = "observe" // only send events
	Gate    Mode = "gate"    // also ask people, and apply the policy
	Enforce Mode = "enforce" // also block tool calls while the hook can't run
)

// Machine provides the installation's access to the computer.
type Machine struct {
	Home  string // the user's home directory
	Dir   string // the project directory
	State string // directory of the manifest and backups
	Root  string // the directory of the managed settings, "" for / or a drive
	Env   func(name string) string
	// LookPath finds a program. Version runs it to get its version, and returns "" if
	// that is unknown.
	LookPath func(name string) (string, error)
	Version  func(program string) string
	Now      func() time.Time
	Windows  bool
	// Cache lets States keep what it read in a file in State. An agent can write that file, so the result only serves
	// reports.
	Cache bool
}

// Options configure an installation.
type Options struct {
	Agents []string // names as in hook.Agents
	Scope  Scope
	Mode   Mode
	Binary string // absolute path of hookback; ignored in scope Project
	Hub    string // the hub's address for the command lines; "": HOOKBACK_URL or the default
	// KnownHubs replaces the account's file of trusted hubs in the command lines.
	KnownHubs string
	Force     bool // also replace or remove entries that were modified by hand
	Wake      bool // also wake idle sessions for messages, where the agent can
	Shell     bool // always use a shell, because the agent's version requires it

	forPlugin bool // the plugin has the entries
}

// ErrScope means that the agent has no settings for that scope.
var ErrScope = errors.New("no settings for scope")

// AgentNames returns the names of the supported agents.
func AgentNames() []string {
	names := make([]string, 0, len(agentConfigs))
	for i := range agentConfigs {
		names = append(names, agentConfigs[i].name)
	}
	return names
}

// SupportsScope reports whether the agent has settings for that scope.
func SupportsScope(agent string, s Scope) bool {
	a := findAgent(agent)
	return a != nil && (a.files[s] != pathSpec{} || s == Managed && a.managedFile(Machine{}) != "")
}

// SupportsWake reports whether messages can wake an idle session of the agent.
func SupportsWake(agent string) bool {
	a := findAgent(agent)
	return a != nil && slices.ContainsFunc(a.events, func(e event) bool { return e.wake })
}

// AgentTitle returns the vendor's spelling of the agent's name, or agent if it is unknown.
func AgentTitle(agent string) string {
	if a := findAgent(agent); a != nil {
		return a.title
	}
	return agent
}

func findAgent(agent string) *agentConfig {
	if i := slices.IndexFunc(agentConfigs, func(a agentConfig) bool { return a.name == agent }); i >= 0 {
		return &agentConfigs[i]
	}
	return nil
}

// DetectedAgent is an agent on this machine.
type DetectedAgent struct {
	Agent, Title string
	Dir          string // its settings directory, or ""
	Program      string // its program on the PATH, or ""
}

// Detect returns the agents on this machine.
func Detect(m Machine) (all []DetectedAgent) {
	for i := range agentConfigs {
		if f, found := agentConfigs[i].detect(m); found {
			all = append(all, f)
		}
	}
	return all
}

func (a *agentConfig) detect(m Machine) (f DetectedAgent, found bool) {
	f = DetectedAgent{Agent: a.name, Title: a.title}
	for _, p := range a.dirs {
		if path := p.resolve(m); f.Dir == "" && exists(path) {
			f.Dir = path
		}
	}
	for _, name := range a.programs {
		if path, err := m.LookPath(name); f.Program == "" && err == nil {
			f.Program = path
		}
	}
	return f, f.Dir != "" || f.Program != ""
}

// resolve returns the path on this machine.
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

// settingsFiles returns the files of a scope: one for most agents, one per event for
// agents that require it, and for Kiro one per custom agent.
func (a *agentConfig) settingsFiles(m Machine, s Scope) ([]string, error) {
	if file := a.managedFile(m); s == Managed && file != "" {
		return []string{file}, nil
	}
	p, ok := a.files[s]
	if !ok {
		return nil, fmt.Errorf("%s: %w %q", a.title, ErrScope, s)
	}
	path := p.resolve(m)
	if a.ownedFile != nil {
		files := make([]string, len(a.events))
		for i, e := range a.events {
			files[i] = filepath.Join(path, e.name)
		}
		return files, nil
	}
	if !strings.Contains(p.path, "*") {
		return []string{path}, nil
	}
	files, err := filepath.Glob(path)
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("the hooks of Kiro belong to its custom agents (%s), and none exists; create one with /agent create in Kiro, then install again", path)
	}
	return files, err
}

func itoa(i int) string { return strconv.Itoa(i) }

// atoi returns the number at the start of s, or 0.
func atoi(s string) int {
	end := strings.IndexFunc(s, func(r rune) bool { return r < '0' || r > '9' })
	if end < 0 {
		end = len(s)
	}
	n, _ := strconv.Atoi(s[:end])
	return n
}
