package install

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"

	"github.com/hookback/hookback/agentclient/install/jsonc"
)

// pluginDir is the plugin's folder in the marketplace. Claude Code copies all of it.
const pluginDir = ".claude-plugin/hookback"

const pluginDescription = "People approve what Claude Code does, and see its work, in Hookback. Needs the hookback program on the PATH."

// PluginFiles returns the files of a marketplace with Hookback's plugin for Claude Code, by path
// below the root of the repository. The plugin has the entries of an installation in mode Gate and
// scope Project. It has no version member, so each commit is a version.
func PluginFiles() (map[string][]byte, error) {
	a := findAgent("claude-code")
	var events jsonc.Fields
	for _, e := range a.events {
		if e.wake {
			continue
		}
		entry := a.buildEntry(e, Options{Scope: Project, Mode: Gate, Binary: programName, forPlugin: true}, false)
		events = events.With(e.name, []any{entry})
	}
	author := jsonc.Fields{{Name: "name", Value: "Hookback"}}
	about := jsonc.Fields{{Name: "name", Value: programName}, {Name: "description", Value: pluginDescription}}
	files := map[string]jsonc.Fields{
		".claude-plugin/marketplace.json": about.With("owner", author).
			With("plugins", []any{slices.Clone(about).With("source", "./"+pluginDir)}),
		pluginDir + "/.claude-plugin/plugin.json": slices.Clone(about).With("author", author),
		pluginDir + "/hooks/hooks.json":           {{Name: "hooks", Value: events}},
	}
	encoded := map[string][]byte{}
	for path, content := range files {
		var b bytes.Buffer
		if err := json.Indent(&b, []byte(jsonc.OneLine(content)+"\n"), "", "  "); err != nil {
			return nil, err
		}
		encoded[path] = b.Bytes()
	}
	return encoded, nil
}

// RunsHook reports whether the agent's settings for the user or for the project in m.Dir contain
// our entry for an event, a command or an http hook, that the agent can run. An entry whose program
// is missing has no effect, and does not count.
func RunsHook(m Machine, agent, event string) bool {
	a := findAgent(agent)
	if a == nil || a.ownedFile != nil {
		return false
	}
	known, err := m.readManifest()
	if err != nil {
		known = &manifest{} // entries are recognized by their command
	}
	for _, scope := range []Scope{User, Project, Local} {
		files, err := a.settingsFiles(m, scope)
		if err != nil {
			continue
		}
		for _, file := range files {
			if a.fileRunsHook(file, event, known.recordOf(file)) {
				return true
			}
		}
	}
	return agent == "claude-code" && slices.ContainsFunc(HTTPHooks(m), func(h HTTPHook) bool {
		return h.Blocked == "" && slices.Contains(h.Events, event) && a.loads(h.File)
	})
}

func (a *agentConfig) fileRunsHook(file, event string, r *record) bool {
	c, err := a.openFile(file)
	if err != nil || !c.Exists || !a.loads(file) {
		return false
	}
	entries, err := a.parseEntries(c.Before, r)
	return err == nil && slices.ContainsFunc(entries, func(e HookEntry) bool {
		return e.Event == event && (e.Binary == programName || isExecutable(e.Binary))
	})
}

// loads reports whether the agent loads settings with the content of the file.
func (a *agentConfig) loads(file string) bool {
	b, _, err := readSettings(file)
	return err == nil && (!a.plainJSON || isPlainJSON(string(b)))
}

func isExecutable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && filepath.IsAbs(path) && info.Mode().IsRegular() && (info.Mode()&0o111 != 0 || filepath.Ext(path) == ".exe")
}
