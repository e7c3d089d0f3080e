package consequence

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/hookback/hookback/agentclient/internal/gitread"
	"github.com/hookback/hookback/schema"
)

// tally counts files.
type tally struct {
	files, bytes int64
	fresh        int64 // neither in git nor ignored
	changed      int64 // in git, with changes that are not committed
	noRepo       bool  // some of the fresh ones are in no repository
	histories    []string
	largest      []sizedFile
	missing      []string
	seen         bool
	counted      map[string]bool
	keeps        bool // nothing is lost, as by chmod
	unknownGit   error
	isPartial    bool
}

type sizedFile struct {
	name string
	size int64
}

func (t *tally) any() bool { return t.seen }

const maxLargest = 3

func (t *tally) addFile(name string, size int64) {
	t.files++
	t.bytes += size
	if size == 0 || len(t.largest) == maxLargest && size < t.largest[maxLargest-1].size {
		return
	}
	t.largest = append(t.largest, sizedFile{name, size})
	slices.SortFunc(t.largest, func(a, b sizedFile) int { return cmp.Or(cmp.Compare(b.size, a.size), cmp.Compare(a.name, b.name)) })
	t.largest = t.largest[:min(len(t.largest), maxLargest)]
}

// finish writes the sentences of a tally.
func (t *tally) finish(r *reader, verb string) {
	if !t.seen {
		return
	}
	r.add("files", t.files)
	r.add("bytes", t.bytes)
	atLeast := ""
	if r.partial = r.partial || t.isPartial; r.stop != "" || t.isPartial {
		atLeast = "at least "
	}
	text := verb + " " + atLeast + count(t.files, "file", "files") + ", " + size(t.bytes)
	if t.files == 0 {
		text = verb + " " + atLeast + "no file"
	}
	switch {
	case t.keeps:
	case t.unknownGit != nil:
		r.note("Git can't be read (" + errorText(t.unknownGit) + "), so it is unknown what can be restored.")
	default:
		r.add("unrecoverable", t.fresh+t.changed)
		text += t.losses(atLeast)
	}
	if t == &r.replaced && t.files == 0 && atLeast == "" {
		return // it writes new files
	}
	r.say(text + ".")
	if t.files > 1 && len(t.largest) > 0 {
		names := make([]string, len(t.largest))
		for i, f := range t.largest {
			names[i] = r.quote(f.name) + " (" + size(f.size) + ")"
		}
		r.note("Largest: " + strings.Join(names, ", ") + ".")
	}
	for _, dir := range t.histories {
		r.note("The git repository " + r.quote(dir) + " loses its history.")
	}
	if len(t.missing) > 0 {
		r.note("Nothing is at " + r.list(t.missing) + ".")
	}
}

func (t *tally) losses(atLeast string) string {
	var parts []string
	if t.fresh > 0 && t.noRepo {
		parts = append(parts, fmt.Sprintf("%s%s in no git repository and can't be restored", atLeast, ofThem(t.fresh)))
	} else if t.fresh > 0 {
		parts = append(parts, fmt.Sprintf("%s%s neither in git nor ignored and can't be restored", atLeast, ofThem(t.fresh)))
	}
	if t.changed > 0 {
		has := "have"
		if t.changed == 1 {
			has = "has"
		}
		parts = append(parts, fmt.Sprintf("%s%d of them %s changes that are not in git", atLeast, t.changed, has))
	}
	if len(parts) == 0 {
		return ""
	}
	return "; " + strings.Join(parts, ", ")
}

func ofThem(n int64) string {
	if n == 1 {
		return "1 of them is"
	}
	return strconv.FormatInt(n, 10) + " of them are"
}

