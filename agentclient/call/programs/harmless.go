package programs

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Harmless reports whether a call is known to change nothing: the table has its program and
// subcommand, every option is listed, and every operand is of the listed kind. The program must be
// written without a path, because ./ls is not ls. dir decides which paths are inside the project.
func Harmless(words []string, dir WorkingDir) bool {
	if len(words) == 0 {
		return false
	}
	rows, args := harmlessPrograms.of(words[0]), words[1:]
	if len(rows) == 0 || words[0] == "git" && dir.isOther() {
		return false // a directory that only looks like a repository has settings that name programs
	}
	if at := slices.IndexFunc(rows, func(r harmlessRow) bool { return slices.Equal(r.subcommands, beforeSubcommand) }); at >= 0 {
		var ok bool
		if args, ok = skipOptions(args, rows[at].options, dir); !ok {
			return false
		}
		rows = slices.Delete(slices.Clone(rows), at, at+1)
	}
	longest := 0 // a row for a subcommand excludes the rows for its program
	for i := range rows {
		if n := len(rows[i].subcommands); len(args) >= n && slices.Equal(args[:n], rows[i].subcommands) {
			longest = max(longest, n)
		}
	}
	return slices.ContainsFunc(rows, func(r harmlessRow) bool {
		return len(r.subcommands) == longest && len(args) >= longest &&
			slices.Equal(args[:longest], r.subcommands) && r.matches(args[longest:], dir)
	})
}

// beforeSubcommand are the subcommands of the row with the options before a subcommand.
var beforeSubcommand = []string{"*"}

// skipOptions returns the words after the leading options that are all in the set.
func skipOptions(words []string, set map[string]option, dir WorkingDir) (rest []string, ok bool) {
	for len(words) > 0 && strings.HasPrefix(words[0], "-") {
		if _, known := set[optionName(words[0])]; !known {
			return words, true // an option of the subcommand, or of the program by itself
		}
		n, _, ok := readOption(words, set, dir)
		if !ok {
			return nil, false
		}
		words = words[n:]
	}
	return words, true
}

func optionName(word string) string {
	name, _, _ := strings.Cut(word, "=")
	return name
}

func (r *harmlessRow) matches(words []string, dir WorkingDir) bool {
	var operands []string
	var found option // the flags of all options
	for len(words) > 0 {
		w := words[0]
		if w == "--" {
			operands = append(operands, words[1:]...)
			break
		}
		if len(w) < 2 || w[0] != '-' {
			operands, words = append(operands, w), words[1:]
			continue
		}
		n, o, ok := readOption(words, r.options, dir)
		if !ok {
			return false
		}
		found.operand, found.needed = found.operand || o.operand, found.needed || o.needed
		words = words[n:]
	}
	expected := r.operands
	if found.operand && len(expected) > 0 {
		expected = expected[1:]
	}
	if r.needsOption && !found.needed || len(operands) > len(expected) && (!r.repeats || len(expected) == 0) {
		return false
	}
	for i, v := range operands {
		if !expected[min(i, len(expected)-1)].accept(v, dir) {
			return false
		}
	}
	return true
}

// readOption checks the option or cluster at the start of words. It returns the number of words that
// it takes, and the flags of its options.
func readOption(words []string, set map[string]option, dir WorkingDir) (n int, found option, ok bool) {
	w := words[0]
	if o, known := set[w]; known {
		n, ok = o.readNext(words, dir)
		return n, o, ok
	}
	name, value, attached := strings.Cut(w, "=")
	if o, known := set[name]; known && attached && len(name) > 2 {
		return 1, o, o.hasValue() && o.value.accept(value, dir)
	}
	if strings.HasPrefix(w, "--") {
		return 0, found, false
	}
	if _, known := set["-#"]; known && strings.Trim(w[1:], "0123456789") == "" {
		return 1, found, true
	}
	for i := 1; i < len(w); i++ {
		o, known := set["-"+w[i:i+1]]
		if !known {
			return 0, found, false
		}
		found.operand, found.needed = found.operand || o.operand, found.needed || o.needed
		switch {
		case !o.hasValue():
		case i+1 < len(w):
			return 1, found, o.value.accept(w[i+1:], dir)
		default:
			n, ok = o.readNext(words, dir)
			return n, found, ok
		}
	}
	return 1, found, true
}

