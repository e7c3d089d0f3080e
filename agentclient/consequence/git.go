package consequence

import (
	"cmp"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hookback/hookback/agentclient/call"
	"github.com/hookback/hookback/agentclient/call/programs"
	"github.com/hookback/hookback/agentclient/intent"
	"github.com/hookback/hookback/agentclient/internal/gitread"
)

// gitValued are options of the handled subcommands whose value is the next word.
var gitValued = strings.Fields("-s --source -o --push-option --repo --receive-pack --exec -e --exclude --pathspec-from-file --conflict")

// gitCall is a git command in a repository.
type gitCall struct {
	*reader
	repo  *repo
	dir   string   // where it runs, absolute
	words []string // the subcommand with its words
	args  []string // its operands
	shell []string // of them, the patterns that a shell expands
}

// git adds the consequences of a git command.
func (r *reader) git(cmd *call.Command, list []string) {
	dir, rest, known := cmd.Dir, list[1:], true
	for len(rest) > 0 && strings.HasPrefix(rest[0], "-") {
		switch value := rest[min(1, len(rest)-1)]; {
		case rest[0] == "-C":
			if dir = value; !path.IsAbs(value) {
				dir = path.Join(cmd.Dir, value)
			}
			rest = rest[1:]
		case rest[0] == "-c":
			rest = rest[1:]
		case !slices.Contains([]string{"--no-pager", "-P", "--paginate", "-p", "--no-optional-locks"}, rest[0]):
			known = false // such as --git-dir
		}
		rest = rest[min(1, len(rest)):]
	}
	if len(rest) == 0 {
		return
	}
	g := gitCall{reader: r, dir: resolved(filepath.FromSlash(dir)), words: rest, args: operands(cmd.Words[len(list)-len(rest)+1:], gitValued)}
	for i := range cmd.Words {
		if cmd.Words[i].Pattern {
			g.shell = append(g.shell, cmd.Words[i].Text)
		}
	}
	run := g.handler()
	switch {
	case run == nil:
		if !isHarmless(cmd, programs.WorkingDir{Project: r.root, Dir: cmd.Dir}) {
			r.unknown(cmd.Words[0].Text)
		}
		return
	case !known, len(cmd.Assignments) > 0, !path.IsAbs(dir), slices.ContainsFunc(cmd.Words, func(w call.Word) bool { return w.Dynamic }):
		r.incomplete("It is known only when it runs which files or commits git " + rest[0] + " changes.")
		return
	}
	g.repo = r.repoOf(g.dir)
	switch {
	case g.repo.err != nil:
		r.incomplete("Git can't be read (" + errorText(g.repo.err) + "), so it is unknown what git " + rest[0] + " changes.")
	case g.repo.git == nil:
		r.say("There is no git repository at " + r.quote(g.dir) + ".")
	default:
		if err := run(); err != nil {
			r.incomplete("Not everything that git " + rest[0] + " changes could be read (" + errorText(err) + ").")
		}
	}
}

// has reports whether the command may have one of the options.
func (g *gitCall) has(names ...string) bool { return programs.HasOption(g.words, names...) }

// hasFlag reports whether the command certainly has one of the options.
func (g *gitCall) hasFlag(names ...string) bool {
	return programs.HasFlag(append([]string{"git"}, g.words...), names...)
}

// handler returns the function for a subcommand that loses something; nil: it loses nothing that is known.
func (g *gitCall) handler() func() error {
	switch sub := g.words[0]; {
	case sub == "clean" && !g.hasFlag("n", "dry-run"):
		return g.clean
	case sub == "reset" && g.has("hard"):
		return func() error { return g.uncommitted([]string{""}, true) }
	case sub == "checkout" && !g.has("b", "B", "orphan"):
		return g.checkout
	case sub == "switch" && g.has("f", "force", "discard-changes"):
		return func() error { return g.uncommitted([]string{""}, true) }
	case sub == "restore" && (g.has("W", "worktree") || !g.hasFlag("S", "staged")):
		return func() error { return g.uncommitted(g.tracked(g.args), g.has("s", "source")) }
	case sub == "stash" && len(g.args) > 0 && (g.args[0] == "drop" || g.args[0] == "clear"):
		return g.dropStash
	case sub == "push":
		return g.push
	case sub == "branch" && g.has("d", "D", "delete"):
		return g.deleteBranches
	case sub == "rm" && !g.hasFlag("cached", "n", "dry-run"):
		return g.remove
	default:
		return nil
	}
}

