// Package consequence computes the effect of a tool call before a person decides it: the files that it removes
// or overwrites and whether anything has a copy of them, the changes and commits that git loses, the lines of
// an edit, and the statements in the arguments of package managers and similar programs.
//
// It only reads, within a time and a number of directory entries. It starts no program, opens no connection, and
// is safe in a hostile repository (see gitread). All names in its sentences are quoted and escaped.
package consequence

import (
	"errors"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/hookback/hookback/agentclient/call"
	"github.com/hookback/hookback/agentclient/call/programs"
	"github.com/hookback/hookback/agentclient/internal/gitread"
	"github.com/hookback/hookback/schema"
)

// Limits of one computation.
const (
	MaxTime    = 150 * time.Millisecond
	MaxEntries = 50_000 // directory entries and files of an index
)

// Input is a call and where it will run.
type Input struct {
	Call *call.Call
	Dir  string // of the agent; empty: the one of the call
	Home string // of the account; empty: unknown
	// NamedAt returns when the agent last read or wrote a file; zero, or a nil function: unknown.
	NamedAt func(path string) time.Time
	// MaxTime and MaxEntries replace the limits; 0: the default.
	MaxTime    time.Duration
	MaxEntries int
	Logf       func(format string, args ...any)
}

// Of returns the consequence of a call, or nil if nothing is known about it. A call that is known to change
// nothing has one with numbers of 0 and without sentences. It returns after MaxTime even if a file system does
// not respond.
func Of(in Input) *schema.Consequence {
	if in.MaxTime == 0 {
		in.MaxTime = MaxTime
	}
	if in.MaxEntries == 0 {
		in.MaxEntries = MaxEntries
	}
	if in.Dir == "" {
		in.Dir = in.Call.Dir
	}
	r := &reader{Input: in, deadline: time.Now().Add(in.MaxTime * 4 / 5), repos: map[string]*repo{}}
	done := make(chan *schema.Consequence, 1)
	go func() {
		defer func() {
			if p := recover(); p != nil {
				if in.Logf != nil {
					in.Logf("panic: %v\n%s", p, debug.Stack())
				}
				done <- unknown("They can't be computed.")
			}
		}()
		defer r.close()
		done <- r.all()
	}()
	timer := time.NewTimer(in.MaxTime)
	defer timer.Stop()
	select {
	case c := <-done:
		return c
	case <-timer.C:
		return unknown("The consequences were not computed within " + in.MaxTime.String() + ".")
	}
}

// unknown returns the consequence of a call whose files could not be read at all.
func unknown(sentence string) *schema.Consequence {
	return &schema.Consequence{Sentences: []string{sentence}, Partial: true}
}

// reader is one computation.
type reader struct {
	Input
	deadline time.Time
	entries  int
	checks   int
	stop     string // why a limit ended it

	root      string // of the project, without links
	repos     map[string]*repo
	sentences []string
	notes     []string // sentences that follow the others
	changes   []string
	outside   bool
	partial   bool
	isKnown   bool   // there is nothing in the call that may change more
	other     string // a program that may change more
	numbers   map[string]int64
	removed   tally
	replaced  tally
	moved     tally
	touched   map[string]*tally // by verb: files whose mode, owner or text changes
}

func (r *reader) close() {
	for _, repo := range r.repos {
		repo.git.Close()
	}
}

// stopped reports whether the time or the entries are used up.
func (r *reader) stopped() bool {
	r.checks++
	if r.stop == "" && (r.checks == 1 || r.checks%64 == 0) && !time.Now().Before(r.deadline) {
		r.stop = "Stopped after " + (r.MaxTime * 4 / 5).String() + "."
	}
	if r.stop == "" && r.entries >= r.MaxEntries {
		r.stop = "Stopped after " + count(int64(r.entries), "directory entry", "directory entries") + "."
	}
	return r.stop != ""
}

// add adds to a number, which is computed from then on.
func (r *reader) add(name string, n int64) {
	if r.numbers == nil {
		r.numbers = map[string]int64{}
	}
	r.numbers[name] += n
}

func (r *reader) say(sentence string) {
	if !slices.Contains(r.sentences, sentence) {
		r.sentences = append(r.sentences, sentence)
	}
}

func (r *reader) note(sentence string) {
	if !slices.Contains(r.notes, sentence) {
		r.notes = append(r.notes, sentence)
	}
}

// incomplete records that more may happen than the numbers state.
func (r *reader) incomplete(sentence string) {
	r.partial = true
	r.note(sentence)
}

