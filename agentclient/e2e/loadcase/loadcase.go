// Package loadcase has settings files that agents load, and near misses that they do not. The tests of package install
// judge them by its rules, and the end-to-end tests by the agents' own programs.
package loadcase

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
)

// Case is one settings file of an agent.
type Case struct {
	Agent, Name string
	Loaded      bool
	template    string
}

//go:embed cases.txtar
var archive string

// All returns every case. A name in the archive is AGENT/loaded/NAME or AGENT/not loaded/NAME.
func All() (all []Case) {
	for _, section := range strings.Split(archive, "\n-- ")[1:] {
		name, template, _ := strings.Cut(section, " --\n")
		part := strings.SplitN(name, "/", 3)
		all = append(all, Case{part[0], part[2], part[1] == "loaded", strings.TrimSuffix(template, "\n")})
	}
	return all
}

// gates are the events that gate calls.
var gates = []string{"PreToolUse", "PermissionRequest", "PreSkillShellCommand", "BeforeTool"}

// Content returns the file of the case for an installed file, which is plain JSON. In the template, HOOKS stands for the
// members of the installed file, REST for those other than "hooks", and EVENTS for its events that gate no call; MARK
// for a byte order mark, and FILL 3 MiB for as many letters.
func (c *Case) Content(installed []byte) ([]byte, error) {
	var root map[string]json.RawMessage
	if err := json.Unmarshal(installed, &root); err != nil {
		return nil, err
	}
	events := map[string]json.RawMessage{}
	encoded, nested := root["hooks"]
	if !nested {
		encoded = installed
	}
	if err := json.Unmarshal(encoded, &events); err != nil {
		return nil, err
	}
	for _, gate := range gates {
		delete(events, gate)
	}
	all := members(root)
	delete(root, "hooks")
	text := strings.NewReplacer("HOOKS", all, "REST", members(root), "EVENTS", members(events), "MARK", "\ufeff",
		"FILL 3 MiB", strings.Repeat("a", 3<<20)).Replace(c.template)
	return []byte(text), nil
}

// members returns the members of an object as text, without its braces.
func members(object map[string]json.RawMessage) string {
	text, err := json.MarshalIndent(object, "", " ")
	if err != nil {
		panic(fmt.Sprintf("encode %v: %v", object, err)) // it was decoded from JSON
	}
	return string(text[1 : len(text)-1])
}