// pathspecs returns operands as paths from the root of the repository; "" is all of it. Patterns are left out.
func (g *gitCall) pathspecs(operands []string) (paths []string) {
	for _, p := range operands {
		if strings.HasPrefix(p, ":") || strings.ContainsAny(p, "*?[") {
			g.incomplete("The pattern " + quoteName(p) + " of git is not evaluated.")
		} else if rel, ok := g.relative(p); ok {
			paths = append(paths, rel)
		}
	}
	return paths
}

// relative returns a path from the root of the repository.
func (g *gitCall) relative(p string) (rel string, ok bool) {
	if !filepath.IsAbs(p) {
		p = filepath.Join(g.dir, p)
	}
	rel, err := filepath.Rel(g.repo.git.Root, p)
	return strings.TrimPrefix(filepath.ToSlash(rel), "."), err == nil && (rel == "." || filepath.IsLocal(rel))
}

// tracked returns operands as paths of files and folders in the index. A pattern stands for the files that it matches: ":/" starts
// at the root of the repository, and ":!" and ":^" leave files out.
func (g *gitCall) tracked(operands []string) (paths []string) {
	var without []string
	hasOnlyWithout := len(operands) > 0
	for _, p := range operands {
		if slices.Contains(g.shell, p) {
			if found := g.expand(path.Join(filepath.ToSlash(g.dir), p)); len(found) > 1 || !strings.ContainsAny(found[0], "*?[") {
				paths, hasOnlyWithout = append(paths, g.pathspecs(found)...), false
				continue
			}
		}
		isLeftOut := strings.HasPrefix(p, ":!") || strings.HasPrefix(p, ":^")
		if isLeftOut {
			p = p[2:]
		} else if strings.HasPrefix(p, ":/") && !strings.HasPrefix(p, "://") {
			p = filepath.Join(g.repo.git.Root, p[2:])
		}
		rel, ok := g.relative(p)
		hasOnlyWithout = hasOnlyWithout && isLeftOut
		switch {
		case strings.HasPrefix(p, ":"):
			g.incomplete("The pattern " + quoteName(p) + " of git is not evaluated.")
		case ok && isLeftOut:
			without = append(without, rel)
		case ok && strings.ContainsAny(rel, "*?["):
			for _, e := range g.repo.index.Entries {
				if matchPath(rel, e.Path) {
					paths = append(paths, e.Path)
				}
			}
		case ok:
			paths = append(paths, rel)
		}
	}
	if len(without) == 0 {
		return paths
	}
	if hasOnlyWithout {
		paths = []string{""}
	}
	return g.leaveOut(paths, without)
}

// leaveOut returns the files of paths that no pattern of without matches.
func (g *gitCall) leaveOut(paths, without []string) (kept []string) {
	for _, rel := range paths {
		for _, e := range g.repo.index.Below(rel) {
			isOut := slices.ContainsFunc(without, func(p string) bool {
				return p == "" || strings.HasPrefix(e.Path+"/", p+"/") || matchPath(p, e.Path)
			})
			if !isOut {
				kept = append(kept, e.Path)
			}
		}
	}
	return kept
}

func (g *gitCall) remove() error {
	for _, rel := range g.tracked(g.args) {
		for _, e := range g.repo.index.Below(rel) {
			g.target(&g.removed, filepath.ToSlash(filepath.Join(g.repo.git.Root, e.Path)), false)
		}
	}
	return nil
}

