package programs

import (
	"slices"
	"strings"
)

// ExecutingOption returns the first word of a call that executes or writes because of an option, and
// what it does. It reads clusters, abbreviations and --option=value. NoEffect means that no option of
// the call is in the table.
func ExecutingOption(words []string) (word string, effect Effect) {
	if len(words) == 0 {
		return "", NoEffect
	}
	rows := optionRows.of(ProgramName(words[0], false))
	for i := range rows {
		row := &rows[i]
		if !hasSubcommands(words[1:], row.subcommands) {
			continue
		}
		if w := row.find(words[1:]); w != "" && row.effect > effect {
			word, effect = w, row.effect
		}
	}
	return word, effect
}

// HasOptionTable reports whether options of the program can execute or write.
func HasOptionTable(program string) bool { return optionRows.has(program) }

func (r *optionRow) find(words []string) string {
	for i, w := range words {
		isValue := i > 0 && len(words[i-1]) == 2 && words[i-1][0] == '-' && strings.IndexByte(r.values, words[i-1][1]) >= 0
		if w == "--" || r.before && !isValue && !strings.HasPrefix(w, "-") {
			return ""
		}
		if !isValue && slices.ContainsFunc(r.options, func(o string) bool { return r.matches(w, o) }) {
			return w
		}
	}
	return ""
}

// matches reports whether a word contains an option of the table: -x in a cluster or with its value
// attached, --long or an abbreviation of it, and any other text, such as +cmd or SHELL=, as a prefix
// if it ends in … and exactly otherwise.
func (r *optionRow) matches(word, o string) bool {
	if start, ok := strings.CutSuffix(o, "…"); ok {
		return strings.HasPrefix(word, start)
	}
	head, _, _ := strings.Cut(word, "=")
	switch {
	case head == o:
		return true
	case strings.HasPrefix(o, "--"):
		return len(head) > 3 && strings.HasPrefix(o, head)
	case len(o) == 2 && o[0] == '-':
		return len(word) > 2 && word[0] == '-' && word[1] != '-' && r.clusterHas(word[1:], o[1])
	default:
		return false
	}
}

// clusterHas reports whether a cluster of short options contains an option, before one that takes
// the rest as its value.
func (r *optionRow) clusterHas(cluster string, o byte) bool {
	for i := range len(cluster) {
		switch c := cluster[i]; {
		case c == o:
			return true
		case strings.IndexByte(r.values, c) >= 0, c == '=', !isLetters(cluster[i : i+1]):
			return false
		}
	}
	return false
}
