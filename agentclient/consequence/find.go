package consequence

import (
	"cmp"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hookback/hookback/agentclient/call"
)

func isFolder(p string) bool {
	info, err := os.Lstat(filepath.FromSlash(p))
	return err == nil && info.IsDir()
}

// finder is a find command: where it searches, and its tests.
type finder struct {
	roots    []string
	tests    []findTest
	minDepth int
	maxDepth int
	action   string // -delete, or the program of -exec
	unknown  string // a test that can't be evaluated
	negates  bool   // the next test
}

// findTest tests a file by its path as find writes it.
type findTest func(p string, info fs.FileInfo) bool

// newFinder reads the words of a find command. Its tests are joined by and. With "-o" or a group all files count, because
// it is unknown which of them pass.
func newFinder(list []string) (f finder) {
	f.maxDepth = 1 << 20
	words := list[1:]
	for len(words) > 0 && !strings.HasPrefix(words[0], "-") && words[0] != "(" && words[0] != "!" {
		f.roots, words = append(f.roots, words[0]), words[1:]
	}
	if len(f.roots) == 0 {
		f.roots = []string{"."}
	}
	isAny := false
	for len(words) > 0 {
		name, value := words[0], ""
		if words = words[1:]; len(words) > 0 {
			value = words[0]
		}
		switch {
		case slices.Contains([]string{"-exec", "-execdir", "-ok", "-okdir"}, name):
			f.action = cmp.Or(f.action, value)
			for len(words) > 0 && words[0] != ";" && words[0] != "+" {
				words = words[1:]
			}
			words = words[min(1, len(words)):]
		case slices.Contains([]string{"-o", "-or", "(", ")", ","}, name):
			f.unknown, isAny = cmp.Or(f.unknown, name), true
		case name == "!" || name == "-not":
			f.negates = !f.negates
		case f.test(name, value):
			words = words[min(1, len(words)):]
		}
	}
	if isAny {
		f.tests, f.minDepth = nil, 0
	}
	return f
}

// test adds a test or an action, and reports whether it takes a value.
func (f *finder) test(name, value string) (takesValue bool) {
	switch name {
	case "-delete":
		f.action = cmp.Or(f.action, name)
		return false
	case "-print", "-print0", "-a", "-and", "-depth", "-xdev", "-mount":
		return false
	case "-mindepth", "-maxdepth":
		n, err := strconv.Atoi(value)
		switch {
		case err != nil:
			f.unknown = cmp.Or(f.unknown, name)
		case name == "-mindepth":
			f.minDepth = n
		default:
			f.maxDepth = n
		}
		return true
	case "-empty":
		f.add(func(_ string, info fs.FileInfo) bool { return info.Mode().IsRegular() && info.Size() == 0 })
		return false
	}
	test, ok := valueTest(name, value)
	if !ok {
		f.unknown, f.negates = cmp.Or(f.unknown, name), false
		return false
	}
	f.add(test)
	return true
}

// valueTest returns a test that takes a value. ok is false for one that is not evaluated.
func valueTest(name, value string) (test findTest, ok bool) {
	fold := name == "-iname" || name == "-ipath" || name == "-iwholename"
	switch name {
	case "-name", "-iname":
		return func(p string, _ fs.FileInfo) bool { return matchName(value, path.Base(p), fold) }, true
	case "-path", "-ipath", "-wholename", "-iwholename":
		return func(p string, _ fs.FileInfo) bool { return matchName(allSlashes(value), allSlashes(p), fold) }, true
	case "-type":
		return func(_ string, info fs.FileInfo) bool {
			kind := map[fs.FileMode]string{0: "f", fs.ModeDir: "d", fs.ModeSymlink: "l"}[info.Mode().Type()]
			return kind != "" && slices.Contains(strings.Split(value, ","), kind)
		}, !strings.ContainsAny(value, "bcpsD")
	case "-size":
		sizes := map[byte]int64{'c': 1, 'w': 2, 'b': 512, 'k': 1 << 10, 'M': 1 << 20, 'G': 1 << 30}
		unit := int64(512)
		if last := value[max(0, len(value)-1):]; last != "" && sizes[last[0]] > 0 {
			unit, value = sizes[last[0]], value[:len(value)-1]
		}
		compares, ok := comparison(value)
		return func(_ string, info fs.FileInfo) bool { return compares((info.Size() + unit - 1) / unit) }, ok
	case "-mtime":
		compares, ok := comparison(value)
		return func(_ string, info fs.FileInfo) bool {
			return compares(int64(time.Since(info.ModTime()) / (24 * time.Hour)))
		}, ok
	default:
		return nil, false
	}
}

