package install

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tailscale/hujson"

	"github.com/hookback/hookback/agentclient/install/jsonc"
)

// loader is what an agent's own program requires of a settings file. A file that breaks one of the rules is as good as
// none: the agent drops all of it, hooks included, or does not start.
type loader struct {
	// comments means that the file may have comments; commas, that it may have trailing commas; mark, that it may
	// start with a byte order mark.
	comments, commas, mark bool
	maxBytes               int    // the largest file that it reads, 0 if there is no limit below ours
	closed                 string // the only members that the root may have, "" for any
	members                string // rules for values, see parseRules
	// refuses means that the agent does not start with such a file.
	refuses bool
}

// byteOrderMark starts a file that some editors saved.
const byteOrderMark = "\ufeff"

// Unloaded returns why an agent does not load settings with this content, with the line of the cause and what the agent
// does then, and the edit that mends it. Both are "" if it loads them, and for files that hold no JSON.
func Unloaded(agent string, content []byte) (reason, fix string) {
	a := findAgent(agent)
	if a == nil || a.ownedFile != nil {
		return "", ""
	}
	l := loaders[agent]
	if reason, fix = l.check(string(content)); reason == "" {
		return "", ""
	}
	if version := ProvenVersion(agent); version != "" {
		reason += " (seen in " + version + ")"
	}
	if l.refuses {
		return reason + "; " + a.title + " does not start with the file", fix
	}
	return reason + "; " + a.title + " runs no hook of the file", fix
}

func (l *loader) check(content string) (reason, fix string) {
	if l.maxBytes > 0 && len(content) > l.maxBytes {
		return fmt.Sprintf("the file is larger than %d KiB", l.maxBytes>>10), "make the file smaller"
	}
	d, err := jsonc.Parse(content)
	if syntax := (*jsonc.SyntaxError)(nil); errors.As(err, &syntax) {
		return err.Error(), fmt.Sprintf("correct line %d", syntax.Line)
	} else if err != nil {
		return err.Error(), "correct the file"
	}
	if reason, fix = l.checkSyntax(d, content); reason != "" {
		return reason, fix
	}
	return l.checkMembers(d)
}

// checkSyntax finds what the agent's parser does not accept, in a document that ours does.
func (l *loader) checkSyntax(d *jsonc.Document, content string) (reason, fix string) {
	if !l.mark && strings.HasPrefix(content, byteOrderMark) {
		return "line 1: the file starts with a byte order mark", "save the file as UTF-8 without a byte order mark"
	}
	for _, found := range []struct {
		what     string
		line     int
		accepted bool
	}{{"comment", d.CommentLine(), l.comments}, {"trailing comma", d.CommaLine(), l.commas}} {
		if found.line > 0 && !found.accepted {
			fix = fmt.Sprintf("remove each %s, the first is in line %d", found.what, found.line)
			return fmt.Sprintf("line %d: a %s", found.line, found.what), fix
		}
	}
	return "", ""
}

// checkMembers finds the first member, in the order of the rules, with a value that makes the agent drop the file.
func (l *loader) checkMembers(d *jsonc.Document) (reason, fix string) {
	root := d.Lookup()
	if l.closed != "" {
		for _, m := range jsonc.Members(root) {
			if !slices.Contains(strings.Fields(l.closed), m.Name) {
				line := d.Line(m.Value)
				return fmt.Sprintf("line %d: %q is unknown", line, m.Name), fmt.Sprintf("remove %q in line %d", m.Name, line)
			}
		}
	}
	for _, r := range l.rules() {
		if v, path, broken := r.find(root, r.path, nil); broken {
			line, name := d.Line(v), strings.Join(path, ".")
			return fmt.Sprintf("line %d: %q must be %s", line, name, r.description()), fmt.Sprintf("correct %q in line %d", name, line)
		}
	}
	return "", ""
}

// memberRule is the rule for the values at a path.
type memberRule struct {
	// path has a step for each level: names of members, separated by commas; "*" for every member or element; "*NAME" for
	// each of them whose "type" is NAME.
	path     []string
	accepts  []string // alternatives: a type, or the JSON of a value
	required bool     // the member must exist
}

var parsedRules sync.Map // the rules of a loader by its members

