// Package gitread reads git repositories without git: their index, refs, objects and ignore files.
//
// A repository can be hostile, so the package starts no program, follows no link and no alternate out of
// the repository, reads only regular files, and limits its reading. It changes nothing. A file that it can't read
// is an error, and never counts as absent.
package gitread

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hookback/hookback/agentclient/project"
)

// Limits of each kind of file, in bytes.
const (
	maxText   = 1 << 20 // a ref, a configuration or an ignore file
	maxRefs   = 16 << 20
	maxIndex  = 64 << 20
	MaxObject = 8 << 20 // an object, and a file that is compared with one
)

// Errors of Open and of objects.
var (
	ErrNoRepository = errors.New("there is no git repository")
	ErrNotFound     = errors.New("not found")
	ErrStopped      = errors.New("the time limit ended the reading")
)

// Repository is a git repository with a working tree.
type Repository struct {
	Root string // of the working tree
	// Stop ends the reading when it returns true; nil: never.
	Stop func() bool

	tree   *os.Root // of the working tree
	own    *os.Root // HEAD and the index
	common *os.Root // refs and objects
	packs  []*pack  // nil: not read yet
	read   int64    // bytes of objects
}

// Open opens the repository whose working tree has a directory. The caller closes it.
func Open(dir string) (*Repository, error) {
	for at := filepath.Clean(dir); ; at = filepath.Dir(at) {
		info, err := os.Lstat(filepath.Join(at, ".git"))
		switch {
		case err == nil:
			return open(at, info)
		case !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) && !errors.Is(err, errNotDir):
			return nil, err
		case at == filepath.Dir(at):
			return nil, ErrNoRepository
		}
	}
}

func open(root string, info fs.FileInfo) (r *Repository, err error) {
	r = &Repository{Root: root}
	defer func() {
		if err != nil {
			r.Close()
		}
	}()
	if r.tree, err = os.OpenRoot(root); err != nil {
		return r, err
	}
	own, common := filepath.Join(root, ".git"), filepath.Join(root, ".git")
	switch {
	case info.Mode().IsRegular():
		if own, common, err = r.linked(); err != nil {
			return r, err
		}
	case !info.IsDir():
		return r, errors.New(".git is a link, which is not followed")
	}
	if r.own, err = os.OpenRoot(own); err != nil {
		return r, err
	}
	if r.common, err = os.OpenRoot(common); err != nil {
		return r, err
	}
	config, err := r.text("config")
	lower := strings.ToLower(config)
	if err == nil && (strings.Contains(lower, "sha256") || strings.Contains(lower, "reftable") || strings.Contains(lower, "worktree =")) {
		err = errors.New("its format is not supported")
	}
	return r, err
}

// linked returns the folders of a linked working tree or of a submodule, whose .git is a file. A file of an
// archive could name any folder, so the other end must agree: the repository names the working tree, or
// the submodule is below the working tree of its repository.
func (r *Repository) linked() (own, common string, err error) {
	text, err := readIn(r.tree, ".git", maxText)
	if err != nil {
		return "", "", err
	}
	own = strings.TrimPrefix(strings.TrimSpace(text), "gitdir: ")
	if own = filepath.FromSlash(own); !filepath.IsAbs(own) {
		own = filepath.Join(r.Root, own)
	}
	if project.Main(r.Root) != r.Root {
		return own, filepath.Dir(filepath.Dir(own)), nil
	}
	for at := filepath.Dir(r.Root); ; at = filepath.Dir(at) {
		modules := filepath.Join(at, ".git", "modules")
		if rel, err := filepath.Rel(modules, own); err == nil && filepath.IsLocal(rel) {
			parent, err := os.OpenRoot(filepath.Join(at, ".git"))
			if err != nil {
				return "", "", err
			}
			defer func() { _ = parent.Close() }()
			if info, err := parent.Stat(filepath.Join("modules", rel)); err != nil || !info.IsDir() {
				return "", "", errors.New("its submodule can't be read")
			}
			return own, own, nil
		}
		if at == filepath.Dir(at) {
			return "", "", errors.New("its .git names a folder elsewhere, which is not followed")
		}
	}
}

// Close closes the repository. A nil repository is closed.
func (r *Repository) Close() {
	if r == nil {
		return
	}
	for _, p := range r.packs {
		p.close()
	}
	for _, root := range []*os.Root{r.tree, r.own, r.common} {
		if root != nil {
			_ = root.Close()
		}
	}
}

func (r *Repository) stopped() bool { return r.Stop != nil && r.Stop() }