func (o option) hasValue() bool { return o.value.name != "" }

// readNext checks the value of an option that is written by itself. It returns the number of words
// of both.
func (o option) readNext(words []string, dir WorkingDir) (n int, ok bool) {
	switch {
	case !o.hasValue() || o.optional:
		return 1, true
	case len(words) < 2:
		return 0, false
	default:
		return 2, o.value.accept(words[1], dir)
	}
}

// kind is the kind of an operand or of an option's value.
type kind struct {
	name   string // as in the table; empty for no value
	accept func(value string, dir WorkingDir) bool
}

// kinds returns the kinds of the table. A name with bars, which is not in it, is a list of words.
var kinds = sync.OnceValue(func() map[string]func(string, WorkingDir) bool {
	setsCount := regexp.MustCompile(`%[^%a-zA-Z]*[hlLjzt]*n`) // of printf
	return map[string]func(string, WorkingDir) bool{
		"text": func(string, WorkingDir) bool { return true },
		// The shells' own commands evaluate numbers and variable names, and so run a[$(id)].
		"literal": func(v string, _ WorkingDir) bool {
			return !strings.ContainsAny(v, "$`") && !setsCount.MatchString(strings.ReplaceAll(v, "%%", ""))
		},
		"names":   func(v string, _ WorkingDir) bool { return IsNamePattern(v) },
		"package": func(v string, _ WorkingDir) bool { return isPackageName(v) },
		// tar runs ssh for HOST:FILE.
		"archive": func(v string, dir WorkingDir) bool {
			return dir.Contains(v) && strings.IndexByte("-*?[", v[0]) < 0 && !strings.Contains(v, ":")
		},
		"number": func(v string, _ WorkingDir) bool { return isNumber(v) },
		"word":   func(v string, _ WorkingDir) bool { return isWord(v) }, // a name without a meaning for paths
		// type prints a file on Windows.
		"program": func(v string, _ WorkingDir) bool {
			return isWord(v) && !strings.ContainsAny(v, "/:") && SecretFileKind(v) == NotSecret
		},
		// gh sends a token for the host in HOST/OWNER/REPO or a URL.
		"github": func(v string, _ WorkingDir) bool {
			return isWord(v) && (strings.Count(v, "/") < 2 || strings.HasPrefix(v, "https://github.com/"))
		},
		"traced": func(v string, dir WorkingDir) bool { return dir.Contains(v[strings.LastIndexByte(v, ':')+1:]) }, // 1,5:FILE
		// In a program with options that do harm no pattern may expand to one.
		"path":     func(v string, dir WorkingDir) bool { return dir.Contains(v) && strings.IndexByte("*?[", v[0]) < 0 },
		"searched": func(_ string, dir WorkingDir) bool { return dir.ContainsTree(".") }, // in its directory, if there is no path
		"tree":     func(v string, dir WorkingDir) bool { return dir.ContainsTree(v) && strings.IndexByte("*?[", v[0]) < 0 },
		"file":     func(v string, dir WorkingDir) bool { return dir.Contains(v) },
		"named":    func(v string, dir WorkingDir) bool { return dir.Contains(v) && strings.Trim(path.Ext(v), ".") != "" }, // a file by its name
		"revision": isRevision,
		"lines":    func(v string, _ WorkingDir) bool { return isLineRange(v) },
		"filter":   func(v string, _ WorkingDir) bool { return isFilter(v) },
		"format":   func(v string, _ WorkingDir) bool { return strings.HasPrefix(v, "+") }, // of date
		"resource": func(v string, _ WorkingDir) bool { return isWord(v) && !strings.Contains(strings.ToLower(v), "secret") },
		"setting":  func(v string, _ WorkingDir) bool { return isWord(v) && !namesSecret(v) },
	}
})

