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
	for i := range agentConfigs {
		w := &agentConfigs[i]
		seen := map[string]bool{}
		for _, scope := range []Scope{User, Project, Local} {
			if _, has := w.files[scope]; !has {
				continue
			}
			files, err := w.settingsFiles(m, scope)
			if err != nil {
				continue
			}
			for _, file := range files {
				if seen[file] { // the project is the home
					continue
				}
				seen[file] = true
				all = w.inspect(all, file, scope, known.recordOf(file))
			}
		}
		for file, r := range known.Files {
			if r.Agent == w.name && !seen[file] {
				all = w.inspect(all, file, r.Scope, known.recordOf(file))
			}
		}
	}
	return mergeByFile(all), nil
}

func (w *agentConfig) inspect(all []InstalledHooks, file string, scope Scope, r *record) []InstalledHooks {
	at := InstalledHooks{Agent: w.name, Title: w.title, File: file, Scope: scope}
	c, err := w.openFile(file)
	switch {
	case err != nil:
		at.Err = err
	case !c.Exists && (r == nil || len(r.Entries)+len(r.OwnedHash) == 0):
		return all
	case !c.Exists:
		at.Err = fmt.Errorf("it was installed there, and the file is gone")
	case w.ownedFile != nil && w.isOwned(c.Before):
		at.File = filepath.Dir(file)
		at.Entries = []Entry{ownedFileEntry(file, c.Before, r)}
	case w.ownedFile == nil:
		at.Entries, at.Err = w.parseEntries(c.Before, r)
	}
	if at.Err == nil && len(at.Entries) == 0 {
		return all
	}
	return append(all, at)
}

func (w *agentConfig) parseEntries(content string, r *record) (all []Entry, err error) {
	root, err := parse(content)
	if err != nil {
		return nil, err
	}
	d := document{content, root}
	for _, h := range w.findHandlers(d, r.binaries()) {
		argv := append([]string{h.command.binary}, h.command.args...)
		if h.shellLine != "" {
			argv = []string{"/bin/sh", "-c", h.shellLine}
		}
		all = append(all, Entry{Event: h.event, Argv: argv, Binary: h.command.binary, Args: h.command.args, Changed: r.isModified(h)})
	}
	return all, nil
}