// comparison returns the comparison of a number with "+n" (more), "-n" (less) or "n".
func comparison(value string) (compares func(int64) bool, ok bool) {
	sign := strings.TrimRight(value, "0123456789")
	n, err := strconv.ParseInt(value[len(sign):], 10, 64)
	return func(got int64) bool {
		return sign == "+" && got > n || sign == "-" && got < n || sign == "" && got == n
	}, err == nil && (sign == "" || sign == "+" || sign == "-")
}

// add adds a test. One after the action has no effect on it.
func (f *finder) add(test findTest) {
	if f.negates {
		negated := test
		test = func(p string, info fs.FileInfo) bool { return !negated(p, info) }
	}
	if f.negates = false; f.action == "" {
		f.tests = append(f.tests, test)
	}
}

// allSlashes lets the wildcards of a pattern match slashes, too.
func allSlashes(text string) string { return strings.ReplaceAll(text, "/", "\x01") }

// matchPath matches a path with a pattern whose wildcards match slashes.
func matchPath(pattern, name string) bool {
	return matchName(allSlashes(pattern), allSlashes(name), false)
}

func matchName(pattern, name string, fold bool) bool {
	if fold {
		pattern, name = strings.ToLower(pattern), strings.ToLower(name)
	}
	ok, err := path.Match(strings.ReplaceAll(pattern, "[!", "[^"), name)
	return ok && err == nil
}

// find adds the files that a find command reaches, if it does something with them.
func (r *reader) find(cmd *call.Command, list []string) {
	f := newFinder(list)
	if f.action == "" {
		return
	}
	deletes := f.action == "-delete" || f.action == "rm" || f.action == "unlink" || f.action == "shred"
	t := &tally{keeps: true, seen: true}
	if deletes && f.unknown == "" {
		t = &r.removed
		t.seen = true
	}
	for _, root := range f.roots {
		r.search(t, &f, root, cmd.Dir)
	}
	switch {
	case f.unknown != "":
		r.isKnown = false
		r.incomplete("find " + quoteName(f.roots[0]) + " reaches up to " + count(t.files, "file", "files") +
			": its test " + quoteName(f.unknown) + " is not evaluated.")
	case !deletes:
		r.add("files", t.files)
		r.say("find runs " + quoteName(f.action) + " on " + count(t.files, "file", "files") + ".")
	}
}

func (r *reader) search(t *tally, f *finder, given, dir string) {
	root := given
	if !path.IsAbs(root) {
		root = path.Join(dir, root)
	}
	real := resolved(filepath.FromSlash(root))
	r.changesPath(root, real)
	info, err := os.Lstat(real)
	if err != nil {
		return
	}
	w := fileCounter{reader: r, tally: t, repo: r.repoOf(real)}
	w.noGit = w.repo.git == nil
	rel := ""
	var visit func(p string, info fs.FileInfo, depth int)
	visit = func(p string, info fs.FileInfo, depth int) {
		if r.entries++; r.stopped() {
			return
		}
		matches := depth >= f.minDepth && !slices.ContainsFunc(f.tests, func(test findTest) bool {
			return !test(given+filepath.ToSlash(p[len(real):]), info)
		})
		switch {
		case info.IsDir() && depth < f.maxDepth:
			w.entriesOf(p, func(child string, info fs.FileInfo) { visit(child, info, depth+1) })
		case matches && !info.IsDir():
			rel, _ = filepath.Rel(w.gitRoot(), p)
			rules, ignored := w.ignoredFile(filepath.ToSlash(rel), info)
			w.file(node{p, filepath.ToSlash(rel), info, ignored}, rules)
		}
	}
	visit(real, info, 0)
}