func kindOf(name string) kind {
	if accept := kinds()[name]; accept != nil {
		return kind{name, accept}
	}
	words := strings.Split(name, "|")
	if len(words) == 1 {
		panic("policy: unknown kind " + name)
	}
	return kind{name, func(v string, _ WorkingDir) bool { return slices.Contains(words, v) }}
}

// namesSecret reports whether a setting's name suggests a secret.
func namesSecret(setting string) bool {
	lower := strings.ToLower(setting)
	return slices.ContainsFunc([]string{"header", "token", "pass", "secret", "credential", "auth", "key"}, func(part string) bool { return strings.Contains(lower, part) })
}

func isNumber(v string) bool {
	v = strings.TrimLeft(v, "+-")
	digits := strings.TrimRight(v, "kKMGTPbBsmhdw")
	return digits != "" && strings.Trim(digits, "0123456789.") == "" && len(v)-len(digits) <= 2
}

func isWord(v string) bool {
	if v == "" || strings.HasPrefix(v, "-") || strings.Contains(v, "..") || v[0] == '/' || v[0] == '~' {
		return false
	}
	return strings.Trim(v, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.,:/@=-") == ""
}

// isPackageName reports whether a word is a name, or @scope/name, with or without a version. Other
// forms name a repository, which the program clones, or a file.
func isPackageName(v string) bool {
	if scope, name, ok := strings.Cut(v, "/"); ok {
		if len(scope) < 2 || scope[0] != '@' {
			return false
		}
		v = name
	}
	return isWord(v) && v[0] != '.' && !strings.ContainsAny(v, "/:")
}

// namesOfSecrets are names of files with secrets in some directories, and of such directories, which rg -g
// can select although they are hidden.
var namesOfSecrets = sync.OnceValue(func() []string {
	return append(strings.Fields("credentials config config.json config.worktree hosts.yml"), secretFolders...)
})

// IsNamePattern reports whether a pattern that selects file names selects none that is a secret's.
// It may have one list of alternatives, and ! excludes.
func IsNamePattern(v string) bool {
	if strings.HasPrefix(v, "!") {
		return true
	}
	before, rest, ok := strings.Cut(v, "{")
	if !ok {
		return SecretFileKind(v) == NotSecret && !mayMatchSecret(v) && !matchesAny(v, namesOfSecrets())
	}
	list, after, ok := strings.Cut(rest, "}")
	if !ok || strings.ContainsAny(list+after, "{}") {
		return false
	}
	for alternative := range strings.SplitSeq(list, ",") {
		if !IsNamePattern(before + alternative + after) {
			return false
		}
	}
	return true
}

// isRevision reports whether a word is a revision of git, a range, a path in a revision or a path.
func isRevision(v string, dir WorkingDir) bool {
	if v == "" || strings.IndexByte("-+:*?[", v[0]) >= 0 {
		return false
	}
	revision, file, named := strings.Cut(v, ":")
	plain := revision[:min(1, len(revision))] + strings.NewReplacer("@{", "@", "}", "", "~", "-").Replace(revision[min(1, len(revision)):])
	return dir.Contains(plain) && (!named || dir.Contains(file))
}

// isLineRange reports whether a script of sed only prints lines: 5p, 10,20p or 10,$p.
func isLineRange(v string) bool {
	for part := range strings.SplitSeq(v, ";") {
		from, ok := strings.CutSuffix(part, "p")
		first, last, _ := strings.Cut(from, ",")
		if !ok || first == "" || strings.Trim(first, "0123456789") != "" || strings.Trim(last, "0123456789$+") != "" {
			return false
		}
	}
	return true
}

// isFilter reports whether a filter of jq reads only its input: no environment and no modules.
func isFilter(v string) bool {
	for _, word := range []string{"env", "ENV", "input_filename", "import", "include", "$__", "getpath_file", "load"} {
		if strings.Contains(v, word) {
			return false
		}
	}
	return true
}
