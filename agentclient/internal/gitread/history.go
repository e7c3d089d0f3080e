package gitread

import (
	"container/heap"
	"crypto/sha1" //nolint:gosec // the names of git's objects
	"errors"
	"slices"
	"strconv"
	"strings"
)

// TreeEntry is a file or a folder in a tree.
type TreeEntry struct {
	Name   string
	OID    OID
	IsDir  bool
	IsFile bool // a regular one: no link, and no submodule
}

func (r *Repository) treeOf(id OID) (list []TreeEntry, err error) {
	kind, text, err := r.object(id)
	if err != nil || kind != "tree" {
		return nil, firstError(err, errObject)
	}
	for text != "" {
		mode, rest, ok1 := strings.Cut(text, " ")
		name, rest, ok2 := strings.Cut(rest, "\x00")
		if !ok1 || !ok2 || len(rest) < sha1.Size || len(list) > maxEntries {
			return nil, errObject
		}
		list = append(list, TreeEntry{name, OID(rest[:sha1.Size]), mode == "40000", strings.HasPrefix(mode, "100")})
		text = rest[sha1.Size:]
	}
	return list, nil
}

const maxEntries = 200_000 // of a tree

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// Files adds the files of a tree to a map, by path. It skips the folders of which skip returns true.
func (r *Repository) Files(tree OID, dir string, files map[string]OID, skip func(dir string, tree OID) bool) error {
	if tree == "" || skip != nil && skip(dir, tree) {
		return nil
	}
	list, err := r.treeOf(tree)
	if err != nil || strings.Count(dir, "/") > 500 || len(files) > maxEntries {
		return firstError(err, ErrStopped)
	}
	for _, e := range list {
		if !e.IsDir {
			files[dir+e.Name] = e.OID
		} else if err := r.Files(e.OID, dir+e.Name+"/", files, skip); err != nil {
			return err
		}
	}
	return nil
}

// FileAt returns the content of a regular file of a commit, and whether the commit has such a path. An object that is
// missing is an error.
func (r *Repository) FileAt(commit OID, path string) (text string, found bool, err error) {
	c, err := r.Commit(commit)
	if err != nil {
		return "", false, err
	}
	at := TreeEntry{OID: c.Tree, IsDir: true}
	for name := range strings.SplitSeq(path, "/") {
		if !at.IsDir {
			return "", false, nil
		}
		list, err := r.treeOf(at.OID)
		if err != nil {
			return "", false, err
		}
		i := slices.IndexFunc(list, func(e TreeEntry) bool { return e.Name == name })
		if i < 0 {
			return "", false, nil
		}
		at = list[i]
	}
	if !at.IsFile {
		return "", true, errors.New("is not a regular file")
	}
	text, err = r.Blob(at.OID)
	return text, true, err
}

// HasTree reports whether the files of the index below a folder are exactly those of a tree. dir ends with a slash, or is empty.
func (x *Index) HasTree(dir string, tree OID) bool { return x.trees[dir] == tree }

// Commit is a commit.
type Commit struct {
	Tree    OID
	Parents []OID
	Author  string
	Time    int64 // of the committer
}

// Commit reads a commit, or the commit of a tag.
func (r *Repository) Commit(id OID) (*Commit, error) {
	var kind, text string
	var err error
	for range 5 {
		if kind, text, err = r.object(id); err != nil || kind != "tag" {
			break
		}
		id, _ = parseOID(strings.TrimPrefix(text[:max(0, strings.IndexByte(text, '\n'))], "object "))
	}
	if err != nil || kind != "commit" {
		return nil, firstError(err, errObject)
	}
	c := &Commit{}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		switch name {
		case "":
			return c, nil // the message follows
		case "tree":
			c.Tree, _ = parseOID(value)
		case "parent":
			parent, _ := parseOID(value)
			c.Parents = append(c.Parents, parent)
		case "author":
			c.Author = strings.TrimSpace(value[:max(0, strings.IndexByte(value, '<'))])
		case "committer":
			fields := strings.Fields(value)
			if len(fields) > 1 {
				c.Time, _ = strconv.ParseInt(fields[len(fields)-2], 10, 64)
			}
		}
	}
	return c, nil
}

// commitNode is a commit of a search.
type commitNode struct {
	id      OID
	commit  *Commit
	isLost  bool // reachable from the old one
	isKept  bool // reachable from one of the others
	isQueue bool
}

type newestFirst []*commitNode

func (q newestFirst) Len() int           { return len(q) }
func (q newestFirst) Less(i, j int) bool { return q[i].commit.Time > q[j].commit.Time }
func (q newestFirst) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *newestFirst) Push(x any)        { *q = append(*q, x.(*commitNode)) }
func (q *newestFirst) Pop() (x any) {
	last := len(*q) - 1
	x, *q = (*q)[last], (*q)[:last]
	return x
}

// Lost returns the authors of the commits that a commit has and none of the others, with their numbers. If an error
// ends the walk, some may be missing, and some may be in the others.
func (r *Repository) Lost(old OID, kept ...OID) (authors map[string]int64, err error) {
	w := &commitSearch{r: r, all: map[OID]*commitNode{}}
	err = w.add(old, true, false)
	for _, id := range kept {
		if addErr := w.add(id, false, true); addErr != nil && err == nil {
			err = addErr
		}
	}
	for err == nil && w.open > 0 && len(w.queue) > 0 {
		next := heap.Pop(&w.queue).(*commitNode)
		next.isQueue = false
		if next.isLost && !next.isKept {
			w.open--
		}
		for _, parent := range next.commit.Parents {
			if addErr := w.add(parent, next.isLost, next.isKept); addErr != nil {
				err = addErr
			}
		}
	}
	authors = map[string]int64{}
	for _, c := range w.all {
		if c.isLost && !c.isKept {
			authors[c.commit.Author]++
		}
	}
	return authors, err
}

// commitSearch visits commits, the newest first, until all that are left are kept.
type commitSearch struct {
	r     *Repository
	all   map[OID]*commitNode
	queue newestFirst
	open  int // commits in the queue that may be lost
}

func (w *commitSearch) add(id OID, isLost, isKept bool) error {
	c := w.all[id]
	if c == nil {
		commit, err := w.r.Commit(id)
		if err != nil {
			return err
		}
		c = &commitNode{id: id, commit: commit}
		w.all[id] = c
	} else if (c.isLost || !isLost) && (c.isKept || !isKept) {
		return nil
	}
	if c.isQueue && c.isLost && !c.isKept {
		w.open--
	}
	c.isLost, c.isKept = c.isLost || isLost, c.isKept || isKept
	if !c.isQueue {
		c.isQueue = true
		heap.Push(&w.queue, c)
	}
	if c.isLost && !c.isKept {
		w.open++
	}
	return nil
}
