package install

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/hookback/hookback/agentclient/install/jsonc"
)

// statusMessage is the text that an agent shows while its hook waits for a person.
const statusMessage = "Waiting for an answer in Hookback"

// buildEntry returns the value in an event's list: a handler, wrapped in a group if the
// format nests them.
func (a *agentConfig) buildEntry(e event, o Options, windows bool) jsonc.Fields {
	f := a.format
	var h, group jsonc.Fields
	matcher := e.matcher
	if matcher == "" && strings.Contains(e.name, "Tool") {
		matcher = f.matchAll
	}
	if f.hasName {
		h = h.With("name", programName)
	}
	if f.hasType {
		h = h.With("type", "command")
	}
	c := hookCommand{o.Binary, a.hookArguments(e, o)}
	enforced := o.Mode == Enforce && f.canEnforce(e)
	shell := c.binary == programName || o.Shell || f.failsClosed && e.mode != observe && !windows && !enforced
	switch {
	case f.execMember != "" && !shell:
		h = h.With(f.execMember, c.binary).With("args", c.args)
	case enforced:
		h = h.With(f.shellMember, c.line())
	default:
		h = h.With(f.shellMember, c.guardedLine(windows))
	}
	if enforced && f.enforceMember != "" {
		h = h.With(f.enforceMember, f.enforceValue)
	}
	async := f.hasAsync && !e.sync && (e.mode == observe || o.Mode == Observe)
	if f.timeoutMember != "" {
		h = h.With(f.timeoutMember, e.timeout(o.Mode)*f.timeoutUnit)
	}
	if async {
		h = h.With("async", true)
	}
	if e.wake {
		h = h.With("asyncRewake", true)
	}
	if f.hasStatusMessage && o.Mode != Observe && e.mode != observe && !strings.HasPrefix(e.name, "Pre") { // those hooks mostly do not wait
		h = h.With("statusMessage", statusMessage)
	}
	if f.hidesOutput {
		h = h.With("show_output", false)
	}
	if matcher != "" {
		group = group.With("matcher", matcher)
	}
	if !f.nested || e.flat {
		return append(group, h...)
	}
	return group.With("hooks", []any{h})
}

// canEnforce reports whether an entry for the event can block calls while the hook can't run.
func (f *handlerFormat) canEnforce(e event) bool {
	return e.mode != observe &&
		(f.failsClosed || f.enforceMember != "" && (f.enforceEvents == nil || slices.Contains(f.enforceEvents, e.name)))
}

// isEnforced reports whether a handler blocks calls while the hook can't run.
func (a *agentConfig) isEnforced(h handler) bool {
	i := slices.IndexFunc(a.events, func(e event) bool { return e.key() == h.event })
	if i < 0 || !a.format.canEnforce(a.events[i]) {
		return false
	}
	if a.format.enforceMember == "" {
		return !isGuarded(h.shellLine)
	}
	return h.enforceMember == normalizeValue(a.format.enforceValue)
}

// key distinguishes the two hooks of an event.
func (e event) key() string { return eventKey(e.name, e.wake) }

func eventKey(name string, wake bool) string {
	if wake {
		name += " (wake)"
	}
	return name
}

// handler is one of our handlers in a settings file.
type handler struct {
	listPath      []string // path of the list that contains it
	index         int
	event         string // event.key
	command       hookCommand
	shellLine     string // the shell's command line, "" if no shell is used
	enforceMember string // JSON of the format's enforceMember, or ""
	timeout       string // JSON of the format's timeoutMember, or ""
	matcher       string // of the calls that the agent runs it for; its JSON if it is no text
	normalized    string // the normalized entry without foreign handlers in its group
	onlyInGroup   bool   // its group has no other handler
}

// findHandlers returns Hookback's handlers for this agent in a file.
func (a *agentConfig) findHandlers(d *jsonc.Document, known []string) (found []handler) {
	events := d.Lookup(a.eventsPath...)
	if events == nil || events.Value.Kind() != '{' {
		return nil
	}
	for _, e := range jsonc.Members(events) {
		if e.Value.Value.Kind() != '[' {
			continue
		}
		path := append(slices.Clone(a.eventsPath), e.Name)
		for i, entry := range jsonc.Members(e.Value) {
			list := jsonc.Lookup(entry.Value, "hooks")
			if !a.format.nested || list == nil || list.Value.Kind() != '[' {
				if c, line, ok := a.handlerCommand(entry.Value); ok && c.isOurs(a.name, known) {
					found = append(found, handler{
						listPath: path, index: i, event: eventKey(e.Name, c.wakes()), command: c, shellLine: line,
						enforceMember: memberJSON(entry.Value, a.format.enforceMember), timeout: memberJSON(entry.Value, a.format.timeoutMember), matcher: matcherOf(entry.Value), normalized: normalize(jsonc.Minify(entry.Value)), onlyInGroup: true,
					})
				}
				continue
			}
			found = append(found, a.findInGroup(entry.Value, handler{listPath: path, index: i, event: e.Name}, known)...)
		}
	}
	return found
}

// findInGroup returns our handlers in one group. If the group has no other handler, the
// result is the position of the group itself.
func (a *agentConfig) findInGroup(group *hujson.Value, position handler, known []string) (found []handler) {
	list := jsonc.Members(jsonc.Lookup(group, "hooks"))
	for j, h := range list {
		c, line, ok := a.handlerCommand(h.Value)
		if !ok || !c.isOurs(a.name, known) {
			continue
		}
		result := position
		result.event, result.command, result.shellLine, result.onlyInGroup = eventKey(position.event, c.wakes()), c, line, len(list) == 1
		result.enforceMember, result.timeout = memberJSON(h.Value, a.format.enforceMember), memberJSON(h.Value, a.format.timeoutMember)
		result.matcher = matcherOf(group)
		alone := group.Clone()
		jsonc.Lookup(&alone, "hooks").Value = &hujson.Array{Elements: []hujson.Value{h.Value.Clone()}}
		result.normalized = normalize(jsonc.Minify(&alone))
		if !result.onlyInGroup {
			result.listPath, result.index = append(slices.Clone(position.listPath), itoa(position.index), "hooks"), j
		}
		found = append(found, result)
	}
	return found
}

// memberJSON returns the JSON of a handler's member, or "".
func memberJSON(h *hujson.Value, name string) string {
	if v := jsonc.Lookup(h, name); name != "" && v != nil {
		return jsonc.Minify(v)
	}
	return ""
}

// matcherOf returns the matcher of a group or a handler, as JSON unless it is a text.
func matcherOf(entry *hujson.Value) (matcher string) {
	if v := jsonc.Lookup(entry, "matcher"); v != nil && jsonc.Decode(v, &matcher) != nil {
		return jsonc.Minify(v)
	}
	return matcher
}

// handlerCommand parses the command of a handler. line is the shell's command line, or ""
// if the handler uses no shell.
func (a *agentConfig) handlerCommand(h *hujson.Value) (c hookCommand, line string, ok bool) {
	var decoded struct {
		Command, Bash, Exec string
		Args                []string
	}
	if h.Value.Kind() != '{' || jsonc.Decode(h, &decoded) != nil {
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
func normalizeValue(v any) string { return normalize(jsonc.OneLine(v)) }

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
