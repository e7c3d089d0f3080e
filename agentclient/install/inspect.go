package install

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/tailscale/hujson"

	"github.com/hookback/hookback/agentclient/install/jsonc"
)

// InstalledHooks is one file with our entries.
type InstalledHooks struct {
	Agent, Title string
	File         string
	Scope        Scope
	Entries      []HookEntry
	Missing      []string // events that a current installation would have
	// NotLoaded is why the agent does not load the file, and Fix the edit that mends it; "" if it does. See Unloaded.
	NotLoaded, Fix string
	Err            error // the file can't be read, so the other results are missing
}

// HookEntry is one of our hooks as the agent would run it.
type HookEntry struct {
	Event  string   // with " (wake)" for the one that wakes idle sessions
	Argv   []string // the process: the program itself, or a shell with a command line
	Binary string   // hookback as written in the entry
	Args   []string // arguments of hookback
	// Enforced means that the agent blocks the call if the hook can't run.
	Enforced bool
	Changed  bool // modified by hand since the installation
	// CutShort is how the agent ends the hook before it has waited as long as it may for an answer, or "". The call then
	// goes on without one.
	CutShort string
}

// Observes reports whether the entry only sends events.
func (e HookEntry) Observes() bool { return slices.Contains(e.Args, "--observe") }

// Wakes reports whether the entry waits in the background and wakes idle sessions for messages.
func (e HookEntry) Wakes() bool { return hookCommand{e.Binary, e.Args}.wakes() }

// Inspect returns the files with our entries: the user's settings, the settings of the
// project in m.Dir, and all files in the manifest.
func Inspect(m Machine) ([]InstalledHooks, error) {
	known, err := m.readManifest()
	if err != nil {
		return nil, err
	}
	var all []InstalledHooks
	for i := range agentConfigs {
		a := &agentConfigs[i]
		seen := map[string]bool{}
		for _, scope := range []Scope{User, Project, Local} {
			if _, has := a.files[scope]; !has {
				continue
			}
			files, err := a.settingsFiles(m, scope)
			if err != nil {
				continue
			}
			for _, file := range files {
				if seen[file] { // the project is the home directory
					continue
				}
				seen[file] = true
				all = a.inspect(all, file, scope, known.recordOf(file))
			}
		}
		if file := a.managedFile(m); file != "" && !seen[file] {
			seen[file] = true
			all = a.managed().inspect(all, file, Managed, known.recordOf(file))
		}
		for file, r := range known.Files {
			if r.Agent == a.name && !seen[file] {
				all = a.inspect(all, file, r.Scope, known.recordOf(file))
			}
		}
	}
	return mergeByFile(all), nil
}

func (a *agentConfig) inspect(all []InstalledHooks, file string, scope Scope, r *record) []InstalledHooks {
	hooks := InstalledHooks{Agent: a.name, Title: a.title, File: file, Scope: scope}
	c, err := a.openFile(file)
	switch {
	case err != nil:
		hooks.Err = err
	case !c.Exists && (r == nil || len(r.Entries)+len(r.OwnedHash) == 0):
		return all
	case !c.Exists:
		hooks.Err = fmt.Errorf("hooks were installed in this file, but it no longer exists")
	case a.ownedFile != nil && a.isOwned(c.Before):
		hooks.File = filepath.Dir(file)
		hooks.Entries = []HookEntry{ownedFileEntry(file, c.Before, r)}
	case a.ownedFile == nil:
		hooks.Entries, hooks.Err = a.parseEntries(c.Before, r)
		hooks.NotLoaded, hooks.Fix = Unloaded(a.name, []byte(c.Before))
	}
	if hooks.Err == nil && len(hooks.Entries) == 0 && (hooks.NotLoaded == "" || r == nil) {
		return all
	}
	return append(all, hooks)
}

func (a *agentConfig) parseEntries(content string, r *record) (all []HookEntry, err error) {
	d, err := jsonc.Parse(content)
	if err != nil {
		return nil, err
	}
	for _, h := range a.findHandlers(d, r.binaries()) {
		argv := append([]string{h.command.binary}, h.command.args...)
		if h.shellLine != "" {
			argv = []string{"/bin/sh", "-c", h.shellLine}
		}
		all = append(all, HookEntry{
			Event: h.event, Argv: argv, Binary: h.command.binary, Args: h.command.args, Enforced: a.isEnforced(h),
			Changed: r.isModified(h), CutShort: a.cutShort(h),
		})
	}
	return all, nil
}

// cutShort compares the agent's timeout with the limit in the hook's arguments.
func (a *agentConfig) cutShort(h handler) string {
	i := slices.Index(h.command.args, "--limit") + 1
	if a.format.timeoutMember == "" || i == 0 || i >= len(h.command.args) {
		return ""
	}
	limit, err := time.ParseDuration(h.command.args[i])
	timeout, isNumber := strconv.ParseFloat(h.timeout, 64)
	switch seconds := timeout / float64(a.format.timeoutUnit); {
	case err != nil:
		return ""
	case isNumber != nil:
		return fmt.Sprintf("without a number as its %s, %s ends the hook after a time of its own, and it may wait %s for an answer",
			a.format.timeoutMember, a.title, limit)
	case a.name == "qwen" && timeout < 1000: // it takes these as seconds
		return cutShortAfter(a.title, timeout, limit)
	default:
		return cutShortAfter(a.title, seconds, limit)
	}
}