// ownedFileEntry is what a file of ours calls. A file that was changed beyond
// recognition calls whichever hookback is on the PATH, for all we know.
func ownedFileEntry(file, content string, r *record) Entry {
	e := Entry{Event: filepath.Base(file), Argv: []string{file}, Binary: programName, Changed: r != nil && r.OwnedHash != hash(content)}
	var all []string
	if _, rest, script := strings.Cut(content, clineCommandPrefix); script {
		line, _, _ := strings.Cut(rest, ") || said=")
		all, _ = splitWords(line)
	} else if _, rest, plugin := strings.Cut(content, pluginCommandPrefix); plugin {
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

// mergeByFile puts the files of a directory of hooks together, and says what is missing.
func mergeByFile(all []InstalledHooks) (some []InstalledHooks) {
	for _, one := range all {
		if last := len(some) - 1; last >= 0 && some[last].File == one.File && some[last].Agent == one.Agent && one.Err == nil {
			some[last].Entries = append(some[last].Entries, one.Entries...)
			continue
		}
		some = append(some, one)
	}
	for i := range some {
		if w := findAgent(some[i].Agent); some[i].Err == nil {
			some[i].Missing = w.missingEvents(some[i].Entries)
		}
	}
	return some
}

// missingEvents are the events that every version of the agent knows and that have no
// entry.
func (w *agentConfig) missingEvents(there []Entry) (names []string) {
	for _, on := range w.events {
		if on.since == "" && !slices.ContainsFunc(there, func(e Entry) bool { return e.Event == on.name }) {
			names = append(names, on.name)
		}
	}
	return names
}

// disableSetting is a setting that keeps an agent from running hooks.
type disableSetting struct {
	file   pathSpec
	path   []string
	value  string // as JSON; a list counts when it holds it
	reason string
}

// disableSettings are what is known to keep hooks from running, by agent.
var disableSettings = map[string][]disableSetting{
	"claude-code": {
		{claudePath("settings.json"), []string{"disableAllHooks"}, "true", "disableAllHooks is set"},
		{pathSpec{path: ".claude/settings.json"}, []string{"disableAllHooks"}, "true", "disableAllHooks is set"},
		{pathSpec{path: ".claude/settings.local.json"}, []string{"disableAllHooks"}, "true", "disableAllHooks is set"},
		{pathSpec{path: "/etc/claude-code/managed-settings.json"}, []string{"allowManagedHooksOnly"}, "true", "allowManagedHooksOnly: only the administrator's hooks run"},
		{pathSpec{path: "/etc/claude-code/managed-settings.json"}, []string{"disableAllHooks"}, "true", "the administrator turned hooks off"},
	},
	"gemini": {
		{pathSpec{home: ".gemini", path: "settings.json"}, []string{"hooksConfig", "enabled"}, "false", "hooksConfig.enabled is false"},
		{pathSpec{home: ".gemini", path: "settings.json"}, []string{"hooksConfig", "disabled"}, `"hookback"`, "hooksConfig.disabled names hookback"},
		{pathSpec{path: ".gemini/settings.json"}, []string{"hooksConfig", "enabled"}, "false", "hooksConfig.enabled is false"},
	},
	"qwen": {
		{pathSpec{home: ".qwen", path: "settings.json"}, []string{"disableAllHooks"}, "true", "disableAllHooks is set"},
		{pathSpec{path: ".qwen/settings.json"}, []string{"disableAllHooks"}, "true", "disableAllHooks is set"},
	},
	"copilot": {
		{pathSpec{variable: "COPILOT_HOME", home: ".copilot", path: "settings.json"}, []string{"disableAllHooks"}, "true", "disableAllHooks is set"},
		{pathSpec{variable: "COPILOT_HOME", home: ".copilot", path: "hooks/hookback.json"}, []string{"disableAllHooks"}, "true", "disableAllHooks is set"},
	},
	"droid": {
		{pathSpec{home: ".factory", path: "settings.json"}, []string{"hooksDisabled"}, "true", "hooksDisabled is set"},
	},
	"antigravity": {
		{pathSpec{home: ".gemini/config", path: "hooks.json"}, []string{"hookback", "enabled"}, "false", "hookback.enabled is false"},
		{pathSpec{path: ".agents/hooks.json"}, []string{"hookback", "enabled"}, "false", "hookback.enabled is false"},
	},
}

// DisabledBy says what keeps an agent from running its hooks, with the file it stands in.
func DisabledBy(m Machine, agent string) (reasons []string) {
	for _, s := range disableSettings[agent] {
		path := s.file.resolve(m)
		if filepath.IsAbs(s.file.path) {
			path = s.file.path
		}
		b, _, err := readSettings(path)
		if err != nil {
			continue
		}
		root, err := parse(string(b))
		if err != nil {
			continue
		}
		if n := root.lookup(s.path...); n != nil && n.hasValue(string(b), s.value) {
			reasons = append(reasons, s.reason+" in "+path)
		}
	}
	return reasons
}

// hasValue reports whether n is the value, or a list that holds it.
func (n *node) hasValue(content, value string) bool {
	if n.kind != kindArray {
		return minify(content, n) == value
	}
	return slices.ContainsFunc(n.members, func(m member) bool { return minify(content, m.value) == value })
}

// Version asks the agent's program which version it is, and names the oldest that
// knows all that is written for it. Both are empty where that is not known.
func Version(m Machine, agent string) (version, oldest string, enough bool) {
	w := findAgent(agent)
	if w == nil || w.minVersion == "" {
		return "", "", true
	}
	path, err := m.findProgram(w)
	if err != nil {
		return "", w.minVersion, true
	}
	version = m.Version(path)
	return version, w.minVersion, isAtLeast(version, w.minVersion)
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