// checkout adds the files whose changes a checkout discards: of paths, or of everything with -f. A branch without
// it keeps them.
func (g *gitCall) checkout() error {
	if g.has("f", "force") {
		return g.uncommitted([]string{""}, true)
	}
	paths, source := g.args, false
	if at := slices.Index(g.words, "--"); at >= 0 {
		paths, source = g.words[at+1:], at > 1 && !strings.HasPrefix(g.words[at-1], "-")
	} else if len(paths) > 0 {
		if oid, err := g.commit(paths[0]); err == nil && oid != "" {
			paths, source = paths[1:], true
		}
	}
	if len(paths) == 0 {
		return nil
	}
	return g.uncommitted(g.tracked(paths), source)
}

// commit returns the commit of a name: a ref, HEAD with ~ or ^, or a full hash; "": it is unknown.
func (g *gitCall) commit(name string) (gitread.OID, error) {
	base, back, _ := strings.Cut(strings.ReplaceAll(name, "^", "~1"), "~")
	if base == "@" {
		base = "HEAD"
	}
	var oid gitread.OID
	for _, prefix := range []string{"", "refs/", "refs/tags/", "refs/heads/", "refs/remotes/"} {
		if prefix == "" && base != "HEAD" && !strings.HasPrefix(base, "refs/") {
			continue
		}
		var err error
		if oid, err = g.repo.git.Ref(prefix + base); err != nil || oid != "" {
			if err != nil {
				return "", err
			}
			break
		}
	}
	if oid == "" {
		oid = gitread.HashOf(base)
	}
	for step := range strings.SplitSeq(back, "~") {
		if strings.TrimLeft(step, "0123456789") != "" || oid == "" || back == "" {
			break
		}
		for range atoi(cmp.Or(step, "1")) {
			c, err := g.repo.git.Commit(oid)
			if err != nil || len(c.Parents) == 0 {
				return "", err
			}
			oid = c.Parents[0]
		}
	}
	return oid, nil
}

func atoi(text string) (n int) {
	for _, c := range text {
		n = min(n*10+int(c-'0'), 10_000)
	}
	return n
}

// uncommitted adds the files below paths whose changes are lost: those that differ from the index or, with head set,
// from the commit of HEAD.
func (g *gitCall) uncommitted(paths []string, head bool) error {
	git, index := g.repo.git, g.repo.index
	committed := func(e *gitread.Entry) gitread.OID { return e.OID }
	if head {
		files, same, err := g.headFiles()
		if err != nil {
			return err
		}
		committed = func(e *gitread.Entry) gitread.OID {
			if oid, ok := files[e.Path]; ok || !same(e.Path) {
				return oid
			}
			return e.OID
		}
	}
	t := &tally{seen: true, keeps: true}
	lines := int64(0)
	for _, rel := range paths {
		for batch := range slices.Chunk(index.Below(rel), maxBatch) {
			infos := make([]fs.FileInfo, len(batch))
			parallel(len(batch), func(i int) {
				infos[i], _ = os.Lstat(git.Root + string(filepath.Separator) + filepath.FromSlash(batch[i].Path))
			})
			for i, info := range infos {
				if g.entries++; g.stopped() {
					break
				}
				if info == nil || info.IsDir() { // deleted: it comes back
					continue
				}
				e := &batch[i]
				changed, err := git.IsChanged(index, e, info)
				before := committed(e)
				switch {
				case err != nil:
					g.incomplete("Not every changed file could be compared with git.")
				case changed || before != e.OID:
					lost, ok := g.lostLines(e, before)
					if lines += lost; ok {
						t.addFile(filepath.Join(git.Root, e.Path), info.Size())
					}
				}
			}
		}
	}
	g.discards(t, lines)
	return nil
}

