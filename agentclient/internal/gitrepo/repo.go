// Package gitrepo reads references and objects of a git repository from its files. It starts no program, reads no
// configuration and opens regular files only, and it bounds what it reads: a hostile repository runs nothing,
// blocks no hook and fills no memory. Repositories with SHA-256 or reftables are errors.
package gitrepo

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Limits of one Repo.
const (
	maxLine       = 8 << 10  // bytes of a small file, such as HEAD
	maxPackedRefs = 64 << 20 // bytes
	maxInflated   = 64 << 20 // bytes of all objects that one Repo reads
	maxLinks      = 5        // of symbolic references, and of alternates
)

// ErrNotFound is the error for an absent repository, reference, object or file.
var ErrNotFound = errors.New("not found")

// ID names an object.
type ID [20]byte

// String returns the name in hex.
func (id ID) String() string { return hex.EncodeToString(id[:]) }

// parseID reads the 40 hex digits of an object.
func parseID(text string) (id ID, err error) {
	if n, err := hex.Decode(id[:], []byte(text[:min(len(text), 2*len(id))])); err != nil || n != len(id) || len(text) != 2*n {
		return ID{}, errors.New("not the name of an object")
	}
	return id, nil
}

// Repo is a repository with a working tree. It is not safe for concurrent use.
type Repo struct {
	WorkTree  string
	GitDir    string // of the working tree: HEAD and index
	CommonDir string // of all working trees: refs and objects

	inflated int64
	objects  []string // directories; nil: not read yet
}

// Open returns the repository whose working tree contains dir, an absolute path.
func Open(dir string) (*Repo, error) {
	for top := filepath.Clean(dir); ; top = filepath.Dir(top) {
		link := filepath.Join(top, ".git")
		switch info, err := os.Stat(link); {
		case err == nil && info.IsDir():
			return newRepo(top, link)
		case err == nil:
			text, err := readFile(link, maxLine)
			folder, ok := strings.CutPrefix(string(bytes.TrimSpace(text)), "gitdir: ")
			if err != nil || !ok {
				return nil, fmt.Errorf("%s names no repository", link)
			}
			return newRepo(top, within(top, folder))
		case top == filepath.Dir(top):
			return nil, fmt.Errorf("repository of %s: %w", dir, ErrNotFound)
		}
	}
}

func newRepo(workTree, gitDir string) (*Repo, error) {
	r := &Repo{WorkTree: workTree, GitDir: gitDir, CommonDir: gitDir}
	if text, err := readFile(filepath.Join(gitDir, "commondir"), maxLine); err == nil {
		r.CommonDir = within(gitDir, string(bytes.TrimSpace(text)))
	}
	if _, err := os.Stat(filepath.Join(r.CommonDir, "reftable")); err == nil {
		return nil, errors.New("repositories with reftables can't be read")
	}
	return r, nil
}

// within returns a path that git wrote, which may be relative to dir.
func within(dir, name string) string {
	if name = filepath.FromSlash(name); !filepath.IsAbs(name) {
		name = filepath.Join(dir, name)
	}
	return filepath.Clean(name)
}

// openFile opens a regular file. A named pipe would block.
func openFile(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil, ErrNotFound
	} else if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		_ = f.Close()
		return nil, fmt.Errorf("%s is not a regular file", filepath.Base(name))
	}
	return f, nil
}

// readFile returns the content of a regular file of at most limit bytes.
func readFile(name string, limit int64) ([]byte, error) {
	f, err := openFile(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, limit+1))
	if int64(len(text)) > limit {
		return nil, fmt.Errorf("%s is larger than %d bytes", filepath.Base(name), limit)
	}
	return text, err
}