func (l *loader) rules() []memberRule {
	if known, ok := parsedRules.Load(l.members); ok {
		return known.([]memberRule) //nolint:forcetypeassert // only rules are stored
	}
	all := parseRules(l.members)
	parsedRules.Store(l.members, all)
	return all
}

// parseRules parses lines of the form "TYPE|TYPE: path path"; "required TYPE: path" is for members that must exist. The
// paths below a line "at PATH" are relative to it, and "." is the value there; "at ." leads back to the root.
func parseRules(text string) (all []memberRule) {
	var base []string
	for line := range strings.Lines(text) {
		accepts, paths, isRule := strings.Cut(strings.TrimSpace(line), ": ")
		if path, ok := strings.CutPrefix(accepts, "at "); ok {
			base = strings.FieldsFunc(path, func(r rune) bool { return r == '.' })
		}
		if !isRule {
			continue
		}
		accepts, required := strings.CutPrefix(accepts, "required ")
		for _, path := range strings.Fields(paths) {
			steps := slices.Clip(base)
			if path != "." {
				steps = append(steps, strings.Split(path, ".")...)
			}
			all = append(all, memberRule{steps, strings.Split(accepts, "|"), required})
		}
	}
	return all
}

// find returns the first value below v that breaks the rule, or for a missing member its parent. rest is the rest of
// the rule's path, and path leads to v.
func (r *memberRule) find(v *hujson.Value, rest, path []string) (at *hujson.Value, where []string, broken bool) {
	if len(rest) == 0 {
		return v, path, !slices.ContainsFunc(r.accepts, func(kind string) bool { return isKind(v, kind) })
	}
	path = slices.Clip(path)
	kind, each := strings.CutPrefix(rest[0], "*")
	if !each {
		for name := range strings.SplitSeq(rest[0], ",") {
			member := jsonc.Lookup(v, name)
			if member == nil && r.required && len(rest) == 1 && v.Value.Kind() == '{' {
				return v, append(path, name), true
			}
			if member == nil {
				continue
			}
			if at, where, broken = r.find(member, rest[1:], append(path, name)); broken {
				return at, where, true
			}
		}
		return nil, nil, false
	}
	for i, m := range jsonc.Members(v) {
		name := m.Name
		if v.Value.Kind() == '[' {
			name = itoa(i)
		}
		if kind != "" {
			if t := jsonc.Lookup(m.Value, "type"); t == nil || jsonc.Minify(t) != `"`+kind+`"` {
				continue
			}
		}
		if at, where, broken = r.find(m.Value, rest[1:], append(path, name)); broken {
			return at, where, true
		}
	}
	return nil, nil, false
}

// kindNames describe the types of parseRules for people.
var kindNames = map[string]string{
	"string": "text", "text": "text of at least one character", "clock": "a time such as \"22:00\"", "boolean": "true or false",
	"number": "a number", "positive": "a number above 0", "share": "a number from 0 to 1",
	"natural": "a whole number", "count": "a whole number above 0", "list": "a list", "object": "an object",
}

func (r *memberRule) description() string {
	names := make([]string, len(r.accepts))
	for i, kind := range r.accepts {
		if names[i] = kindNames[kind]; names[i] == "" {
			names[i] = kind
		}
	}
	return strings.Join(names, " or ")
}

// isKind reports whether v is of a type of parseRules.
func isKind(v *hujson.Value, kind string) bool {
	found := v.Value.Kind()
	var number float64
	if found == '0' {
		_ = json.Unmarshal([]byte(jsonc.Minify(v)), &number) // jsonc parsed it; too large a number is +Inf
	}
	whole := found == '0' && number == float64(int64(number))
	switch kind {
	case "string":
		return found == '"'
	case "text":
		return found == '"' && jsonc.Minify(v) != `""`
	case "clock":
		_, err := time.Parse(`"15:04"`, jsonc.Minify(v))
		return err == nil
	case "boolean":
		return found == 't' || found == 'f'
	case "null":
		return found == 'n'
	case "number":
		return found == '0'
	case "positive":
		return found == '0' && number > 0
	case "natural":
		return whole && number >= 0
	case "count":
		return whole && number > 0
	case "share":
		return found == '0' && number >= 0 && number <= 1
	case "list":
		return found == '['
	case "object":
		return found == '{'
	}
	return jsonc.Minify(v) == kind
}
