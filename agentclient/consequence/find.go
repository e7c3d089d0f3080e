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

	"github.com/hookback/hookback/agentclient/call"
)

func isFolder(p string) bool {
	info, err := os.Lstat(filepath.FromSlash(p))
	return err == nil && info.IsDir()
}

// finder is a find command: where it searches, and its tests.
type finder struct {
	roots    []string
	tests    []func(p, name string, info fs.FileInfo) bool
	minDepth int
	maxDepth int
	action   string // -delete, or the program of -exec
	unknown  string // a test that can't be evaluated
}

// newFinder reads the words of a find command. Its tests are joined by and; others are unknown.
func newFinder(list []string) (f finder) {
	f.maxDepth = 1 << 20
	words := list[1:]
	for len(words) > 0 && !strings.HasPrefix(words[0], "-") && words[0] != "(" && words[0] != "!" {
		f.roots, words = append(f.roots, words[0]), words[1:]
	}
	if len(f.roots) == 0 {
		f.roots = []string{"."}
	}
	for len(words) > 0 {
		name, value := words[0], ""
		if words = words[1:]; len(words) > 0 {
			value = words[0]
		}
		if slices.Contains([]string{"-exec", "-execdir", "-ok", "-okdir"}, name) {
			f.action = value
			for len(words) > 0 && words[0] != ";" && words[0] != "+" {
				words = words[1:]
			}
			words = words[min(1, len(words)):]
			continue
		}
		if f.test(name, value) {
			words = words[min(1, len(words)):]
		}
	}
	return f
}

// test adds a test or an action, and reports whether it takes a value.
func (f *finder) test(name, value string) (takesValue bool) {
	switch name {
	case "-delete":
		f.action = name
		return false
	case "-print", "-print0", "-a", "-and", "-depth", "-xdev", "-mount":
		return false
	case "-mindepth", "-maxdepth":
		n, err := strconv.Atoi(value)
		if err != nil {
			f.unknown = cmp.Or(f.unknown, name)
		} else if name == "-mindepth" {
			f.minDepth = n
		} else {
			f.maxDepth = n
		}
		return true
	case "-name", "-iname":
		f.add(func(_, base string, _ fs.FileInfo) bool { return matchName(value, base, name == "-iname") })
		return true
	case "-type":
		if value == "f" || value == "d" || value == "l" {
			f.add(func(_, _ string, info fs.FileInfo) bool {
				mode := info.Mode()
				return value == "f" && mode.IsRegular() || value == "d" && mode.IsDir() || value == "l" && mode&fs.ModeSymlink != 0
			})
			return true
		}
	}
	f.unknown = cmp.Or(f.unknown, name)
	return false
}

func (f *finder) add(test func(p, name string, info fs.FileInfo) bool) {
	f.tests = append(f.tests, test)
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
		if !path.IsAbs(root) {
			root = path.Join(cmd.Dir, root)
		}
		r.search(t, &f, root)
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

func (r *reader) search(t *tally, f *finder, root string) {
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
		matches := depth >= f.minDepth && !slices.ContainsFunc(f.tests, func(test func(string, string, fs.FileInfo) bool) bool {
			return !test(p, filepath.Base(p), info)
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