// openIn opens a regular file below a folder. It follows no link out of the folder, and does not block on a
// named pipe.
func openIn(root *os.Root, name string) (*os.File, fs.FileInfo, error) {
	f, err := root.OpenFile(filepath.FromSlash(name), os.O_RDONLY|nonBlocking, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", path.Base(name))
	}
	if err != nil {
		_ = f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// readIn returns the content of a regular file below a folder, of at most limit bytes.
func readIn(root *os.Root, name string, limit int64) (string, error) {
	f, info, err := openIn(root, name)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	if info.Size() > limit {
		return "", fmt.Errorf("%s is larger than %d bytes", path.Base(name), limit)
	}
	var text strings.Builder
	text.Grow(int(info.Size()))
	n, err := io.Copy(&text, io.LimitReader(f, limit+1))
	if err == nil && n > limit {
		err = fmt.Errorf("%s is larger than %d bytes", path.Base(name), limit)
	}
	return text.String(), err
}

// File returns the content of a file in the working tree, of at most MaxObject bytes.
func (r *Repository) File(rel string) (string, error) { return readIn(r.tree, rel, MaxObject) }

// ReadFile returns the content of a file outside of a repository, of at most MaxObject bytes. It follows no link.
func ReadFile(p string) (string, error) {
	root, err := os.OpenRoot(filepath.Dir(p))
	if err != nil {
		return "", err
	}
	defer func() { _ = root.Close() }()
	return readIn(root, filepath.Base(p), MaxObject)
}

// text returns a file of the repository, "" if it does not exist: of this working tree, or common to all.
func (r *Repository) text(name string) (string, error) {
	for _, root := range []*os.Root{r.own, r.common} {
		text, err := readIn(root, name, maxText)
		if err == nil || !errors.Is(err, fs.ErrNotExist) {
			return text, err
		}
	}
	return "", nil
}

// OID is the name of an object: 20 bytes.
type OID string

// Ref returns the object of a ref with its full name, such as HEAD or refs/heads/main; "" if it does not exist.
func (r *Repository) Ref(name string) (OID, error) {
	for range 6 {
		if !filepath.IsLocal(name) || strings.Contains(name, "\\") {
			return "", nil
		}
		text, err := r.text(name)
		if err != nil && !errors.Is(err, errIsDir) {
			return "", err
		}
		text = strings.TrimSpace(text)
		if target, isSymbolic := strings.CutPrefix(text, "ref:"); isSymbolic {
			name = strings.TrimSpace(target)
			continue
		}
		if oid, ok := parseOID(text); ok {
			return oid, nil
		}
		packed, err := r.packedRefs()
		return packed[name], err
	}
	return "", errors.New("a ref names itself")
}

// HeadBranch returns the full name of the branch that HEAD names; "": none.
func (r *Repository) HeadBranch() string {
	text, _ := r.text("HEAD")
	target, _ := strings.CutPrefix(strings.TrimSpace(text), "ref:")
	return strings.TrimSpace(target)
}

func (r *Repository) packedRefs() (map[string]OID, error) {
	text, err := readIn(r.common, "packed-refs", maxRefs)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	refs := map[string]OID{}
	for line := range strings.Lines(text) {
		hex, name, ok := strings.Cut(strings.TrimSpace(line), " ")
		if oid, isOID := parseOID(hex); ok && isOID {
			refs[name] = oid
		}
	}
	return refs, err
}

// maxRefFiles limits the refs that Refs reads.
const maxRefFiles = 5000

// Refs returns all branches, remote-tracking branches and tags.
func (r *Repository) Refs() (map[string]OID, error) {
	refs, err := r.packedRefs()
	if err != nil {
		return nil, err
	}
	if refs == nil {
		refs = map[string]OID{}
	}
	files := 0
	for _, dir := range []string{"refs/heads", "refs/remotes", "refs/tags"} {
		err := fs.WalkDir(r.common.FS(), dir, func(name string, entry fs.DirEntry, err error) error {
			if files++; files > maxRefFiles || r.stopped() {
				return ErrStopped
			}
			if errors.Is(err, fs.ErrNotExist) || err == nil && entry.IsDir() {
				return nil
			}
			if err != nil {
				return err
			}
			oid, err := r.Ref(name)
			if err == nil && oid != "" {
				refs[name] = oid
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return refs, nil
}

// Config returns the value of a key in the repository's configuration, such as branch "main" and remote; "" if
// there is none. Files that the configuration includes are not read.
func (r *Repository) Config(section, key string) string {
	text, _ := r.text("config")
	value, inSection := "", false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			inSection = line == "["+section+"]"
			continue
		}
		name, v, ok := strings.Cut(line, "=")
		if inSection && ok && strings.EqualFold(strings.TrimSpace(name), key) {
			value = strings.TrimSpace(v)
		}
	}
	return value
}

// Log returns the objects in the log of a ref, the newest first.
func (r *Repository) Log(ref string) (list []OID, err error) {
	text, err := r.text("logs/" + ref)
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		if oid, ok := parseOID(fields[1]); ok {
			list = append(list, oid)
		}
	}
	slices.Reverse(list)
	return list, err
}
