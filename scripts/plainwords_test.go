package scripts_test

import (
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
)

// The limits for dialect, in matches of wordRules per 10,000 words. Comparable projects
// are between 1 and 5.
const (
	maxPer10k        = 10
	maxPer10kSection = 20
	maxSubjectWords  = 3 // of a test's name, if the subject is not a declared name
	minMessageWords  = 4 // of a Go string literal that counts as a message
)

// A passage is text that people read: a comment, a paragraph of Markdown, a string.
type passage struct {
	section string // comments, prose, ui, messages
	file    string
	line    int
	text    string
}

func TestPlainWords(t *testing.T) {
	t.Parallel()
	words, matches := map[string]int{}, map[string]int{}
	var places []string
	matchers := compileWordRules()
	for _, p := range passages(t) {
		lower := strings.ToLower(p.text)
		words[p.section] += len(strings.FieldsFunc(lower, func(r rune) bool { return unicode.IsSpace(r) || r == masked }))
		for i := range matchers {
			for _, at := range matchers[i].find(lower) {
				matches[p.section]++
				line := p.line + strings.Count(p.text[:at], "\n")
				places = append(places, fmt.Sprintf("%s:%d: %s (write %s)", p.file, line, matchers[i].name, matchers[i].write))
			}
		}
	}
	var totalWords, totalMatches int
	for section, n := range words {
		require.Greater(t, n, 1000, "%s: too little text was found", section)
		t.Logf("%-9s %6d words %4d matches", section, n, matches[section])
		require.LessOrEqual(t, matches[section]*10_000, maxPer10kSection*n, "%s: reword some of\n%s", section, strings.Join(places, "\n"))
		totalWords, totalMatches = totalWords+n, totalMatches+matches[section]
	}
	require.Len(t, words, 4)
	require.LessOrEqual(t, totalMatches*10_000, maxPer10k*totalWords, "reword some of\n%s", strings.Join(places, "\n"))
}

func TestPlainWords_MatchesDialectOnly(t *testing.T) {
	t.Parallel()
	matchers := compileWordRules()
	rulesOf := func(text string) (names []string) {
		for i := range matchers {
			if len(matchers[i].find(strings.ToLower(text))) > 0 {
				names = append(names, matchers[i].name)
			}
		}
		return names
	}
	for text, rule := range map[string]string{
		"asked is what of a question\nwhat is held": "free relative what",
		"whoever answers first":                     "indefinite person",
		"the hub says that it is full":              "says",
		"the agent is told of it":                   "tells",
	} {
		require.Contains(t, rulesOf(text), rule, text)
	}
	for _, text := range []string{
		"Dispatcher retries failed deliveries with exponential backoff.",
		"What is a question? It explains what happened.",
		"RFC 9110 says that the header is optional.",
		"The worker takes up the rest and looks at those that it knows.",
	} {
		require.Empty(t, rulesOf(text), text)
	}
}

// TestTestNames: a feature's tests are found by -run, so their names start with the
// subject: TestSubject_Case.
func TestTestNames(t *testing.T) {
	t.Parallel()
	declared := map[string]map[string]bool{} // by folder, in lower case
	var tests []testName
	for _, f := range goFiles(t) {
		dir := path.Dir(f.name)
		if declared[dir] == nil {
			declared[dir] = map[string]bool{}
		}
		for _, d := range f.ast.Decls {
			for _, name := range declaredNames(d) {
				declared[dir][strings.ToLower(name)] = true
			}
			if fn, ok := d.(*ast.FuncDecl); ok && f.test() && fn.Recv == nil && isTestFunction(fn.Name.Name) {
				tests = append(tests, testName{dir, f.at(fn), fn.Name.Name})
			}
		}
	}
	require.Greater(t, len(tests), 500)
	var bad []string
	for _, test := range tests {
		if !isSubjectCase(test.name, declared[test.dir]) {
			bad = append(bad, test.at+": "+test.name)
		}
	}
	require.Empty(t, bad, "name a test TestSubject_Case: the subject is a declared name or at most %d words", maxSubjectWords)
}

type testName struct{ dir, at, name string }

func isTestFunction(name string) bool {
	for _, prefix := range []string{"Test", "Fuzz"} {
		if rest, ok := strings.CutPrefix(name, prefix); ok && name != "TestMain" {
			return rest == "" || !unicode.IsLower(rune(rest[0]))
		}
	}
	return false
}

func isSubjectCase(name string, declared map[string]bool) bool {
	subject, _, hasCase := strings.Cut(name[len("Test"):], "_")
	limit := maxSubjectWords
	if !hasCase {
		limit = 2 // the cases are subtests
	}
	return declared[strings.ToLower(subject)] || len(camelWords.FindAllString(subject, -1)) <= limit
}

