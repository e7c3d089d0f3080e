package consequence

import (
	"cmp"
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
	if r.Call.RunsElsewhere(cmd) {
		return // the command that runs it is not known
	}
	var redirected []int
	for j := range cmd.Redirects {
		redirect := &cmd.Redirects[j]
		redirected = append(redirected, redirect.File)
		if isNew := redirect.Op == "<>" || strings.Contains(redirect.Op, ">>"); redirect.File >= 0 && strings.Contains(redirect.Op, ">") && !isNew {
			r.replace(r.Call.Files[redirect.File].Path)
		}
	}
	if variable := codeVariable(cmd); variable != "" {
		r.unknown(variable)
	}
	if len(cmd.Words) == 0 {
		return
	}
	var files []call.File
	for j, f := range r.Call.Files {
		if f.Command == i && !slices.Contains(redirected, j) {
			files = append(files, f)
		}
	}
	name := programs.ProgramName(cmd.Words[0].Text, cmd.Shell != call.POSIX)
	list := call.Texts(cmd.Words)
	switch {
	case name == "git":
		r.git(cmd, list)
	case name == "find":
		r.find(cmd, list)
	case r.named(name, cmd.Words):
		r.unknown(cmd.Words[0].Text)
	case isWrapper(name) && r.runs(i), r.changesFiles(name, list, files):
	case !isHarmless(cmd, programs.WorkingDir{Project: r.root, Dir: cmd.Dir}):
		r.unknown(cmd.Words[0].Text)
	}
	if !hasPlainName(cmd) {
		r.unknown(cmd.Words[0].Text)
	}
}

// unknown records a program or a variable that may change more than the numbers state.
func (r *reader) unknown(name string) { r.isKnown, r.other = false, cmp.Or(r.other, name) }

// isWrapper reports whether a program only runs the commands that follow it in the call.
func isWrapper(name string) bool {
	return slices.Contains(strings.Fields("sudo doas env nohup nice time command exec xargs bash sh zsh dash"), name)
}

// runs reports whether the call has a command that the one with this index runs.
func (r *reader) runs(i int) bool {
	return slices.ContainsFunc(r.Call.Commands, func(c call.Command) bool { return c.By == i })
}

// hasPlainName reports whether a command is the program of the system that its name stands for: ./rm is another one.
func hasPlainName(cmd *call.Command) bool {
	dir, _ := path.Split(strings.ReplaceAll(cmd.Words[0].Text, `\`, "/"))
	return slices.Contains([]string{"", "/bin/", "/usr/bin/", "/usr/local/bin/"}, dir)
}

// codeVariable returns a variable of a command that may make a program run other code, or "".
func codeVariable(cmd *call.Command) string {
	words, isPrefix := cmd.Assignments, len(cmd.Words) > 0
	if isPrefix {
		name := programs.ProgramName(cmd.Words[0].Text, false)
		if slices.Contains(strings.Fields("env export declare typeset readonly local"), name) {
			words, isPrefix = append(slices.Clip(words), cmd.Words[1:]...), name == "env"
		}
	}
	for _, w := range words {
		if name, value, ok := strings.Cut(w.Written(), "="); ok && programs.ExecutingVariable(name, value, isPrefix) {
			return name
		}
	}
	return ""
}

// paths returns the paths of a file of a call: those that a pattern matches, if a shell expands it.
func (r *reader) paths(f *call.File) []string {
	if f.IsPattern && strings.ContainsAny(f.Path, "*?[") && !strings.ContainsRune(f.Path, 0) {
		return r.expand(f.Path)
	}
	return []string{f.Path}
}

// writers are programs that replace the content of files.
const writers = " cp install dd tee truncate ln set-content out-file copy-item copy "

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
	case name == "mkdir", name == "touch", name == "tee" && programs.HasOption(list, "a", "append"):
		return true
	case name == "mv" || name == "move" || name == "move-item" || strings.Contains(writers, " "+name+" "):
		r.copied(files)
		return true
	case name == "curl" || name == "wget" || name == "sort":
		r.copied(files)
		return name == "sort" && programs.HasOption(list, "o", "output")
	}
	if verb := attributeVerb(name, list); verb != "" {
		if verb == "Edits" && (name == "perl" || name == "ruby" || programs.HasOption(list, "f", "file")) {
			r.isKnown = false // a script in a file may write others
		}
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
	case programs.EditsInPlace(list):
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
			r.replace(f.Path)
			continue
		}
		for _, source := range sources {
			r.replace(path.Join(f.Path, path.Base(source)))
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
