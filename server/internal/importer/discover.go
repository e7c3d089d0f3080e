package importer

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hookback/hookback/agentclient/usage"
)

// projects is the folder with the transcripts of an agent. Links that leave it are not followed.
type projects struct {
	root *os.Root
	dir  string
}

// errNoSessions reports that Claude Code never ran here.
var errNoSessions = errors.New("there are no sessions of Claude Code to import")

// transcriptFile is a file of a session or of one of its subagents.
type transcriptFile struct {
	name     string // relative to the folder
	owner    string // the session by its name; "" if only the lines have it
	isMain   bool   // of the session itself
	modified time.Time
}

// sessionFiles are the files with lines of one session.
type sessionFiles struct {
	id       string
	files    []transcriptFile // its own first
	modified time.Time
}

// openProjects opens the folder of Claude Code.
func openProjects(env func(string) string) (*projects, error) {
	config := env("CLAUDE_CONFIG_DIR")
	if config == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return nil, fmt.Errorf("find the transcripts: %w", err)
		}
		config = filepath.Join(home, ".claude")
	}
	dir := filepath.Join(config, "projects")
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %s does not exist; set CLAUDE_CONFIG_DIR if they are in another place", errNoSessions, dir)
	}
	if err != nil {
		return nil, fmt.Errorf("find the transcripts: %w", err)
	}
	return &projects{root: root, dir: dir}, nil
}

func (p *projects) close() { _ = p.root.Close() }

// files returns all transcripts, and an error for each unreadable entry.
func (p *projects) files() (files []transcriptFile, problems []error) {
	folders, err := fs.ReadDir(p.root.FS(), ".")
	if err != nil {
		return nil, []error{err}
	}
	for _, folder := range folders {
		found, errs := p.filesIn(folder.Name())
		files, problems = append(files, found...), append(problems, errs...)
	}
	return files, problems
}

// filesIn returns the transcripts of one project.
func (p *projects) filesIn(folder string) (files []transcriptFile, problems []error) {
	if info, err := p.root.Stat(folder); err != nil || !info.IsDir() {
		return nil, problem(err)
	}
	entries, err := fs.ReadDir(p.root.FS(), folder)
	if err != nil {
		return nil, problem(err)
	}
	for _, entry := range entries {
		name := path.Join(folder, entry.Name())
		id, isTranscript := strings.CutSuffix(entry.Name(), ".jsonl")
		if !isTranscript {
			files = append(files, p.subagents(entry.Name(), path.Join(name, "subagents"))...)
			continue
		}
		info, err := p.root.Stat(name)
		switch {
		case err != nil:
			problems = append(problems, err)
		case !info.Mode().IsRegular():
			problems = append(problems, fmt.Errorf("%s is not a file", name))
		case strings.HasPrefix(id, "agent-"): // as earlier versions named them
			files = append(files, transcriptFile{name: name, modified: info.ModTime()})
		default:
			files = append(files, transcriptFile{name, id, true, info.ModTime()})
		}
	}
	return files, problems
}

// subagents returns the transcripts of a session's subagents. Those of a workflow are deeper.
func (p *projects) subagents(id, folder string) (files []transcriptFile) {
	_ = fs.WalkDir(p.root.FS(), folder, func(name string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(name, ".jsonl") {
			return nil //nolint:nilerr // most sessions have no subagents
		}
		if info, err := p.root.Stat(name); err == nil && info.Mode().IsRegular() {
			files = append(files, transcriptFile{name, id, false, info.ModTime()})
		}
		return nil
	})
	return files
}

// index has the sessions of the files that were read.
type index struct {
	books    *usage.Books
	sessions map[string]*sessionFiles
	problems []error
}

// index reads the usage in the files of the sessions that are wanted, which may have lines of others: those are
// wanted, too, if that changes when they were active. Sessions without files are not wanted.
func (p *projects) index(files []transcriptFile, wanted func(id string, modified time.Time) bool) *index {
	x := &index{books: usage.NewBooks(), sessions: map[string]*sessionFiles{}}
	slices.SortStableFunc(files, func(a, b transcriptFile) int { // subagents belong to sessions that are known then
		return cmp.Or(order(a.isMain, b.isMain), a.modified.Compare(b.modified))
	})
	for _, f := range files {
		x.session(f.owner, f)
	}
	for unread := len(files) + 1; len(files) < unread; {
		unread = len(files)
		files = slices.DeleteFunc(files, func(f transcriptFile) bool {
			s := x.sessions[f.owner]
			if s != nil && !wanted(s.id, s.modified) {
				return false
			}
			x.read(p, f)
			return true
		})
	}
	maps.DeleteFunc(x.sessions, func(id string, s *sessionFiles) bool { return len(s.files) == 0 && wanted(id, s.modified) })
	return x
}

// session returns the session that a file has lines of; nil if it is known from subagents only.
func (x *index) session(id string, f transcriptFile) *sessionFiles {
	if x.sessions[id] == nil && f.isMain {
		x.sessions[id] = &sessionFiles{id: id}
	}
	s := x.sessions[id]
	if s != nil && f.modified.After(s.modified) {
		s.modified = f.modified
	}
	return s
}

// read adds a file to the sessions of its lines.
func (x *index) read(p *projects, f transcriptFile) {
	ids := []string{f.owner}
	err := p.open(f, func(file io.Reader) error {
		named, err := x.books.Read(file, f.owner, f.isMain)
		ids = append(ids, named...)
		return err
	})
	if err != nil {
		x.problems = append(x.problems, err)
		return
	}
	slices.Sort(ids)
	for _, id := range slices.Compact(ids) {
		if s := x.session(id, f); s != nil {
			s.files = append(s.files, f)
			slices.SortFunc(s.files, func(a, b transcriptFile) int {
				return cmp.Or(
					order(a.isMain, b.isMain), order(a.owner == id, b.owner == id),
					a.modified.Compare(b.modified), cmp.Compare(a.name, b.name),
				)
			})
		}
	}
}

// sorted returns the sessions, the least recently changed first.
func (x *index) sorted() []*sessionFiles {
	return slices.SortedFunc(maps.Values(x.sessions), func(a, b *sessionFiles) int {
		return cmp.Or(a.modified.Compare(b.modified), cmp.Compare(a.id, b.id))
	})
}

// order sorts true before false.
func order(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

func problem(err error) []error {
	if err == nil {
		return nil
	}
	return []error{err}
}

// read reads the files of a session.
func (p *projects) read(s *sessionFiles, books *usage.Books) (*transcript, error) {
	t := newTranscript(s.id, books)
	for _, f := range s.files {
		err := p.open(f, func(file io.Reader) error { return t.read(file, f.owner, f.isMain) })
		if err != nil {
			return nil, err
		}
	}
	return t, nil
}

func (p *projects) open(f transcriptFile, read func(io.Reader) error) error {
	file, err := p.root.Open(f.name)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	return read(file)
}