// Ref returns the object of a reference, such as HEAD or refs/heads/main, and its name at the end of symbolic
// references.
func (r *Repo) Ref(name string) (id ID, final string, err error) {
	for range maxLinks {
		dir := r.CommonDir
		if name == "HEAD" {
			dir = r.GitDir
		} else if !strings.HasPrefix(name, "refs/") || !filepath.IsLocal(filepath.FromSlash(name)) || strings.Contains(name, "..") {
			return id, name, errors.New("not a reference")
		}
		text, err := readFile(filepath.Join(dir, filepath.FromSlash(name)), maxLine)
		line := string(bytes.TrimSpace(text))
		if target, ok := strings.CutPrefix(line, "ref:"); err == nil && ok {
			name = strings.TrimSpace(target)
			continue
		}
		if err == nil {
			id, err = parseID(line)
			return id, name, err
		}
		id, err = r.packedRef(name)
		return id, name, err
	}
	return id, name, errors.New("too many symbolic references")
}

func (r *Repo) packedRef(name string) (ID, error) {
	text, err := readFile(filepath.Join(r.CommonDir, "packed-refs"), maxPackedRefs)
	if err != nil {
		return ID{}, err
	}
	for line := range bytes.Lines(text) {
		if id, ref, ok := strings.Cut(string(bytes.TrimSpace(line)), " "); ok && ref == name {
			return parseID(id)
		}
	}
	return ID{}, ErrNotFound
}

// Commit is the part of a commit that readers use.
type Commit struct {
	Tree    ID
	Parents []ID
	Author  string // name and mail address, as written
}

// Commit returns a commit.
func (r *Repo) Commit(id ID) (c Commit, err error) {
	kind, text, err := r.Object(id, 1<<20)
	if err == nil && kind != KindCommit {
		err = errors.New("not a commit")
	}
	for line := range bytes.Lines(text) {
		name, value, ok := strings.Cut(strings.TrimSuffix(string(line), "\n"), " ")
		if err != nil || !ok {
			break // an empty line ends the header
		}
		switch name {
		case "tree":
			c.Tree, err = parseID(value)
		case "parent":
			var parent ID
			parent, err = parseID(value)
			c.Parents = append(c.Parents, parent)
		case "author":
			c.Author = value[:strings.LastIndexByte(value, '>')+1]
		}
	}
	return c, err
}

// Entry is one entry of a tree.
type Entry struct {
	Mode string // such as 100644, 120000 for a link, 40000 for a tree, 160000 for a submodule
	Name string
	ID   ID
}

// Tree returns the entries of a tree.
func (r *Repo) Tree(id ID) (entries []Entry, err error) {
	kind, text, err := r.Object(id, 16<<20)
	if err == nil && kind != KindTree {
		err = errors.New("not a tree")
	}
	for err == nil && len(text) > 0 {
		head, rest, ok := bytes.Cut(text, []byte{0})
		mode, name, isEntry := strings.Cut(string(head), " ")
		if !ok || !isEntry || len(rest) < len(ID{}) {
			return nil, errors.New("the tree is damaged")
		}
		entries = append(entries, Entry{mode, name, ID(rest[:len(ID{})])})
		text = rest[len(ID{}):]
	}
	return entries, err
}

// File returns the content of a regular file of at most limit bytes in a commit. The path has slashes.
func (r *Repo) File(commit ID, path string, limit int64) ([]byte, error) {
	c, err := r.Commit(commit)
	at := Entry{Mode: "40000", ID: c.Tree}
	for name := range strings.SplitSeq(path, "/") {
		if err != nil {
			return nil, err
		}
		var entries []Entry
		if at.Mode != "40000" {
			return nil, ErrNotFound
		}
		entries, err = r.Tree(at.ID)
		at = Entry{}
		for _, e := range entries {
			if e.Name == name {
				at = e
			}
		}
		if err == nil && at.Name == "" {
			return nil, ErrNotFound
		}
	}
	if err != nil || !strings.HasPrefix(at.Mode, "100") {
		return nil, errors.Join(err, fmt.Errorf("%s is not a regular file", path))
	}
	kind, text, err := r.Object(at.ID, limit)
	if err == nil && kind != KindBlob {
		err = errors.New("not a file")
	}
	return text, err
}
