package install

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// InstalledHooks is one file with entries of ours.
type InstalledHooks struct {
	Agent, Title string
	File         string
	Scope        Scope
	Entries      []Entry
	Missing      []string // events that an installation of today would have
	Err          error    // it can't be read: then nothing else is known of it
}

// Entry is one of our hooks, as the agent would run it.
type Entry struct {
	Event   string
	Argv    []string // the process: the program itself, or a shell with the command line
	Binary  string   // hookback, as the entry names it
	Args    []string // of hookback
	Changed bool     // by hand, since it was installed
}

// Observes reports whether the entry only sends events.
func (e Entry) Observes() bool { return slices.Contains(e.Args, "--observe") }

// Inspect looks for entries of ours: in this user's settings, in those of the
// project that the machine's Dir is, and wherever the manifest says.
func Inspect(m Machine) ([]InstalledHooks, error) {
	known, err := m.readManifest()
	if err != nil {
		return nil, err
	}
	var all []InstalledHooks
	for i := range wirings {
		w := &wirings[i]
		seen := map[string]bool{}
		for _, scope := range []Scope{User, Project, Local} {
			if _, has := w.files[scope]; !has {
				continue
			}
			files, err := w.settings(m, scope)
			if err != nil {
				continue
			}
			for _, file := range files {
				if seen[file] { // the project is the home
					continue
				}
				seen[file] = true
				all = w.inspect(all, file, scope, known.of(file))
			}
		}
		for file, r := range known.Files {
			if r.Agent == w.agent && !seen[file] {
				all = w.inspect(all, file, r.Scope, known.of(file))
			}
		}
	}
	return merged(all), nil
}

func (w *wiring) inspect(all []InstalledHooks, file string, scope Scope, r *record) []InstalledHooks {
	at := InstalledHooks{Agent: w.agent, Title: w.title, File: file, Scope: scope}
	c, err := w.open(file)
	switch {
	case err != nil:
		at.Err = err
	case !c.Exists && (r == nil || len(r.Entries)+len(r.Whole) == 0):
		return all
	case !c.Exists:
		at.Err = fmt.Errorf("it was installed there, and the file is gone")
	case w.whole != nil && w.isWhole(c.Before):
		at.File = filepath.Dir(file)
		at.Entries = []Entry{wholeEntry(file, c.Before, r)}
	case w.whole == nil:
		at.Entries, at.Err = w.entries(c.Before, r)
	}
	if at.Err == nil && len(at.Entries) == 0 {
		return all
	}
	return append(all, at)
}

func (w *wiring) entries(content string, r *record) (all []Entry, err error) {
	root, err := parse(content)
	if err != nil {
		return nil, err
	}
	d := document{content, root}
	for _, h := range w.handlersOf(d, r.binaries()) {
		argv := append([]string{h.call.binary}, h.call.args...)
		if h.line != "" {
			argv = []string{"/bin/sh", "-c", h.line}
		}
		all = append(all, Entry{Event: h.event, Argv: argv, Binary: h.call.binary, Args: h.call.args, Changed: r.changed(h)})
	}
	return all, nil
}

// wholeEntry is what a file of ours calls. A file that was changed beyond
// recognition calls whichever hookback is on the PATH, for all we know.
func wholeEntry(file, content string, r *record) Entry {
	e := Entry{Event: filepath.Base(file), Argv: []string{file}, Binary: program, Changed: r != nil && r.Whole != hash(content)}
	var all []string
	if _, rest, script := strings.Cut(content, clineRuns); script {
		line, _, _ := strings.Cut(rest, ") || said=")
		all, _ = words(line)
	} else if _, rest, plugin := strings.Cut(content, pluginRuns); plugin {
		line, _, _ := strings.Cut(rest, "\n")
		if json.Unmarshal([]byte(line), &all) == nil {
			e.Argv = all // the agent loads the file, and that runs this
		}
	}
	if len(all) > 0 {
		e.Binary, e.Args = all[0], all[1:]
	}
	return e
}

// merged puts the files of a directory of hooks together, and says what is missing.
func merged(all []InstalledHooks) (some []InstalledHooks) {
	for _, one := range all {
		if last := len(some) - 1; last >= 0 && some[last].File == one.File && some[last].Agent == one.Agent && one.Err == nil {
			some[last].Entries = append(some[last].Entries, one.Entries...)
			continue
		}
		some = append(some, one)
	}
	for i := range some {
		if w := find(some[i].Agent); some[i].Err == nil {
			some[i].Missing = w.missing(some[i].Entries)
		}
	}
	return some
}

