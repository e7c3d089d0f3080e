package install

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// statusMessage is the text that an agent shows while its hook waits for a person.
const statusMessage = "Waiting for an answer in Hookback"

// buildEntry returns the value in an event's list: a handler, wrapped in a group if the
// format nests them.
func (a *agentConfig) buildEntry(e event, o Options, windows bool) fields {
	f := a.format
	var h, group fields
	matcher := e.matcher
	if matcher == "" && strings.Contains(e.name, "Tool") {
		matcher = f.matchAll
	}
	if f.hasName {
		h = append(h, field{"name", programName})
	}
	if f.hasType {
		h = append(h, field{"type", "command"})
	}
	c := hookCommand{o.Binary, a.hookArguments(e, o)}
	guard := c.binary == programName || o.Shell || f.failsClosed && e.mode != observe && !windows
	if f.execMember != "" && !guard {
		h = append(h, field{f.execMember, c.binary}, field{"args", c.args})
	} else {
		h = append(h, field{f.shellMember, c.shellLine(windows)})
	}
	async := f.hasAsync && !e.sync && (e.mode == observe || o.Mode == Observe)
	if f.timeoutMember != "" {
		h = append(h, field{f.timeoutMember, e.timeout(o.Mode) * f.timeoutUnit})
	}
	if async {
		h = append(h, field{"async", true})
	}
	if f.hasStatusMessage && o.Mode == Gate && e.mode != observe && e.name != "PreToolUse" {
		h = append(h, field{"statusMessage", statusMessage})
	}
	if f.hidesOutput {
		h = append(h, field{"show_output", false})
	}
	if matcher != "" {
		group = append(group, field{"matcher", matcher})
	}
	if !f.nested || e.flat {
		return append(group, h...)
	}
	return append(group, field{"hooks", []any{h}})
}

// handler is one of our handlers in a settings file.
type handler struct {
	listPath    []string // path of the list that contains it
	index       int
	event       string
	command     hookCommand
	shellLine   string // the shell's command line, "" if no shell is used
	normalized  string // the normalized entry without foreign handlers in its group
	onlyInGroup bool   // its group has no other handler
}

// findHandlers returns Hookback's handlers for this agent in a file.
func (a *agentConfig) findHandlers(d *document, known []string) (found []handler) {
	events := d.lookup(a.eventsPath...)
	if events == nil || events.Value.Kind() != '{' {
		return nil
	}
	for _, e := range members(events) {
		if e.value.Value.Kind() != '[' {
			continue
		}
		path := append(slices.Clone(a.eventsPath), e.name)
		for i, entry := range members(e.value) {
			list := lookup(entry.value, "hooks")
			if !a.format.nested || list == nil || list.Value.Kind() != '[' {
				if c, line, ok := a.handlerCommand(entry.value); ok && c.isOurs(a.name, known) {
					found = append(found, handler{path, i, e.name, c, line, normalize(minify(entry.value)), true})
				}
				continue
			}
			found = append(found, a.findInGroup(entry.value, handler{listPath: path, index: i, event: e.name}, known)...)
		}
	}
	return found
}

// findInGroup returns our handlers in one group. If the group has no other handler, the
// result is the position of the group itself.
func (a *agentConfig) findInGroup(group *hujson.Value, position handler, known []string) (found []handler) {
	list := members(lookup(group, "hooks"))
	for j, h := range list {
		c, line, ok := a.handlerCommand(h.value)
		if !ok || !c.isOurs(a.name, known) {
			continue
		}
		result := position
		result.command, result.shellLine, result.onlyInGroup = c, line, len(list) == 1
		alone := group.Clone()
		lookup(&alone, "hooks").Value = &hujson.Array{Elements: []hujson.Value{h.value.Clone()}}
		result.normalized = normalize(minify(&alone))
		if !result.onlyInGroup {
			result.listPath, result.index = append(slices.Clone(position.listPath), itoa(position.index), "hooks"), j
		}
		found = append(found, result)
	}
	return found
}

// handlerCommand parses the command of a handler. line is the shell's command line, or ""
// if the handler uses no shell.
func (a *agentConfig) handlerCommand(h *hujson.Value) (c hookCommand, line string, ok bool) {
	var decoded struct {
		Command, Bash, Exec string
		Args                []string
	}
	if h.Value.Kind() != '{' || decode(h, &decoded) != nil {
		return c, "", false
	}
	binary := decoded.Exec
	if a.format.execMember == "command" {
		binary = decoded.Command
	}
	if a.format.execMember != "" && decoded.Args != nil && binary != "" {
		return hookCommand{binary, decoded.Args}, "", true
	}
	line = decoded.Command
	if a.format.shellMember == "bash" && decoded.Bash != "" {
		line = decoded.Bash
	}
	c, ok = parseCommand(line)
	return c, line, ok
}

// normalize returns minified JSON without null and empty string members, because an
// agent may add those when it rewrites its file.
func normalize(text string) string {
	var v any
	if json.Unmarshal([]byte(text), &v) != nil {
		return text
	}
	b, err := json.Marshal(dropEmpty(v))
	if err != nil {
		return text
	}
	return string(b)
}

func dropEmpty(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, value := range v {
			if value == nil || value == "" {
				delete(v, name)
				continue
			}
			v[name] = dropEmpty(value)
		}
	case []any:
		for i := range v {
			v[i] = dropEmpty(v[i])
		}
	}
	return v
}

// normalizeValue returns the normalized form of a value that we would write.
func normalizeValue(v any) string { return normalize(layout{}.render(v, "")) }

// isAtLeast reports whether version v is since or later. An unknown version counts as the
// latest.
func isAtLeast(v, since string) bool {
	if v == "" || since == "" {
		return true
	}
	return slices.Compare(versionNumbers(v), versionNumbers(since)) >= 0
}

func versionNumbers(v string) (all []int) {
	for part := range strings.SplitSeq(v, ".") {
		all = append(all, atoi(part))
	}
	return all
}
