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

// GatesCalls reports whether the settings in a home directory, or those of the administrator, have our entries for
// events of an agent, and the agent runs them for every call: hookback by its path, which does not only observe,
// without a matcher of somebody else. Without events, it is about all that gate calls. Settings of a project and
// variables of the environment never count: an agent can write them, and would end the gate of the plugin's owner.
func GatesCalls(home, agent string, events ...string) bool {
	a := findAgent(agent)
	if a == nil || a.ownedFile != nil || home == "" {
		return false
	}
	if len(events) == 0 {
		events = a.gateEvents()
	}
	m := Machine{Home: home, Env: func(string) string { return "" }}
	return a.fileGates(a.files[User].resolve(m), events) || a.managed().fileGates(a.managedFile(m), events)
}

func (a *agentConfig) fileGates(file string, events []string) bool {
	c, err := a.openFile(file)
	if err != nil || !c.Exists {
		return false
	}
	if reason, _ := Unloaded(a.name, []byte(c.Before)); reason != "" {
		return false
	}
	d, err := jsonc.Parse(c.Before)
	if err != nil {
		return false
	}
	found := a.findHandlers(d, nil)
	return !slices.ContainsFunc(events, func(event string) bool {
		return !slices.ContainsFunc(found, func(h handler) bool { return h.event == event && a.gates(h) })
	})
}

// gates reports whether the agent runs a handler of ours for every call that it is for.
func (a *agentConfig) gates(h handler) bool {
	matchers := []string{"", "*"}
	for _, e := range a.events {
		if e.key() == h.event {
			matchers = append(matchers, e.matcher)
		}
	}
	return isExecutable(h.command.binary) && !slices.Contains(h.command.args, "--observe") && slices.Contains(matchers, h.matcher)
}

func isExecutable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && filepath.IsAbs(path) && info.Mode().IsRegular() && (info.Mode()&0o111 != 0 || filepath.Ext(path) == ".exe")
}
