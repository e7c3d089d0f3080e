package intent

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/hookback/hookback/server/internal/risk/call"
)

// arguments are the members of a call's arguments in their order.
type arguments struct {
	names  []string                   // without repetitions
	exact  map[string]json.RawMessage // by name; of equal names the last, as agents read them
	values map[string]json.RawMessage // by normalized name; of several spellings one in lower case
}

// The names by which agents read the command and the path of a call, the most common ones first. A member
// with such a name is shown rather than one in another spelling, which the agent ignores.
var (
	commandNames = strings.Fields("command cmd commandLine CommandLine command_line script commands")
	pathNames    = strings.Fields(`file_path path filePath absolute_path AbsolutePath TargetFile target_file notebook_path
		file filename paths files destination`)
)

// decode reads the arguments of a call. Anything but an object has no members.
func decode(raw json.RawMessage) arguments {
	a := arguments{exact: map[string]json.RawMessage{}, values: map[string]json.RawMessage{}}
	if len(raw) > maxArguments {
		return a
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	if start, err := d.Token(); err != nil || start != json.Delim('{') {
		return a
	}
	for d.More() {
		name, err := d.Token()
		var value json.RawMessage
		if err != nil || d.Decode(&value) != nil {
			return a
		}
		text, _ := name.(string)
		plain := call.NormalizeName(text)
		if _, known := a.exact[text]; !known {
			a.names = append(a.names, text)
		}
		a.exact[text] = value
		if _, known := a.values[plain]; !known || text == strings.ToLower(text) {
			a.values[plain] = value
		}
	}
	return a
}

// text returns the value of a member that is a string.
func (a arguments) text(name string) string {
	text, _ := stringOf(a.values[call.NormalizeName(name)])
	return text
}

func stringOf(raw json.RawMessage) (text string, ok bool) {
	return text, len(raw) > 0 && raw[0] == '"' && json.Unmarshal(raw, &text) == nil
}

// command returns the command line of a call to a shell, on one line.
func (a arguments) command() string {
	for _, value := range a.named(commandNames, func(plain string) bool { return call.IsCommandName(plain) || plain == "chars" }) {
		if words := wordsOf(value); words != nil {
			return commandLine(strings.Join(words, " "))
		}
	}
	return ""
}

// named returns the values of the members with these names, in this order, and then of the other members
// whose normalized name fits.
func (a arguments) named(names []string, fits func(plain string) bool) (list []json.RawMessage) {
	for _, name := range names {
		if value, ok := a.exact[name]; ok {
			list = append(list, value)
		}
	}
	for _, name := range a.names {
		if plain := call.NormalizeName(name); fits(plain) {
			list = append(list, a.values[plain])
		}
	}
	return list
}

// wordsOf returns the words of a command; a command line is one word.
func wordsOf(raw json.RawMessage) []string {
	if text, ok := stringOf(raw); ok {
		return []string{text}
	}
	var words []string
	if json.Unmarshal(raw, &words) != nil {
		return nil
	}
	for i, w := range words {
		if w == "" || strings.ContainsAny(w, " \t\n'\"\\$`;&|<>(){}*?#") {
			words[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return words
}

// path returns the path that a call is about.
func (a arguments) path() string {
	for _, value := range a.named(pathNames, call.IsPathName) {
		if text, ok := stringOf(value); ok && text != "" {
			return text
		}
		var list []string
		if json.Unmarshal(value, &list) == nil && len(list) == 1 {
			return list[0]
		}
	}
	return ""
}

// content returns the new content of a file.
func (a arguments) content() (string, bool) {
	for _, name := range []string{"content", "contents", "filetext", "newsource", "codecontent"} {
		if text, ok := stringOf(a.values[name]); ok {
			return text, true
		}
	}
	return "", false
}

// patch returns a patch in the format of apply_patch, or a unified diff.
func (a arguments) patch() string {
	for _, name := range a.names {
		for _, word := range wordsOf(a.values[call.NormalizeName(name)]) {
			if strings.Contains(word, "*** Begin Patch") || strings.HasPrefix(word, "--- ") && strings.Contains(word, "\n+++ ") {
				return word
			}
		}
	}
	return ""
}

// edits counts the lines that the replacements of a call add and remove.
func (a arguments) edits() (added, removed int, ok bool) {
	for _, names := range [][2]string{{"oldstring", "newstring"}, {"oldstr", "newstr"}, {"oldtext", "newtext"}} {
		before, hasBefore := stringOf(a.values[names[0]])
		after, hasAfter := stringOf(a.values[names[1]])
		if hasBefore && hasAfter {
			added, removed = lineChanges(before, after)
			return added, removed, true
		}
	}
	for _, name := range []string{"edits", "replacementchunks"} {
		var list []json.RawMessage
		if json.Unmarshal(a.values[name], &list) != nil || len(list) == 0 {
			continue
		}
		for _, edit := range list {
			plus, minus, isEdit := decode(edit).edits()
			if !isEdit {
				return 0, 0, false
			}
			added, removed = added+plus, removed+minus
		}
		return added, removed, true
	}
	return 0, 0, false
}

// preferred are the names of members that identify a call best, in this order.
var preferred = strings.Fields("amount sql statement query command url path filepath branch ref title subject name to channel recipient key id")

// summary returns one member of the call with its value, a preferred one if there is one: "amount 25000".
func (a arguments) summary() string {
	for _, name := range preferred {
		if value := scalar(a.values[name]); value != "" {
			return name + " " + value
		}
	}
	for _, name := range a.names {
		if value := scalar(a.values[call.NormalizeName(name)]); value != "" {
			return middle(singleLine(name), maxName) + " " + value
		}
	}
	return ""
}

// scalar returns a text, a number or a boolean on one line; empty for other values.
func scalar(raw json.RawMessage) string {
	if text, ok := stringOf(raw); ok {
		return middle(singleLine(text), maxValue)
	}
	if len(raw) == 0 || raw[0] == '{' || raw[0] == '[' || string(raw) == "null" {
		return ""
	}
	return middle(string(raw), maxValue)
}
