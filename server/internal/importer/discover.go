package importer

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// projects is the folder with the transcripts of an agent. Links that leave it are not followed.
type projects struct {
	root *os.Root
	dir  string
}

// errNoSessions reports that Claude Code never ran here.
var errNoSessions = errors.New("there are no sessions of Claude Code to import")

// sessionFiles are the files of one session.
type sessionFiles struct {
	id       string
	main     string   // relative to the folder
	agents   []string // of its subagents
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

// find returns the sessions, the least recently changed first, and an error for each unreadable entry.
func (p *projects) find() (sessions []*sessionFiles, problems []error) {
	folders, err := fs.ReadDir(p.root.FS(), ".")
	if err != nil {
		return nil, []error{err}
	}
	for _, folder := range folders {
		found, errs := p.findIn(folder.Name())
		sessions, problems = append(sessions, found...), append(problems, errs...)
	}
	slices.SortStableFunc(sessions, func(a, b *sessionFiles) int { return a.modified.Compare(b.modified) })
	return sessions, problems
}

// findIn returns the sessions of one project.
func (p *projects) findIn(folder string) (sessions []*sessionFiles, problems []error) {
	if info, err := p.root.Stat(folder); err != nil || !info.IsDir() {
		return nil, problem(err)
	}
	entries, err := fs.ReadDir(p.root.FS(), folder)
	if err != nil {
		return nil, problem(err)
	}
	byID := map[string]*sessionFiles{}
	var agents []string
	for _, entry := range entries {
		name := path.Join(folder, entry.Name())
		id, isTranscript := strings.CutSuffix(entry.Name(), ".jsonl")
		if !isTranscript {
			continue
		}
		info, err := p.root.Stat(name)
		switch {
		case err != nil:
			problems = append(problems, err)
		case !info.Mode().IsRegular():
			problems = append(problems, fmt.Errorf("%s is not a file", name))
		case strings.HasPrefix(id, "agent-"):
			agents = append(agents, name)
		default:
			s := &sessionFiles{id: id, main: name, modified: info.ModTime()}
			byID[id], sessions = s, append(sessions, s)
		}
	}
	for _, name := range agents {
		if s := byID[p.sessionOf(name)]; s != nil {
			p.addAgent(s, name)
		}
	}
	for _, s := range sessions {
		p.addAgents(s, path.Join(folder, s.id, "subagents"))
	}
	return sessions, problems
}

func problem(err error) []error {
	if err == nil {
		return nil
	}
	return []error{err}
}

// addAgents adds the subagents that have a folder.
func (p *projects) addAgents(s *sessionFiles, folder string) {
	entries, _ := fs.ReadDir(p.root.FS(), folder) // most sessions have none
	for _, entry := range entries {
		if name := path.Join(folder, entry.Name()); strings.HasSuffix(name, ".jsonl") {
			p.addAgent(s, name)
		}
	}
}

func (p *projects) addAgent(s *sessionFiles, name string) {
	info, err := p.root.Stat(name)
	if err != nil || !info.Mode().IsRegular() {
		return
	}
	s.agents = append(s.agents, name)
	if info.ModTime().After(s.modified) {
		s.modified = info.ModTime()
	}
}

// sessionOf returns the session in the first line of a subagent's file, as earlier versions wrote it.
func (p *projects) sessionOf(name string) string {
	file, err := p.root.Open(name)
	if err != nil {
		return ""
	}
	defer func() { _ = file.Close() }()
	text, _, _ := readLine(bufio.NewReader(file))
	var first struct {
		SessionID string `json:"sessionId"`
	}
	_ = json.Unmarshal(text, &first) // a file of another form belongs to no session
	return first.SessionID
}

// read reads the files of a session.
func (p *projects) read(s *sessionFiles) (*transcript, error) {
	t := newTranscript()
	for i, name := range append([]string{s.main}, s.agents...) {
		if err := p.readFile(t, name, i == 0); err != nil {
			return nil, err
		}
	}
	return t, nil
}

func (p *projects) readFile(t *transcript, name string, isMain bool) error {
	file, err := p.root.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	return t.read(file, isMain)
}