// missing are the events that every version of the agent knows and that have no
// entry.
func (w *wiring) missing(there []Entry) (names []string) {
	for _, on := range w.on {
		if on.since == "" && !slices.ContainsFunc(there, func(e Entry) bool { return e.Event == on.name }) {
			names = append(names, on.name)
		}
	}
	return names
}

// off is a setting that keeps an agent from running hooks.
type off struct {
	in    place
	path  []string
	value string // as JSON; a list counts when it holds it
	says  string
}

// switches are what is known to keep hooks from running, by agent.
var switches = map[string][]off{
	"claude-code": {
		{claudeDir("settings.json"), []string{"disableAllHooks"}, "true", "disableAllHooks is set"},
		{place{path: ".claude/settings.json"}, []string{"disableAllHooks"}, "true", "disableAllHooks is set"},
		{place{path: ".claude/settings.local.json"}, []string{"disableAllHooks"}, "true", "disableAllHooks is set"},
		{place{path: "/etc/claude-code/managed-settings.json"}, []string{"allowManagedHooksOnly"}, "true", "allowManagedHooksOnly: only the administrator's hooks run"},
		{place{path: "/etc/claude-code/managed-settings.json"}, []string{"disableAllHooks"}, "true", "the administrator turned hooks off"},
	},
	"gemini": {
		{place{home: ".gemini", path: "settings.json"}, []string{"hooksConfig", "enabled"}, "false", "hooksConfig.enabled is false"},
		{place{home: ".gemini", path: "settings.json"}, []string{"hooksConfig", "disabled"}, `"hookback"`, "hooksConfig.disabled names hookback"},
		{place{path: ".gemini/settings.json"}, []string{"hooksConfig", "enabled"}, "false", "hooksConfig.enabled is false"},
	},
	"qwen": {
		{place{home: ".qwen", path: "settings.json"}, []string{"disableAllHooks"}, "true", "disableAllHooks is set"},
		{place{path: ".qwen/settings.json"}, []string{"disableAllHooks"}, "true", "disableAllHooks is set"},
	},
	"copilot": {
		{place{variable: "COPILOT_HOME", home: ".copilot", path: "settings.json"}, []string{"disableAllHooks"}, "true", "disableAllHooks is set"},
		{place{variable: "COPILOT_HOME", home: ".copilot", path: "hooks/hookback.json"}, []string{"disableAllHooks"}, "true", "disableAllHooks is set"},
	},
	"droid": {
		{place{home: ".factory", path: "settings.json"}, []string{"hooksDisabled"}, "true", "hooksDisabled is set"},
	},
	"antigravity": {
		{place{home: ".gemini/config", path: "hooks.json"}, []string{"hookback", "enabled"}, "false", "hookback.enabled is false"},
		{place{path: ".agents/hooks.json"}, []string{"hookback", "enabled"}, "false", "hookback.enabled is false"},
	},
}

// DisabledBy says what keeps an agent from running its hooks, with the file it stands in.
func DisabledBy(m Machine, agent string) (reasons []string) {
	for _, s := range switches[agent] {
		path := s.in.in(m)
		if filepath.IsAbs(s.in.path) {
			path = s.in.path
		}
		b, _, err := readSettings(path)
		if err != nil {
			continue
		}
		root, err := parse(string(b))
		if err != nil {
			continue
		}
		if n := root.at(s.path...); n != nil && n.says(string(b), s.value) {
			reasons = append(reasons, s.says+" in "+path)
		}
	}
	return reasons
}

// says reports whether n is the value, or a list that holds it.
func (n *node) says(content, value string) bool {
	if n.kind != array {
		return plain(content, n) == value
	}
	return slices.ContainsFunc(n.members, func(m member) bool { return plain(content, m.value) == value })
}

// Version asks the agent's program which version it is, and names the oldest that
// knows all that is written for it. Both are empty where that is not known.
func Version(m Machine, agent string) (version, oldest string, enough bool) {
	w := find(agent)
	if w == nil || w.oldest == "" {
		return "", "", true
	}
	path, err := m.look(w)
	if err != nil {
		return "", w.oldest, true
	}
	version = m.Version(path)
	return version, w.oldest, knows(version, w.oldest)
}

// Hint says what a person must do before the agent runs new hooks, "" when nothing.
func Hint(agent string) string {
	return map[string]string{
		"claude-code": "start Claude Code in the folder and trust it; hooks don't run before",
		"codex":       "open /hooks in Codex and trust Hookback's; untrusted hooks are skipped without a word",
		"gemini":      "start Gemini CLI once; a project's hooks run in trusted folders only",
		"droid":       "start Droid anew and look at /hooks; it reads its hooks when it starts",
		"cline":       "turn on hooks in Cline's settings",
		"kiro":        "start Kiro with the agent that has the hooks (kiro-cli chat --agent NAME)",
	}[agent]
}
