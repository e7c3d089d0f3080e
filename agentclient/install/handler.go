package install

import (
	"encoding/json"
	"slices"
	"strings"
)

// statusMessage is what an agent shows while its hook waits for a person.
const statusMessage = "Waiting for an answer in Hookback"

// entry is what stands in the list of an event: a handler, in its group where the
// agent nests them.
func (w *wiring) entry(e event, o Options, windows bool) fields {
	f := w.form
	var h, group fields
	matcher := e.matcher
	if matcher == "" && strings.Contains(e.name, "Tool") {
		matcher = f.all
	}
	if f.named {
		h = append(h, field{"name", program})
	}
	if f.typed {
		h = append(h, field{"type", "command"})
	}
	c := call{o.Binary, w.arguments(e, o)}
	guard := c.binary == program || o.Shell || f.closed && e.does != tells && !windows
	if f.exec != "" && !guard {
		h = append(h, field{f.exec, c.binary}, field{"args", c.args})
	} else {
		h = append(h, field{f.shell, c.shellLine(windows)})
	}
	async := f.async && !e.inOrder && (e.does == tells || o.Mode == Observe)
	if f.timeout != "" {
		h = append(h, field{f.timeout, e.limit(o.Mode) * f.unit})
	}
	if async {
		h = append(h, field{"async", true})
	}
	if f.status && o.Mode == Gate && e.does != tells && e.name != "PreToolUse" {
		h = append(h, field{"statusMessage", statusMessage})
	}
	if f.quiet {
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
	place []string // path of the list it is in
	index int
	event string
	call  call
	line  string // as a shell runs it; "": no shell
	plain string // what the entry says, without others' handlers in its group
	alone bool   // no other handler is in its group
}

// handlersOf finds the handlers in a file that are Hookback's for this agent.
func (w *wiring) handlersOf(d document, known []string) (found []handler) {
	events := d.root.at(w.root...)
	if events == nil || events.kind != object {
		return nil
	}
	for _, e := range events.members {
		if e.value.kind != array {
			continue
		}
		path := append(slices.Clone(w.root), e.key)
		for i, entry := range e.value.members {
			group := entry.value.at("hooks")
			if !w.form.nested || group == nil || group.kind != array {
				if c, line, ok := w.callOf(d, entry.value); ok && c.ours(w.agent, known) {
					found = append(found, handler{path, i, e.key, c, line, meaning(d.content, entry.value), true})
				}
				continue
			}
			found = append(found, w.grouped(d, group, handler{place: path, index: i, event: e.key}, known)...)
		}
	}
	return found
}

// grouped finds ours in one group: the group itself where it holds nothing else.
func (w *wiring) grouped(d document, group *node, at handler, known []string) (found []handler) {
	for j, h := range group.members {
		c, line, ok := w.callOf(d, h.value)
		if !ok || !c.ours(w.agent, known) {
			continue
		}
		one := at
		one.call, one.line, one.alone = c, line, len(group.members) == 1
		whole := d.root.at(append(slices.Clone(at.place), itoa(at.index))...)
		one.plain = meaningBut(d.content, whole, h.value)
		if !one.alone {
			one.place, one.index = append(slices.Clone(at.place), itoa(at.index), "hooks"), j
		}
		found = append(found, one)
	}
	return found
}

// meaningBut is the meaning of a group if it held one handler alone.
func meaningBut(content string, group, only *node) string {
	list := group.members[group.find("hooks")].value
	all := list.members
	defer func() { list.members = all }()
	list.members = []member{{value: only, comma: -1}}
	return meaning(content, group)
}

// callOf reads what a handler runs, and its line where that is a shell's.
func (w *wiring) callOf(d document, h *node) (c call, line string, ok bool) {
	var read struct {
		Command, Bash, Exec string
		Args                []string
	}
	if h.kind != object || decode(d.content, h, &read) != nil {
		return c, "", false
	}
	binary := read.Exec
	if w.form.exec == "command" {
		binary = read.Command
	}
	if w.form.exec != "" && read.Args != nil && binary != "" {
		return call{binary, read.Args}, "", true
	}
	line = read.Command
	if w.form.shell == "bash" && read.Bash != "" {
		line = read.Bash
	}
	c, ok = readCall(line)
	return c, line, ok
}

// meaning is plain without members that are empty: an agent may add them when it
// writes its file anew.
func meaning(content string, n *node) string {
	var v any
	if decode(content, n, &v) != nil {
		return plain(content, n)
	}
	b, err := json.Marshal(dropEmpty(v))
	if err != nil {
		return plain(content, n)
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

// meaningOf is the meaning of what we would write.
func meaningOf(v any) string {
	content := layout{}.render(v, "")
	p := &parser{text: content}
	n, err := p.value(0)
	if err != nil {
		return ""
	}
	return meaning(content, n)
}

// knows reports whether version v of the agent has what came with since. A version
// that isn't known is a new one.
func knows(v, since string) bool {
	if v == "" || since == "" {
		return true
	}
	return slices.Compare(numbers(v), numbers(since)) >= 0
}

func numbers(v string) (all []int) {
	for part := range strings.SplitSeq(v, ".") {
		all = append(all, atoi(part))
	}
	return all
}