func cutShortAfter(title string, seconds float64, limit time.Duration) string {
	if after := time.Duration(seconds * float64(time.Second)); after < limit {
		return fmt.Sprintf("%s ends the hook after %s, and it may wait %s for an answer", title, after, limit)
	}
	return ""
}

// ownedFileEntry parses the command in a file that we own. If the command can't be parsed,
// the entry assumes the hookback on the PATH.
func ownedFileEntry(file, content string, r *record) HookEntry {
	e := HookEntry{Event: filepath.Base(file), Argv: []string{file}, Binary: programName, Changed: r != nil && r.OwnedHash != hash(content)}
	var all []string
	if _, rest, script := strings.Cut(content, clineCommandPrefix); script {
		line, _, _ := strings.Cut(rest, ") || said=")
		all, _ = splitWords(line)
	} else if _, rest, plugin := strings.Cut(content, pluginCommandPrefix); plugin {
		line, _, _ := strings.Cut(rest, "\n")
		if json.Unmarshal([]byte(line), &all) == nil {
			e.Argv = all // the agent loads the file, which runs this command
		}
	}
	if len(all) > 0 {
		e.Binary, e.Args = all[0], all[1:]
	}
	return e
}

// mergeByFile merges the files of one hook directory and sets the missing events.
func mergeByFile(all []InstalledHooks) (files []InstalledHooks) {
	for _, hooks := range all {
		if last := len(files) - 1; last >= 0 && files[last].File == hooks.File && files[last].Agent == hooks.Agent && hooks.Err == nil {
			files[last].Entries = append(files[last].Entries, hooks.Entries...)
			continue
		}
		files = append(files, hooks)
	}
	for i := range files {
		if a := findAgent(files[i].Agent); files[i].Err == nil {
			files[i].Missing = a.missingEvents(files[i].Entries)
		}
	}
	return files
}

// missingEvents returns the events without an entry that every version of the agent
// supports.
func (a *agentConfig) missingEvents(existing []HookEntry) (names []string) {
	for _, ev := range a.events {
		if ev.since == "" && !slices.ContainsFunc(existing, func(e HookEntry) bool { return e.Event == ev.key() }) {
			names = append(names, ev.name)
		}
	}
	return names
}

// disableSetting is a setting that prevents an agent from running hooks.
type disableSetting struct {
	file   pathSpec
	path   []string
	value  string // JSON; a list matches if it contains the value; "" for any that JavaScript takes for true, such as "no"
	reason string
	// pattern matches a file that is no JSON, instead of path and value.
	pattern func() *regexp.Regexp
	// endsManaged means that it also disables the administrator's hooks.
	endsManaged bool
}

// codexHooksOff matches the feature in its table, in an inline table, and by its dotted name; before it had the name
// codex_hooks.
var codexHooksOff = sync.OnceValue(func() *regexp.Regexp {
	const off = `"?(?:codex_)?hooks"?[ \t]*=[ \t]*false\b`
	return regexp.MustCompile(`(?m)^[ \t]*features[ \t]*\.[ \t]*` + off + `|^[ \t]*features[ \t]*=[ \t]*\{[^}\n]*` + off +
		`|^[ \t]*\[[ \t]*features[ \t]*\](?:[^\n]*\n(?:[ \t]*[^\[ \t\n][^\n]*\n|[ \t]*\n)*)[ \t]*` + off)
})

