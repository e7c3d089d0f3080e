package intent

import (
	"strings"

	"github.com/hookback/hookback/agentclient/call"
)

// argument returns the member of an object with the first of these normalized names that it has; nil: none.
// The one in lower case counts if there are several spellings.
func argument(v *call.Value, names ...string) (value *call.Value) {
	for _, name := range names {
		found := ""
		for _, m := range v.Members() {
			isBetter := value == nil || found != strings.ToLower(found) || m.Name == strings.ToLower(m.Name)
			if isBetter && call.NormalizeName(m.Name) == name {
				value, found = m.Value, m.Name
			}
		}
		if value != nil {
			return value
		}
	}
	return nil
}

func textOf(v *call.Value, names ...string) string {
	text, _ := argument(v, names...).Text()
	return text
}

// repeated returns the values of the first argument that is there twice, also in two spellings: "amount twice:
// 5 or 500"; empty: there is none.
func repeated(v *call.Value) string {
	first := map[string]call.Member{} // by normalized name
	for _, m := range v.Members() {
		name := call.NormalizeName(m.Name)
		before, isThere := first[name]
		switch below := repeated(m.Value); {
		case below != "":
			return below
		case v.Kind() == call.ObjectKind && isThere:
			return middle(singleLine(before.Name), maxName) + " twice: " + scalar(before.Value) + " or " + scalar(m.Value)
		}
		first[name] = m
	}
	return ""
}

// edits counts the lines that the replacements of a call add and remove.
func edits(v *call.Value) (added, removed int, ok bool) {
	for _, names := range [][2]string{{"oldstring", "newstring"}, {"oldstr", "newstr"}, {"oldtext", "newtext"}} {
		before, hasBefore := argument(v, names[0]).Text()
		after, hasAfter := argument(v, names[1]).Text()
		if hasBefore && hasAfter {
			added, removed, _ = LineChanges(before, after)
			return added, removed, true
		}
	}
	list := argument(v, "edits", "replacementchunks")
	if list == nil {
		return 0, 0, false
	}
	for _, edit := range list.Members() {
		plus, minus, isEdit := edits(edit.Value)
		if !isEdit {
			return 0, 0, false
		}
		added, removed, ok = added+plus, removed+minus, true
	}
	return added, removed, ok
}

// preferred are the names of members that identify a call best, in this order.
var preferred = strings.Fields("command cmd script code amount sql statement query url path filepath branch ref title subject name to channel recipient key id")

// summary returns one member of the call with its value, a preferred one if there is one: "amount 25000".
func summary(arguments *call.Value) string {
	for _, name := range preferred {
		if value := scalar(argument(arguments, name)); value != "" {
			return name + " " + value
		}
	}
	if arguments.Kind() != call.ObjectKind {
		return ""
	}
	for _, m := range arguments.Members() {
		if value := scalar(argument(arguments, call.NormalizeName(m.Name))); value != "" {
			return middle(singleLine(m.Name), maxName) + " " + value
		}
	}
	return ""
}

// scalar returns a text, a number or a boolean on one line; empty for other values.
func scalar(v *call.Value) string {
	if v == nil {
		return ""
	}
	return middle(singleLine(v.Literal()), maxValue)
}