// camelWords matches the words of an identifier; a run of capitals is one word.
var camelWords = regexp.MustCompile(`\p{Lu}+(?:\p{Ll}|\d)*|(?:\p{Ll}|\d)+`)

// declaredNames returns the names a declaration introduces; for a method also receiver
// and name together.
func declaredNames(d ast.Decl) (names []string) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		names = append(names, d.Name.Name)
		if d.Recv != nil {
			names = append(names, receiverName(d.Recv.List[0].Type)+d.Name.Name)
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				names = append(names, s.Name.Name)
			case *ast.ValueSpec:
				for _, id := range s.Names {
					names = append(names, id.Name)
				}
			}
		}
	}
	return names
}

func receiverName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiverName(e.X)
	case *ast.IndexExpr:
		return receiverName(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

var scriptType = regexp.MustCompile(`(?m)^\s*(?:export )?(?:abstract )?(?:class|interface|type|enum) ([A-Za-z_$][\w$]*)`)

// TestTypeNames_AreNouns: a type named by a bare gerund or participle, such as Shown or
// proving, leaves out the noun.
func TestTypeNames_AreNouns(t *testing.T) {
	t.Parallel()
	var bad []string
	for _, f := range goFiles(t) {
		for _, d := range f.ast.Decls {
			if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.TYPE {
				for _, name := range declaredNames(g) {
					if isBareParticiple(name) {
						bad = append(bad, f.name+": "+name)
					}
				}
			}
		}
	}
	for _, name := range sources(t, ".ts", ".svelte") {
		for _, m := range scriptType.FindAllSubmatch(read(t, name), -1) {
			if isBareParticiple(string(m[1])) {
				bad = append(bad, name+": "+string(m[1]))
			}
		}
	}
	require.Empty(t, bad)
}

// nouns end like a gerund or a participle and name a thing.
const nouns = " string ring thing wing ping sibling ceiling setting mapping binding encoding heading listing building warning meaning finding timing padding spacing rating pricing routing logging tracing feed seed speed need embed hundred set read thread "

const irregularParticiples = " shown seen said told held kept sent known given taken heard led done gone written chosen made spent met found left lost drawn thrown ran won begun stuck born grown hidden spoken bound "

func isBareParticiple(typeName string) bool {
	parts := camelWords.FindAllString(typeName, -1)
	if len(parts) == 2 && slices.Contains([]string{"In", "On", "Out", "Up"}, parts[1]) {
		parts = parts[:1]
	}
	if len(parts) != 1 {
		return false
	}
	word := strings.ToLower(parts[0])
	if strings.Contains(nouns, " "+word+" ") {
		return false
	}
	return strings.Contains(irregularParticiples, " "+word+" ") || len(word) > 4 && (strings.HasSuffix(word, "ing") || strings.HasSuffix(word, "ed"))
}

// retiredNames are declared names of the first version that say too little without their
// comment. Each has a standard replacement in the code.
const retiredNames = " asked asking ending noticed takesLead quietNotices freeNotices giveWay derived heard saved shown who" +
	" attempt bound proving prove tries watched lane way shower judge stuck" +
	" targets lifelines watcher goodbye spent spending parked book fed disguised leftRunning" +
	" upheld polled lapse another whole outward spares grouped outdate strand walk zone gram hooking courier intake" +
	" clinic canary journal wiring trace knob greet hearing figures farewell hangUp lastWord admit mayHave door" +
	" piecewise pump bridged rig crew cast told scene slip hesitant slippery Named Tells Hands Recognise Off Said "

func TestRetiredNames_AreNotDeclared(t *testing.T) {
	t.Parallel()
	var bad []string
	for _, f := range goFiles(t) {
		for _, d := range f.ast.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv != nil {
				continue // a method's name is read with its type
			}
			for _, name := range declaredNames(d) {
				if strings.Contains(strings.ToLower(retiredNames), " "+strings.ToLower(name)+" ") {
					bad = append(bad, f.name+": "+name)
				}
			}
		}
	}
	require.Empty(t, bad, "use the standard term, see server/docs/glossary.md")
}

// masked replaces quoted text and code, which are not the author's own words.
const masked = '\x01'