// lostLines returns the lines of a file that a commit does not have. ok is false if the file is equal.
func (g *gitCall) lostLines(e *gitread.Entry, before gitread.OID) (lines int64, ok bool) {
	after, err := g.repo.git.File(e.Path)
	old := ""
	if err == nil && before != "" {
		old, err = g.repo.git.Blob(before)
	}
	if err != nil {
		g.incomplete("Not every changed file could be compared with git.")
		return 0, true
	}
	if old == after && before != "" {
		return 0, false
	}
	added, _, isExact := intent.LineChanges(old, after)
	if !isExact {
		g.incomplete("A file is too long to count its lines exactly.")
	}
	return int64(added), true
}

func (g *gitCall) discards(t *tally, lines int64) {
	g.add("files", t.files)
	g.add("unrecoverable", t.files)
	g.add("lines", lines)
	if t.files == 0 {
		g.say("Discards no changes: there are none that are not committed.")
		return
	}
	atLeast := ""
	if g.stop != "" {
		atLeast = "at least "
	}
	g.say("Discards changes in " + atLeast + count(t.files, "file", "files") + ": " + count(lines, "line is", "lines are") + " lost.")
	names := make([]string, len(t.largest))
	for i, f := range t.largest {
		names[i] = f.name
	}
	g.note("Changed: " + g.reader.list(names) + ".")
}

// headFiles returns the files of HEAD, and a function that reports whether the file of the index is the one of HEAD
// because its folder is. The files of those folders are left out.
func (g *gitCall) headFiles() (files map[string]gitread.OID, same func(string) bool, err error) {
	git := g.repo.git
	files, equal := map[string]gitread.OID{}, map[string]bool{}
	head, err := git.Ref("HEAD")
	if err == nil && head != "" {
		var c *gitread.Commit
		if c, err = git.Commit(head); err == nil {
			err = git.Files(c.Tree, "", files, func(dir string, tree gitread.OID) bool {
				equal[dir] = g.repo.index.HasTree(dir, tree)
				return equal[dir]
			})
		}
	}
	return files, func(p string) bool {
		for dir := p; dir != ""; {
			dir = strings.TrimSuffix(dir, "/")
			if dir = dir[:strings.LastIndexByte(dir, '/')+1]; equal[dir] {
				return true
			}
		}
		return false
	}, err
}

// dropStash adds the changes in the stashes that are dropped.
func (g *gitCall) dropStash() error {
	git := g.repo.git
	stashes, err := git.Log("refs/stash")
	if err != nil {
		return err
	}
	if g.args[0] == "drop" {
		n := 0
		if len(g.args) > 1 {
			n = atoi(strings.TrimSuffix(strings.TrimPrefix(g.args[1], "stash@{"), "}"))
		}
		stashes = stashes[min(n, len(stashes)):min(n+1, len(stashes))]
	}
	t, lines := &tally{}, int64(0)
	for _, oid := range stashes {
		c, err := git.Commit(oid)
		if err != nil || len(c.Parents) == 0 {
			return err
		}
		base, err := git.Commit(c.Parents[0])
		if err != nil {
			return err
		}
		before, after := map[string]gitread.OID{}, map[string]gitread.OID{}
		if err := cmp.Or(git.Files(base.Tree, "", before, nil), git.Files(c.Tree, "", after, nil)); err != nil {
			return err
		}
		if len(c.Parents) > 2 { // files that were not tracked
			untracked, err := git.Commit(c.Parents[2])
			if err == nil {
				err = git.Files(untracked.Tree, "", after, nil)
			}
			if err != nil {
				return err
			}
		}
		for _, p := range slices.Sorted(maps.Keys(after)) {
			if after[p] == before[p] {
				continue
			}
			text, err := git.Blob(after[p])
			old := ""
			if err == nil && before[p] != "" {
				old, err = git.Blob(before[p])
			}
			if err != nil {
				return err
			}
			added, _, _ := intent.LineChanges(old, text)
			lines += int64(added)
			t.addFile(filepath.Join(git.Root, p), int64(len(text)))
		}
	}
	if len(stashes) == 0 {
		g.say("Drops no stash: there is none.")
		return nil
	}
	g.say("Drops " + count(int64(len(stashes)), "stash", "stashes") + ".")
	g.discards(t, lines)
	return nil
}