// target counts the files at a path of the call. recursive is set if folders count with everything below them.
func (r *reader) target(t *tally, p string, recursive bool) {
	t.seen = true
	if home := strings.TrimPrefix(p, "~"); home != p && (home == "" || home[0] == '/') && r.Home != "" {
		p = r.Home + home
	}
	if strings.ContainsRune(p, 0) || !filepath.IsAbs(filepath.FromSlash(p)) {
		t.isPartial = true
		r.incomplete("A path in it is known only when it runs.")
		return
	}
	p = filepath.FromSlash(path.Clean(p))
	parent := resolved(filepath.Dir(p))
	real := filepath.Join(parent, filepath.Base(p))
	r.changesPath(p, real)
	if t.counted == nil {
		t.counted = map[string]bool{}
	}
	if t.counted[real] {
		return
	}
	t.counted[real] = true
	info, err := os.Lstat(real)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		t.missing = append(t.missing, p)
		return
	case err != nil:
		t.isPartial = true
		r.incomplete(r.quote(p) + " can't be read.")
		return
	case info.IsDir() && !recursive:
		return
	}
	w := fileCounter{reader: r, tally: t, repo: r.repoOf(parent)}
	if w.repo.git == nil {
		w.noGit = true
		w.file(node{path: real, info: info}, nil)
		return
	}
	rel, _ := filepath.Rel(w.repo.git.Root, real)
	rel = filepath.ToSlash(rel)
	rules, ignored := w.rulesFor(rel)
	w.file(node{real, rel, info, ignored || rules != nil && rules.Match(rel, info.IsDir())}, rules)
}

// changesPath records that the call changes a path, and whether it is outside the project.
func (r *reader) changesPath(p, real string) {
	if name := filepath.ToSlash(p); len(r.changes) < schema.MaxChanged && !slices.Contains(r.changes, name) &&
		!strings.ContainsFunc(name, isControl) && len(name) <= schema.MaxConsequencePath {
		r.changes = append(r.changes, name)
	}
	switch {
	case r.root == "" || r.inProject(real):
		return
	case r.inProject(p):
		r.note(r.quote(p) + " is outside the project: a link leads to " + strconv.Quote(short(real)) + ".")
	default:
		r.note(r.quote(p) + " is outside the project.")
	}
	r.outside = true
}

func isControl(c rune) bool { return c < ' ' || c >= 0x7f && c < 0xa0 }

// fileCounter visits the files of a target.
type fileCounter struct {
	*reader
	tally *tally
	repo  *repo
	noGit bool // no repository has the files, or the files are its own
}

// rulesFor returns the ignore rules in the folder of a path, and whether a folder above it is ignored.
func (w *fileCounter) rulesFor(rel string) (rules *gitread.Ignore, ignored bool) {
	if w.repo.err != nil {
		w.tally.unknownGit = w.repo.err
		return nil, false
	}
	rules, err := w.repo.git.Ignored()
	dir := ""
	for err == nil {
		if rules, err = w.repo.git.In(rules, dir); err != nil {
			break
		}
		next, _, more := strings.Cut(strings.TrimPrefix(rel, dir), "/")
		if !more {
			return rules, ignored
		}
		ignored = ignored || rules.Match(dir+next, true)
		dir += next + "/"
	}
	w.tally.unknownGit = err
	return nil, false
}

// node is a file or a folder.
type node struct {
	path, rel string // rel: in the repository
	info      fs.FileInfo
	isIgnored bool // or a folder above it is
}

// file counts a file or, with everything below it, a folder. rules are those of the folder that has it.
func (w *fileCounter) file(n node, rules *gitread.Ignore) {
	if w.entries++; w.stopped() {
		return
	}
	switch {
	case n.info.IsDir():
		w.folder(n, rules)
	case !n.info.Mode().IsRegular():
		w.tally.addFile(n.path, 0)
		w.classify(n)
	default:
		w.tally.addFile(n.path, n.info.Size())
		w.classify(n)
	}
}

// classify counts a file whose content nothing else has.
func (w *fileCounter) classify(n node) {
	t := w.tally
	if t.keeps || t.unknownGit != nil {
		return
	}
	if w.noGit {
		t.fresh++
		t.noRepo = true
		return
	}
	entry := w.repo.index.Find(n.rel)
	if entry == nil {
		if !n.isIgnored {
			t.fresh++
		}
		return
	}
	changed, err := w.repo.git.IsChanged(w.repo.index, entry, n.info)
	if err != nil {
		t.isPartial = true
		w.incomplete("Not every changed file could be compared with git.")
	}
	if changed {
		t.changed++
	}
}

// parallel calls fn for 0 to n-1. A file system answers several calls at a time.
func parallel(n int, fn func(i int)) {
	const workers, fewest = 4, 16
	if n < fewest {
		for i := range n {
			fn(i)
		}
		return
	}
	var group sync.WaitGroup
	for worker := range workers {
		group.Go(func() {
			for i := worker; i < n; i += workers {
				fn(i)
			}
		})
	}
	group.Wait()
}