// disableSettings lists the settings that disable hooks, by agent.
var disableSettings = sync.OnceValue(func() map[string][]disableSetting {
	return map[string][]disableSetting{
		"claude-code": {
			{file: claudePath("settings.json"), path: []string{"disableAllHooks"}, value: "true", reason: "disableAllHooks is set"},
			{file: pathSpec{path: ".claude/settings.json"}, path: []string{"disableAllHooks"}, value: "true", reason: "disableAllHooks is set"},
			{file: pathSpec{path: ".claude/settings.local.json"}, path: []string{"disableAllHooks"}, value: "true", reason: "disableAllHooks is set"},
			{file: pathSpec{path: "/etc/claude-code/managed-settings.json"}, path: []string{"allowManagedHooksOnly"}, value: "true", reason: "allowManagedHooksOnly permits only the administrator's hooks"},
			{file: pathSpec{path: "/etc/claude-code/managed-settings.json"}, path: []string{"disableAllHooks"}, value: "true", reason: "the administrator set disableAllHooks", endsManaged: true},
		},
		"codex": {
			{file: codexPath("config.toml"), reason: "the feature hooks is false", pattern: codexHooksOff, endsManaged: true},
			{file: pathSpec{path: ".codex/config.toml"}, reason: "the feature hooks is false", pattern: codexHooksOff, endsManaged: true},
		},
		"gemini": {
			{file: pathSpec{home: ".gemini", path: "settings.json"}, path: []string{"hooksConfig", "enabled"}, value: "false", reason: "hooksConfig.enabled is false", endsManaged: true},
			{file: pathSpec{home: ".gemini", path: "settings.json"}, path: []string{"hooksConfig", "disabled"}, value: `"hookback"`, reason: "hooksConfig.disabled names hookback", endsManaged: true},
			{file: pathSpec{path: ".gemini/settings.json"}, path: []string{"hooksConfig", "enabled"}, value: "false", reason: "hooksConfig.enabled is false", endsManaged: true},
		},
		"qwen": {
			{file: pathSpec{home: ".qwen", path: "settings.json"}, path: []string{"disableAllHooks"}, value: "", reason: "disableAllHooks is set", endsManaged: true},
			{file: pathSpec{path: ".qwen/settings.json"}, path: []string{"disableAllHooks"}, value: "", reason: "disableAllHooks is set", endsManaged: true},
		},
		"copilot": {
			{file: pathSpec{variable: "COPILOT_HOME", home: ".copilot", path: "settings.json"}, path: []string{"disableAllHooks"}, value: "true", reason: "disableAllHooks is set"},
			{file: pathSpec{variable: "COPILOT_HOME", home: ".copilot", path: "hooks/hookback.json"}, path: []string{"disableAllHooks"}, value: "true", reason: "disableAllHooks is set"},
		},
		"droid": {
			{file: pathSpec{home: ".factory", path: "settings.json"}, path: []string{"hooksDisabled"}, value: "true", reason: "hooksDisabled is set", endsManaged: true},
		},
		"antigravity": {
			{file: pathSpec{home: ".gemini/config", path: "hooks.json"}, path: []string{"hookback", "enabled"}, value: "false", reason: "hookback.enabled is false", endsManaged: true},
			{file: pathSpec{path: ".agents/hooks.json"}, path: []string{"hookback", "enabled"}, value: "false", reason: "hookback.enabled is false", endsManaged: true},
		},
	}
})

// DisabledBy returns the settings that prevent the agent from running its hooks, each
// with its file.
func DisabledBy(m Machine, agent string) (reasons []string) {
	isManaged := GatesManaged(m, agent)
	for _, setting := range disableSettings()[agent] {
		path := setting.resolve(m)
		if isManaged && !setting.endsManaged {
			continue
		}
		b, _, err := readSettings(path)
		if err != nil {
			continue
		}
		if setting.pattern != nil {
			if setting.pattern().Match(b) {
				reasons = append(reasons, setting.reason+" in "+path)
			}
			continue
		}
		d, err := jsonc.Parse(string(b))
		if err != nil {
			continue
		}
		if v := d.Lookup(setting.path...); v != nil && hasValue(v, setting.value) {
			reasons = append(reasons, setting.reason+" in "+path)
		}
	}
	return reasons
}

func (s *disableSetting) resolve(m Machine) string {
	if filepath.IsAbs(s.file.path) {
		return filepath.Join(m.Root, s.file.path)
	}
	return s.file.resolve(m)
}

// hasValue reports whether v equals value or is a list that contains it. Gemini CLI takes "False" for false.
func hasValue(v *hujson.Value, value string) bool {
	if value == "" {
		return !slices.Contains([]string{"null", "false", "0", `""`}, jsonc.Minify(v))
	}
	return strings.EqualFold(strings.Trim(jsonc.Minify(v), `"`), strings.Trim(value, `"`)) ||
		v.Value.Kind() == '[' && slices.ContainsFunc(jsonc.Members(v), func(m jsonc.Member) bool { return jsonc.Minify(m.Value) == value })
}

// Version runs the agent's program to get its version, "" if that is unknown, and returns the oldest
// version that supports our format. enough reports whether version is sufficient; it is true if that
// can't be determined.
func Version(m Machine, agent string) (version, oldest string, enough bool) {
	a := findAgent(agent)
	if a == nil {
		return "", "", true
	}
	path, err := m.findProgram(a)
	if err != nil {
		return "", a.minVersion, true
	}
	version = m.Version(path)
	return version, a.minVersion, isAtLeast(version, a.minVersion)
}

// Hint returns the step that the user must take before the agent runs new hooks, or "".
func Hint(agent string) string {
	return map[string]string{
		"claude-code": "start Claude Code in the folder and trust it; before that, hooks don't run",
		"codex":       "open /hooks in Codex and trust Hookback's hooks; untrusted hooks are skipped silently",
		"gemini":      "start Gemini CLI once; project hooks only run in trusted folders",
		"droid":       "restart Droid and check /hooks; it reads its hooks at startup",
		"cline":       "enable hooks in Cline's settings",
		"kiro":        "start Kiro with the agent that has the hooks (kiro-cli chat --agent NAME)",
	}[agent]
}