var (
	quotedText  = regexp.MustCompile("`[^`]*`|\"[^\"\n]{1,160}\"|“[^”\n]{1,160}”|\\b(?:https?|wss?)://\\S+")
	fencedCode  = regexp.MustCompile("(?ms)^\\s*(?:```|~~~).*?^\\s*(?:```|~~~)|<!--.*?-->")
	linkOrTag   = regexp.MustCompile(`\]\([^)\n]*\)|</?[a-zA-Z][^>\n]*>`)
	directive   = regexp.MustCompile(`^(?:go:|nolint|lint:|#nosec|\s*(?:svelte-ignore|prettier-ignore|eslint|@ts-))`)
	sqlKeyword  = regexp.MustCompile(`\b(?:SELECT|INSERT|UPDATE|DELETE|CREATE|WITH|PRAGMA|ALTER|FROM|WHERE|VALUES|JOIN)\b`)
	blockNotes  = regexp.MustCompile(`(?s)/\*.*?\*/|<!--.*?-->`)
	scriptNotes = regexp.MustCompile(`(?m)(?:(?:^|[\s;,{(])//.*\n\s*)+`)
	hashNotes   = regexp.MustCompile(`(?m)(?:(?:^|\s)# .*\n\s*)+`)
	sqlNotes    = regexp.MustCompile(`(?m)(?:(?:^|\s)-- .*\n\s*)+`)
	scriptText  = regexp.MustCompile("'(?:[^'\\\\\n]|\\\\.)*'|`(?:[^`\\\\]|\\\\.)*`")
	indented    = regexp.MustCompile(`(?m)^//?(?:\t|    ).*$`)
	leader      = regexp.MustCompile(`(?m)^\s*(?://+|/\*+|\*+/?|#|--|<!--)`)
	letters     = regexp.MustCompile(`\pL{2,}`)
)

// passages returns all text of the repository that people wrote for people.
func passages(t *testing.T) []passage {
	var all []passage
	for _, f := range goFiles(t) {
		all = append(all, goPassages(f)...)
	}
	for _, name := range sources(t, ".ts", ".js", ".mjs", ".svelte", ".sql", ".sh", ".md") {
		text := string(read(t, name))
		switch path.Ext(name) {
		case ".md":
			text = mask(mask(text, fencedCode), linkOrTag)
			all = append(all, passage{"prose", name, 1, mask(text, quotedText)})
		case ".sql":
			all = append(all, commentPassages(name, text, sqlNotes)...)
		case ".sh":
			all = append(all, commentPassages(name, text, hashNotes)...)
		default:
			all = append(all, commentPassages(name, text, blockNotes)...)
			all = append(all, commentPassages(name, text, scriptNotes)...)
			if base := path.Base(name); base == "text.ts" || base == "lazyText.ts" {
				all = append(all, stringPassages(name, text)...)
			}
		}
	}
	return all
}

func mask(text string, re *regexp.Regexp) string {
	return re.ReplaceAllStringFunc(text, func(s string) string {
		return strings.Map(func(r rune) rune {
			if r == '\n' {
				return r
			}
			return masked
		}, s)
	})
}

func commentPassages(name, text string, re *regexp.Regexp) (all []passage) {
	for _, at := range re.FindAllStringIndex(text, -1) {
		note := leader.ReplaceAllString(text[at[0]:at[1]], "")
		if !directive.MatchString(note) {
			all = append(all, passage{"comments", name, 1 + strings.Count(text[:at[0]], "\n"), mask(note, quotedText)})
		}
	}
	return all
}

// stringPassages returns the strings of a catalog of the dashboard. An expression in a
// template literal is masked.
func stringPassages(name, text string) (all []passage) {
	expression := regexp.MustCompile(`\$\{[^}]*\}`)
	for _, at := range scriptText.FindAllStringIndex(text, -1) {
		if s := mask(text[at[0]+1:at[1]-1], expression); letters.MatchString(s) {
			all = append(all, passage{"ui", name, 1 + strings.Count(text[:at[0]], "\n"), s})
		}
	}
	return all
}

func goPassages(f goFile) (all []passage) {
	for _, group := range f.ast.Comments {
		var lines []string
		for _, c := range group.List {
			if text := strings.TrimPrefix(c.Text, "//"); !directive.MatchString(text) {
				lines = append(lines, leader.ReplaceAllString(indented.ReplaceAllString(c.Text, ""), ""))
			}
		}
		all = append(all, passage{"comments", f.name, f.fset.Position(group.Pos()).Line, mask(strings.Join(lines, "\n"), quotedText)})
	}
	if f.test() {
		return all
	}
	ast.Inspect(f.ast, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.Field:
			return n.Tag == nil // a tag is not a message
		case *ast.BasicLit:
			text, err := strconv.Unquote(n.Value)
			if n.Kind == token.STRING && err == nil &&
				len(letters.FindAllString(text, minMessageWords)) == minMessageWords && !sqlKeyword.MatchString(text) {
				all = append(all, passage{"messages", f.name, f.fset.Position(n.Pos()).Line, mask(text, quotedText)})
			}
		}
		return true
	})
	return all
}
