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
	default:
		return len(o) == 2 && o[0] == '-' && clusterHas(word, o[1], r.values)
	}
}

// clusterHas reports whether a word is a cluster of short options with this one, before one that takes the
// rest as its value.
func clusterHas(word string, o byte, values string) bool {
	if len(word) < 2 || word[0] != '-' || word[1] == '-' {
		return false
	}
	for i := 1; i < len(word); i++ {
		switch c := word[i]; {
		case c == o:
			return true
		case strings.IndexByte(values, c) >= 0, !isLetters(word[i : i+1]):
			return false
		}
	}
	return false
}

// isLetters reports whether text consists of ASCII letters and digits, as a cluster of short options
// does.
func isLetters(text string) bool {
	return strings.Trim(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") == ""
}

// HasOption reports whether a call may contain one of the options. A name of one letter is a short
// option, alone or in a cluster, also one that ends in a value (-rf, -fo=value); a longer name is a long
// option, abbreviated or not, with or without =value, or the same after a single dash. Words after -- are
// operands.
func HasOption(words []string, names ...string) bool {
	for _, w := range words[min(1, len(words)):] {
		if w == "--" {
			return false
		}
		if slices.ContainsFunc(names, func(name string) bool { return IsOption(words[0], w, name) }) {
			return true
		}
	}
	return false
}

// IsOption reports whether a word of a call of a program may contain the option with this name. See HasOption.
func IsOption(program, word, name string) bool {
	text, long := strings.CutPrefix(word, "--")
	head, _, _ := strings.Cut(text, "=")
	switch {
	case len(name) == 1:
		return word == "-"+name || clusterHas(word, name[0], "") && clusterHas(word, name[0], valuesOf(program))
	case long:
		return head != "" && strings.HasPrefix(name, head)
	default:
		return head == "-"+name
	}
}

// plainFlags are options that take no value in the programs for which HasFlag is used.
const plainFlags = " --force --force-with-lease --dry-run --quiet --verbose --all --tags --atomic --set-upstream --no-verify " +
	"--prune --delete --mirror --recursive --wait --install --debug --staged --worktree --yes --json --upgrade --save-dev --global --user --pre "

const plainLetters = "-afdqvyxuUi"

// HasFlag reports whether a call certainly has one of the options, in full, which take no value: not as an operand, as
// the value of another option, as --name=false or --name false, or next to --no-name, also abbreviated.
func HasFlag(words []string, names ...string) (found bool) {
	values, known := shortValues(words)
	for i := 1; i < len(words) && words[i] != "--"; i++ {
		mayBeValue := i > 1 && mayTakeNext(words[i-1], values, known)
		head, value, hasValue := strings.Cut(words[i], "=")
		isOff := hasValue && value == "" || isOffValue(value) || !hasValue && i+1 < len(words) && isOffValue(words[i+1])
		for _, name := range names {
			switch {
			case len(head) > len("--no-") && strings.HasPrefix("--no-"+name, head), isOff && head == "--"+name:
				return false
			case mayBeValue || isOff:
			case len(name) == 1:
				found = found || clusterHas(words[i], name[0], values) && (known || isLetters(words[i][1:]))
			default:
				found = found || head == "--"+name
			}
		}
	}
	return found
}

func isOffValue(text string) bool {
	return slices.Contains([]string{"false", "f", "none", "no", "n", "0"}, strings.ToLower(text))
}

// valuesOf returns the short options of a program that take a value in each of its calls.
func valuesOf(program string) (values string) {
	for _, row := range optionRows.of(ProgramName(program, false)) {
		if len(row.subcommands) == 0 && !row.before {
			values += row.values
		}
	}
	return values
}

// mayTakeNext reports whether an option may take the next word as its value.
func mayTakeNext(option, values string, known bool) bool {
	switch isOption := len(option) > 1 && option[0] == '-' && !strings.Contains(option, "="); {
	case isOption && option[1] != '-' && known:
		return strings.IndexByte(values, option[len(option)-1]) >= 0
	case isOption && option[1] != '-':
		return strings.Trim(option, plainLetters) != ""
	default:
		return isOption && !strings.HasPrefix(option, "--no-") && !strings.Contains(plainFlags, " "+option+" ")
	}
}

// shortValues returns the short options of a call that take a value. known is false if they are not in the
// table.
func shortValues(words []string) (values string, known bool) {
	if len(words) == 0 {
		return "", false
	}
	for _, row := range optionRows.of(ProgramName(words[0], false)) {
		if row.values != "" && hasSubcommands(words[1:], row.subcommands) {
			values, known = values+row.values, known || !row.before
		}
	}
	return values, known
}

// editors are programs that change the files in their operands with -i, and their short options with a value.
var editors = map[string]string{"sed": "efl", "gsed": "efl", "perl": "eEIMmCDF", "ruby": "eEIrCFKTW", "yq": ""}

// EditsInPlace reports whether a call of sed and similar programs changes the files in its operands.
func EditsInPlace(words []string) bool {
	if len(words) == 0 {
		return false
	}
	name := ProgramName(words[0], false)
	values, isEditor := editors[name]
	isAWK := name == "awk" || name == "gawk"
	return (isEditor || isAWK) && slices.ContainsFunc(words[1:], func(w string) bool {
		isLong := len(w) > 2 && strings.HasPrefix("--in-place", optionName(w)) || strings.HasPrefix(w, "--inplace")
		return isAWK && strings.Contains(w, "inplace") || isEditor && (isLong || clusterHas(w, 'i', values))
	})
}