func (r *reader) all() *schema.Consequence {
	r.root = r.projectRoot()
	r.isKnown = len(r.Call.Unread) == 0 && len(r.Call.Scripts) == 0 && r.Call.IsKnownTool()
	if len(r.Call.Commands) == 0 {
		r.tool()
	}
	for i := range r.Call.Commands {
		r.command(i)
	}
	r.uncertain()
	r.removed.finish(r, "Removes")
	r.replaced.finish(r, "Overwrites")
	r.moved.finish(r, "Moves")
	for _, verb := range []string{"Changes the mode of", "Changes the owner of", "Edits"} {
		if t := r.touched[verb]; t != nil {
			t.finish(r, verb)
		}
	}
	if len(r.sentences)+len(r.notes)+len(r.numbers) == 0 && !r.isKnown {
		return nil
	}
	if len(r.Call.Unread) > 0 {
		r.incomplete("A part of the call can't be read: " + r.Call.Unread[0].Reason + ".")
	}
	if len(r.Call.Scripts) > 0 {
		r.incomplete("It also runs code that is not read.")
	}
	if !r.isKnown && !r.partial && len(r.numbers) > 0 {
		r.partial = true
		if r.other != "" {
			r.note("It is not known what " + quoteName(r.other) + " changes.")
		}
	}
	return r.result()
}

func (r *reader) result() *schema.Consequence {
	c := &schema.Consequence{Outside: r.outside, Partial: r.partial || r.stop != "", Changes: r.changes}
	if r.stop != "" {
		r.note(r.stop)
	}
	for _, text := range slices.Concat(r.sentences, r.notes) {
		if len(c.Sentences) < schema.MaxSentences {
			c.Sentences = append(c.Sentences, clip(text))
		}
	}
	if r.isKnown && len(r.numbers) == 0 && len(c.Sentences) == 0 {
		r.numbers = map[string]int64{"files": 0, "bytes": 0, "unrecoverable": 0, "lines": 0, "commits": 0}
	}
	for name, into := range map[string]**int64{
		"files": &c.Files, "bytes": &c.Bytes, "unrecoverable": &c.Unrecoverable, "lines": &c.Lines, "commits": &c.Commits,
	} {
		if n, ok := r.numbers[name]; ok {
			*into = &n
		}
	}
	return c
}

// uncertain records what makes the reading of the call itself uncertain.
func (r *reader) uncertain() {
	changes := func(f call.File) bool {
		return f.Op == call.DeleteFile || f.Op == call.MoveFile || f.Op == call.WriteFile
	}
	if slices.ContainsFunc(r.Call.MayBe, changes) && (r.removed.any() || r.replaced.any() || r.moved.any()) {
		r.incomplete("If a cd before it fails, it changes other files.")
	}
}

// projectRoot returns the root of the repository of the agent's directory, or that directory, without links.
func (r *reader) projectRoot() string {
	dir := resolved(r.Dir)
	for at := dir; at != ""; at = filepath.Dir(at) {
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			return at
		}
		if at == filepath.Dir(at) {
			break
		}
	}
	return dir
}

// resolved returns a path without links, or the clean path if it can't be resolved.
func resolved(p string) string {
	if real, err := filepath.EvalSymlinks(p); err == nil {
		return real
	}
	return filepath.Clean(p)
}

// inProject reports whether a path without links is in the project.
func (r *reader) inProject(p string) bool {
	rel, err := filepath.Rel(r.root, p)
	return r.root != "" && err == nil && filepath.IsLocal(rel)
}

// repo is a repository with its index.
type repo struct {
	git    *gitread.Repository
	index  *gitread.Index
	err    error // why it can't be read
	ignore map[string]*gitread.Ignore
}

// repoOf returns the repository that has a directory in its working tree; its git is nil if there is none.
func (r *reader) repoOf(dir string) *repo {
	if known := r.repos[dir]; known != nil {
		return known
	}
	git, err := gitread.Open(dir)
	if errors.Is(err, gitread.ErrNoRepository) {
		err = nil
	}
	found := &repo{err: err}
	if err == nil && git != nil {
		if known := r.repos[git.Root]; known != nil && dir != git.Root {
			git.Close()
			r.repos[dir] = known
			return known
		}
		git.Stop = r.stopped
		found.git, found.ignore = git, map[string]*gitread.Ignore{}
		found.index, found.err = git.Index()
		r.repos[git.Root] = found
	}
	r.repos[dir] = found
	return found
}

// isHarmless reports whether a command is known to change nothing.
func isHarmless(cmd *call.Command, dir programs.WorkingDir) bool {
	if len(cmd.Words) == 0 {
		return true
	}
	words := slices.Clone(cmd.Words)
	for i := range words {
		words[i].Text = strings.ReplaceAll(words[i].Text, "{}", "x") // a file that find found
	}
	if programs.HasOption(call.Texts(words), "v") && words[0].Text == "printf" {
		return false // it sets a variable, such as PATH
	}
	return slices.Contains(strings.Fields("cd echo printf true false test [ export set pwd sleep wait"), words[0].Text) || call.IsHarmless(words, dir)
}
