package consequence

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hookback/hookback/agentclient/call"
	"github.com/hookback/hookback/agentclient/call/programs"
	"github.com/hookback/hookback/agentclient/intent"
	"github.com/hookback/hookback/agentclient/internal/gitread"
)

// command adds the consequences of one command.
func (r *reader) command(i int) {
	cmd := &r.Call.Commands[i]
	files := r.filesOf(i)
	for j := range cmd.Redirects {
		redirect := &cmd.Redirects[j]
		if slices.Contains([]string{">", ">|", "&>"}, redirect.Op) {
			r.overwrite(files, func(f *call.File) bool { return contains(redirect.Target.Span, f.Span) })
		}
	}
	if len(cmd.Words) == 0 {
		return
	}
	name := programs.ProgramName(cmd.Words[0].Text, cmd.Shell != call.POSIX)
	list := call.Texts(cmd.Words)
	switch {
	case name == "git":
		r.git(cmd, list)
	case name == "find":
		r.find(cmd, list)
	case r.named(name, list):
	case isWrapper(name), r.changesFiles(name, list, files):
	case !isHarmless(cmd, programs.WorkingDir{Project: r.root, Dir: cmd.Dir}):
		r.isKnown = false
	}
}

// isWrapper reports whether a program only runs the command that follows it in the call.
func isWrapper(name string) bool {
	return slices.Contains(strings.Fields("sudo doas env nohup nice time command exec xargs bash sh zsh dash"), name)
}

// contains reports whether a place has another one.
func contains(outer, inner call.Span) bool {
	return outer.Pointer == inner.Pointer && outer.From <= inner.From && inner.To <= outer.To && outer.To > 0
}

// filesOf returns the files of the words and redirects of a command, without the files of the commands that it runs.
func (r *reader) filesOf(i int) (files []call.File) {
	for _, f := range r.Call.Files {
		if r.owner(f.Span) == i {
			files = append(files, f)
		}
	}
	return files
}

// owner returns the index of the innermost command that has a place in its words or redirects; -1: none.
func (r *reader) owner(at call.Span) int {
	best := -1
	for i := range r.Call.Commands {
		cmd := &r.Call.Commands[i]
		has := slices.ContainsFunc(cmd.Words, func(w call.Word) bool { return contains(w.Span, at) }) ||
			slices.ContainsFunc(cmd.Redirects, func(r call.Redirect) bool { return contains(r.Target.Span, at) })
		if has && (best < 0 || cmd.Depth >= r.Call.Commands[best].Depth) {
			best = i
		}
	}
	return best
}

// paths returns the paths of a file of a call: those that a pattern matches, if a shell expands it.
func (r *reader) paths(f *call.File) []string {
	if i := r.owner(f.Span); i >= 0 && strings.ContainsAny(f.Path, "*?[") && !strings.ContainsRune(f.Path, 0) {
		for _, w := range r.Call.Commands[i].Words {
			if contains(w.Span, f.Span) && w.Pattern {
				return r.expand(f.Path)
			}
		}
	}
	return []string{f.Path}
}

// writers are programs that replace the content of files.
const writers = " cp install dd tee truncate ln curl wget sort set-content out-file copy-item copy "

// changesFiles adds the files that a program deletes, moves, replaces or changes. ok is false if it is no such program.
func (r *reader) changesFiles(name string, list []string, files []call.File) (ok bool) {
	recursive := name != "rm" && name != "rmdir" && name != "unlink" || programs.HasOption(list, "r", "R", "recursive")
	for i := range files {
		f := &files[i]
		if path.Base(f.Path) == "{}" { // of find, which counts the files
			ok = true
			continue
		}
		switch f.Op {
		case call.DeleteFile:
			ok = true
			for _, p := range r.paths(f) {
				r.target(&r.removed, p, recursive)
			}
		case call.MoveFile:
			ok = true
			r.moved.keeps = true
			for _, p := range r.paths(f) {
				r.target(&r.moved, p, true)
			}
		}
	}
	switch {
	case name == "tee" && programs.HasOption(list, "a", "append"):
		return true
	case name == "mv" || name == "move" || name == "move-item" || strings.Contains(writers, " "+name+" "):
		r.copied(files)
		return true
	}
	if verb := attributeVerb(name, list); verb != "" {
		for i := range files {
			if f := &files[i]; f.Op == call.WriteFile && path.Base(f.Path) != "{}" {
				for _, p := range r.paths(f) {
					r.target(r.touch(verb), p, verb != "Edits" && programs.HasOption(list, "R", "recursive"))
				}
			}
		}
		return true
	}
	return ok
}

// attributeVerb returns the verb of a program that changes the mode, the owner or the text of files; empty: it is another one.
func attributeVerb(name string, list []string) string {
	switch {
	case name == "chmod":
		return "Changes the mode of"
	case name == "chown" || name == "chgrp":
		return "Changes the owner of"
	case (name == "sed" || name == "perl") && programs.HasOption(list, "i", "in-place"):
		return "Edits"
	default:
		return ""
	}
}

