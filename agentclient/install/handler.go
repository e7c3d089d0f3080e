package install

import (
	"encoding/json"
	"slices"
	"strings"
)

// statusMessage is what an agent shows while its hook waits for a person.
const statusMessage = "Waiting for an answer in Hookback"

// buildEntry is what stands in the list of an event: a handler, in its group where the
// agent nests them.
func (w *agentConfig) buildEntry(e event, o Options, windows bool) fields {
	f := w.format
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
	c := hookCommand{o.Binary, w.hookArguments(e, o)}
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

// handler is a handler in a settings file, as far as we read it.
type handler struct {
	listPath    []string // path of the list it is in
	index       int
	event       string
	command     hookCommand
	shellLine   string // as a shell runs it; "": no shell
	normalized  string // what the entry says, without others' handlers in its group
	onlyInGroup bool   // no other handler is in its group
}

// findHandlers finds the handlers in a file that are Hookback's for this agent.
func (w *agentConfig) findHandlers(d document, known []string) (found []handler) {
	events := d.root.lookup(w.eventsPath...)
	if events == nil || events.kind != kindObject {
		return nil
	}
	for _, e := range events.members {
		if e.value.kind != kindArray {
			continue
		}
		path := append(slices.Clone(w.eventsPath), e.key)
		for i, entry := range e.value.members {
			group := entry.value.lookup("hooks")
			if !w.format.nested || group == nil || group.kind != kindArray {
				if c, line, ok := w.handlerCommand(d, entry.value); ok && c.isOurs(w.name, known) {
					found = append(found, handler{path, i, e.key, c, line, normalize(d.content, entry.value), true})
				}
				continue
			}
			found = append(found, w.findInGroup(d, group, handler{listPath: path, index: i, event: e.key}, known)...)
		}
	}
	return found
}

// findInGroup finds ours in one group: the group itself where it holds nothing else.
func (w *agentConfig) findInGroup(d document, group *node, at handler, known []string) (found []handler) {
	for j, h := range group.members {
		c, line, ok := w.handlerCommand(d, h.value)
		if !ok || !c.isOurs(w.name, known) {
			continue
		}
		one := at
		one.command, one.shellLine, one.onlyInGroup = c, line, len(group.members) == 1
		whole := d.root.lookup(append(slices.Clone(at.listPath), itoa(at.index))...)
		one.normalized = normalizeGroup(d.content, whole, h.value)
		if !one.onlyInGroup {
			one.listPath, one.index = append(slices.Clone(at.listPath), itoa(at.index), "hooks"), j
		}
		found = append(found, one)
	}
	return found
}

// normalizeGroup is the meaning of a group if it held one handler alone.
func normalizeGroup(content string, group, only *node) string {
	list := group.members[group.index("hooks")].value
	all := list.members
	defer func() { list.members = all }()
	list.members = []member{{value: only, comma: -1}}
	return normalize(content, group)
}

// handlerCommand reads what a handler runs, and its line where that is a shell's.
func (w *agentConfig) handlerCommand(d document, h *node) (c hookCommand, line string, ok bool) {
	var read struct {
		Command, Bash, Exec string
		Args                []string
	}
	if h.kind != kindObject || decode(d.content, h, &read) != nil {
		return c, "", false
	}
	binary := read.Exec
	if w.format.execMember == "command" {
		binary = read.Command
	}
	if w.format.execMember != "" && read.Args != nil && binary != "" {
		return hookCommand{binary, read.Args}, "", true
	}
	line = read.Command
	if w.format.shellMember == "bash" && read.Bash != "" {
		line = read.Bash
	}
	c, ok = parseCommand(line)
	return c, line, ok
}

// normalize is plain without members that are empty: an agent may add them when it
// writes its file anew.
func normalize(content string, n *node) string {
	var v any
	if decode(content, n, &v) != nil {
		return minify(content, n)
	}
	b, err := json.Marshal(dropEmpty(v))
	if err != nil {
		return minify(content, n)
	}
	return string(b)
}

func dropEmpty(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, one := range v {
			if one == nil || one == "" {
				delete(v, name)
				continue
			}
			v[name] = dropEmpty(one)
		}
	case []any:
		for i := range v {
			v[i] = dropEmpty(v[i])
		}
	}
	return v
}

// normalizeValue is the meaning of what we would write.
func normalizeValue(v any) string {
	content := layout{}.render(v, "")
	p := &parser{text: content}
	n, err := p.parseValue(0)
	if err != nil {
		return ""
	}
	return normalize(content, n)
}

// isAtLeast reports whether version v of the agent has what came with since. A version
// that isn't known is a new one.
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