// maxBatch is how many entries of a folder are read together.
const maxBatch = 1024

func (w *fileCounter) folder(n node, rules *gitread.Ignore) {
	if filepath.Base(n.path) == ".git" && !w.tally.keeps {
		w.tally.histories = append(w.tally.histories, filepath.Dir(n.path))
		history := fileCounter{reader: w.reader, tally: &tally{keeps: true}, repo: w.repo, noGit: true}
		history.entriesOf(n.path, func(child string, info fs.FileInfo) { history.file(node{path: child, info: info}, nil) })
		w.tally.files, w.tally.bytes = w.tally.files+history.tally.files, w.tally.bytes+history.tally.bytes
		w.tally.isPartial = w.tally.isPartial || history.tally.isPartial
		return
	}
	if !w.noGit && w.tally.unknownGit == nil && rules != nil {
		var err error
		if rules, err = w.repo.git.In(rules, n.rel+"/"); err != nil {
			w.tally.unknownGit = err
		}
	}
	w.entriesOf(n.path, func(p string, info fs.FileInfo) {
		child := node{path: p, info: info}
		if !w.noGit {
			child.rel = n.rel + "/" + info.Name()
			child.isIgnored = n.isIgnored || rules != nil && rules.Match(child.rel, info.IsDir())
		}
		w.file(child, rules)
	})
}

// entriesOf calls fn for the entries of a folder. A folder that can't be read makes the result partial.
func (w *fileCounter) entriesOf(p string, fn func(child string, info fs.FileInfo)) {
	f, err := os.Open(p)
	if err == nil {
		defer func() { _ = f.Close() }()
	}
	for err == nil && !w.stopped() {
		var entries []fs.DirEntry
		entries, err = f.ReadDir(maxBatch)
		infos := make([]fs.FileInfo, len(entries))
		parallel(len(entries), func(i int) { infos[i], _ = entries[i].Info() })
		for _, info := range infos {
			if w.stopped() {
				return
			}
			if info != nil { // not deleted in the meantime
				fn(p+string(filepath.Separator)+info.Name(), info)
			}
		}
	}
	if err != nil && !errors.Is(err, io.EOF) {
		w.tally.isPartial = true
		w.incomplete("A folder can't be read: " + w.quote(p) + ".")
	}
}

// expand returns the paths that a pattern of a shell matches, or the path itself.
func (r *reader) expand(p string) []string {
	volume := filepath.VolumeName(p)
	paths := []string{volume + "/"}
	for part := range strings.SplitSeq(strings.TrimPrefix(p[len(volume):], "/"), "/") {
		var next []string
		for _, at := range paths {
			if strings.ContainsAny(part, "*?[") {
				next = append(next, r.matches(at, part)...)
			} else {
				next = append(next, path.Join(at, part))
			}
		}
		paths = next
	}
	if len(paths) == 0 {
		return []string{p}
	}
	return paths
}

// matches returns the entries of a folder that a pattern matches.
func (r *reader) matches(dir, pattern string) (found []string) {
	f, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }()
	for !r.stopped() {
		names, err := f.Readdirnames(maxBatch)
		for _, name := range names {
			r.entries++
			isHidden := strings.HasPrefix(name, ".") && !strings.HasPrefix(pattern, ".")
			if ok, _ := path.Match(strings.ReplaceAll(pattern, "[!", "[^"), name); ok && !isHidden {
				found = append(found, path.Join(dir, name))
			}
		}
		if err != nil {
			break
		}
	}
	slices.Sort(found)
	return found
}

func (w *fileCounter) gitRoot() string {
	if w.noGit {
		return string(filepath.Separator)
	}
	return w.repo.git.Root
}

// ignoredFile returns the rules for a file, and whether it is ignored.
func (w *fileCounter) ignoredFile(rel string, info fs.FileInfo) (*gitread.Ignore, bool) {
	if w.noGit || w.tally.keeps || w.repo.err == nil && w.repo.index.Find(rel) != nil {
		return nil, false
	}
	rules, ignored := w.rulesFor(rel)
	return rules, ignored || rules != nil && rules.Match(rel, info.IsDir())
}