func (r *reader) touch(verb string) *tally {
	if r.touched == nil {
		r.touched = map[string]*tally{}
	}
	if r.touched[verb] == nil {
		r.touched[verb] = &tally{keeps: true}
	}
	return r.touched[verb]
}

// copied adds the files that a copy or a move replaces: the target, or in a folder the files with the names of the sources.
func (r *reader) copied(files []call.File) {
	var sources []string
	for i := range files {
		if f := &files[i]; f.Op == call.MoveFile || f.Op == call.ReadFile {
			sources = append(sources, r.paths(f)...)
		}
	}
	for i := range files {
		f := &files[i]
		if f.Op != call.WriteFile {
			continue
		}
		if !isFolder(f.Path) {
			r.overwrite(files, func(other *call.File) bool { return other == f })
			continue
		}
		for _, source := range sources {
			r.replace(path.Join(f.Path, path.Base(source)))
		}
	}
}

func (r *reader) overwrite(files []call.File, match func(*call.File) bool) {
	for i := range files {
		if f := &files[i]; f.Op == call.WriteFile && match(f) {
			r.replace(f.Path)
		}
	}
}

// replace adds a file that gets new content. One that does not exist loses nothing.
func (r *reader) replace(p string) {
	if strings.HasPrefix(p, "/dev/") {
		return
	}
	before := len(r.replaced.missing)
	r.target(&r.replaced, p, false)
	r.replaced.missing = r.replaced.missing[:before]
}

// tool adds the consequences of a tool that runs no command: the files that it edits, writes or deletes.
func (r *reader) tool() {
	if call.ReadsFiles(r.Call.Tool) {
		return
	}
	changes := intent.Changes(r.Call)
	if len(changes) == 0 {
		r.isKnown = false
	}
	for i := range changes {
		change := &changes[i]
		p := change.Path
		switch change.Verb {
		case intent.VerbDelete:
			r.target(&r.removed, p, true)
		case intent.VerbWrite:
			r.write(p, change)
		default:
			r.edit(p, change)
		}
	}
}

// write adds a file that a tool writes as a whole.
func (r *reader) write(p string, change *intent.FileChange) {
	before, exists := r.read(p)
	if !exists {
		r.replace(p)
		r.say("Writes a new file, " + r.quote(p) + ": " + count(int64(change.Added), "line", "lines") + ".")
		r.add("lines", int64(change.Added))
		return
	}
	r.replace(p)
	r.changedSince(p)
	content, _ := r.argument("content", "contents", "file_text", "new_source", "CodeContent")
	added, removed, isExact := intent.LineChanges(before, content)
	r.lines(p, added, removed, isExact)
}

// edit adds a file in which a tool replaces a part.
func (r *reader) edit(p string, change *intent.FileChange) {
	real := resolved(p)
	r.changesPath(p, real)
	r.lines(p, change.Added, change.Removed, true)
	old, isReplacement := r.argument("old_string", "old_str", "oldText")
	if before, exists := r.read(p); isReplacement && old != "" && exists && !strings.Contains(before, old) {
		r.note(r.quote(p) + " changed since the agent read it: the text that it replaces is not there.")
		return
	}
	r.changedSince(p)
}

// changedSince notes that something else changed a file after the agent last read or wrote it. The times of files and of
// transcripts are not exact.
func (r *reader) changedSince(p string) {
	info, err := os.Stat(filepath.FromSlash(p))
	if err != nil || r.NamedAt == nil {
		return
	}
	if read := r.NamedAt(p); !read.IsZero() && info.ModTime().After(read.Add(time.Second)) {
		r.note(r.quote(p) + " changed since the agent read it.")
	}
}

func (r *reader) lines(p string, added, removed int, isExact bool) {
	r.add("lines", int64(max(added, removed)))
	r.add("files", 0)
	text := "Changes " + r.quote(p) + ": adds " + count(int64(added), "line", "lines") +
		" and removes " + count(int64(removed), "line", "lines") + "."
	if !isExact {
		text = "Changes " + r.quote(p) + ": replaces up to " + count(int64(removed), "line", "lines") + "."
		r.partial = true
	}
	r.say(text)
}

// argument returns the first of these arguments that is a text.
func (r *reader) argument(names ...string) (text string, ok bool) {
	for _, name := range names {
		if v, _ := r.Call.Root().At(name); v != nil {
			if text, ok = v.Text(); ok {
				return text, true
			}
		}
	}
	return "", false
}

// read returns a file of the project. One that is elsewhere or large is not read.
func (r *reader) read(p string) (text string, ok bool) {
	real := resolved(filepath.FromSlash(p))
	repo := r.repoOf(filepath.Dir(real))
	if repo.git == nil {
		text, err := gitread.ReadFile(real)
		return text, err == nil
	}
	rel, err := filepath.Rel(repo.git.Root, real)
	if err != nil {
		return "", false
	}
	text, err = repo.git.File(filepath.ToSlash(rel))
	return text, err == nil
}
