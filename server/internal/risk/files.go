package risk

import (
	"path"
	"slices"
	"strings"
)

// Rules for what becomes of files.

var (
	deletesFolder  = rule{"recursive_delete", medium, "It deletes folders with everything in them; they can't be brought back."}
	deletesMuch    = rule{"recursive_delete", high, "It deletes a whole project, or something outside of it, for good."}
	deletesAll     = rule{"recursive_delete", critical, "It deletes a home folder, the system, or everything around the project."}
	deletesSystem  = rule{"recursive_delete", high, "It deletes a part of the operating system, or what its programs keep there."}
	deletesIfUnset = rule{"recursive_delete", high, "It deletes what a variable names: when that is empty, something else is deleted."}
	deletesRoot    = rule{"recursive_delete", critical, "When the variable is empty, it deletes the whole disk."}
	deletesList    = rule{"recursive_delete", high, "It deletes whatever a list names, unseen by anyone."}
	deletesHistory = rule{"recursive_delete", high, "It deletes the project's history with everything that was not pushed."}

	writesOutside = rule{"outside_cwd", medium, "It changes something outside the working folder."}
	writesSystem  = rule{"outside_cwd", high, "It changes a part of the operating system."}
	overwrites    = rule{"overwrite", medium, "What the file held before is lost."}
	writesDevice  = rule{"system", critical, "It writes straight to a disk: everything on it is lost."}
)

const maxPath = 4 << 10

func (j *judge) cd(r *run) {
	to := r.operands()
	s := r.cmd.scope
	j.current(s)
	switch {
	case len(to) == 0:
		s.dir = j.home
	case to[0].dynamic() || to[0].text == "-":
		s.dir = ""
	case strings.HasPrefix(to[0].text, "~"):
		s.dir = path.Join(j.home, to[0].text[1:])
	case isAbsolute(slashes(to[0].text)):
		s.dir = path.Clean(slashes(to[0].text))
	case s.dir != "":
		s.dir = path.Join(s.dir, slashes(to[0].text))
	}
	if len(s.dir) > maxPath {
		s.dir = ""
	}
}

func (j *judge) rm(r *run) {
	targets := r.operands()
	if len(targets) == 0 && r.fed {
		j.add(deletesList, r.cmd.span)
		return
	}
	if r.name == "rm" && r.has("rR", "--recursive") == nil && r.word("-Recurse", "-recurse") == nil {
		j.writesEach(r)
		return
	}
	if r.word("--no-preserve-root") != nil {
		j.add(deletesAll, r.span)
	}
	j.deletes(r, targets)
}

// deletes judges folders that go with all that is in them.
func (j *judge) deletes(r *run, targets []word) {
	if len(targets) == 0 && r.fed {
		j.add(deletesList, r.cmd.span)
	}
	var said []rule
	for i := range targets {
		w := &targets[i]
		bad := j.deletion(r.dir, w)
		if slices.Contains(said, bad) {
			continue
		}
		said = append(said, bad)
		if bad == deletesFolder {
			j.add(bad, r.span)
		} else {
			j.add(bad, r.span.upTo(w.span))
		}
	}
}

// deletion says how bad it is when what w names is deleted.
func (j *judge) deletion(dir string, w *word) rule {
	text := slashes(w.text)
	switch at := j.locate(dir, w); {
	case at == vital && len(w.vars) > 0 && w.vars[0].name != "HOME" && w.vars[0].name != "PWD":
		return deletesRoot
	case at == vital, at == system && strings.Count(strings.TrimRight(text, "/*"), "/") < 3:
		return deletesAll
	case at == system:
		return deletesSystem
	case at == unset:
		return deletesIfUnset
	case at == all || at == outside || at == startup:
		return deletesMuch
	case path.Base(text) == ".git":
		return deletesHistory
	default:
		return deletesFolder
	}
}

// upTo is the part of a command with its beginning and one of its words.
func (x span) upTo(y span) span {
	if whole := x.through(y); whole.to-whole.from <= maxExcerpt {
		return whole
	}
	return y
}

// rmdir is that of Windows with /s, and POSIX's, which only takes empty folders.
func (j *judge) rmdir(r *run) {
	if r.word("/s", "/S", "-r", "-Recurse", "-recurse") == nil {
		return
	}
	r.args = slices.DeleteFunc(slices.Clone(r.args), func(w word) bool { return len(w.text) == 2 && w.text[0] == '/' })
	j.deletes(r, r.operands())
}

func (j *judge) removeItem(r *run) {
	recursive := slices.ContainsFunc(r.args, func(w word) bool { return strings.HasPrefix(strings.ToLower(w.text), "-r") })
	if recursive {
		j.deletes(r, r.operands("-Include", "-Exclude"))
	} else {
		j.writesEach(r)
	}
}

// find runs and deletes what it finds.
func (j *judge) find(r *run) {
	for i := 0; i < len(r.args); i++ {
		switch r.args[i].text {
		case "-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch":
			found := *r
			found.fed = true
			end := i + 1
			for end < len(r.args) && r.args[end].text != ";" && r.args[end].text != "+" {
				end++
			}
			found.args = slices.DeleteFunc(slices.Clone(r.args[:end]), func(w word) bool { return w.text == "{}" })
			j.inner(&found, i+1)
			i = end
		}
	}
}

func (j *judge) dd(r *run) {
	for i := range r.args {
		if to, ok := strings.CutPrefix(r.args[i].text, "of="); ok {
			w := r.args[i]
			w.text = to
			if isDevice(to) {
				j.add(writesDevice, r.span)
			} else {
				j.writes(r.dir, &w, r.span)
			}
		}
	}
}

// isDevice reports whether a path is a disk.
func isDevice(p string) bool {
	name, ok := strings.CutPrefix(p, "/dev/")
	if !ok {
		return strings.HasPrefix(p, `\\.\PhysicalDrive`)
	}
	for _, disk := range []string{"sd", "hd", "vd", "xvd", "nvme", "disk", "rdisk", "mmcblk", "mapper/", "md"} {
		if strings.HasPrefix(name, disk) {
			return true
		}
	}
	return false
}

// writes judges a path that is written to.
func (j *judge) writes(dir string, w *word, x span) {
	if w.text == "" || strings.HasPrefix(w.text, "&") {
		return
	}
	at := j.locate(dir, w)
	switch {
	case decidesHooks(dir, w.text):
		j.add(changesHooks, x)
	case at == startup, strings.Contains(slashes(w.text), ".git/hooks/"):
		j.add(startupRule, x)
	case at == system:
		j.add(writesSystem, x)
	case at == outside || at == vital:
		j.add(writesOutside, x)
	}
}

func (j *judge) writesEach(r *run) {
	list := r.operands("-m", "--mode", "-t", "-d", "-r", "-s", "--size")
	for i := range list {
		j.writes(r.dir, &list[i], r.span.upTo(list[i].span))
	}
}

func (j *judge) writesLast(r *run) {
	list := r.operands("-e", "--exclude", "--include", "-m", "-o", "-g", "--rsh", "-S", "--suffix")
	if to := r.value("-t", "--target-directory"); to != nil {
		j.writes(r.dir, to, r.span)
	} else if n := len(list); n > 1 && !isRemote(list[n-1].text) {
		j.writes(r.dir, &list[n-1], r.span.upTo(list[n-1].span))
	}
}

func (j *judge) mv(r *run) {
	j.writesLast(r)
	list := r.operands("-t", "-S")
	for i := range list[:max(0, len(list)-1)] { // what is moved away is gone from there
		j.writes(r.dir, &list[i], r.span.upTo(list[i].span))
	}
}

func (j *judge) inPlace(r *run) {
	edits := slices.ContainsFunc(r.args, func(w word) bool {
		return strings.HasPrefix(w.text, "-i") || strings.HasPrefix(w.text, "--in-place") || w.text == "-pi" || strings.HasPrefix(w.text, "-pi.")
	})
	if !edits {
		return
	}
	list := r.operands("-e", "-f")
	for i := range list {
		if i > 0 || r.word("-e", "-f") != nil { // the first one is the script
			j.writes(r.dir, &list[i], r.span.upTo(list[i].span))
		}
	}
}

// unpack is tar and unzip: where the files go.
func (j *judge) unpack(r *run) {
	extracts := r.name == "unzip" || r.has("x", "--extract") != nil || len(r.args) > 0 && strings.HasPrefix(r.args[0].text, "x")
	if to := r.value("-C", "--directory", "-d"); to != nil && extracts {
		j.writes(r.dir, to, r.span)
	}
}

// important files are missed when they are overwritten.
var important = []string{
	".env", ".gitignore", "package.json", "package-lock.json", "go.mod", "go.sum", "Cargo.toml", "pyproject.toml", "Makefile", "Dockerfile", "README.md",
	".gitattributes", "docker-compose.yml", "docker-compose.yaml", "CLAUDE.md", "AGENTS.md",
}

func (j *judge) redirected(c *command, to *redirect, dir string) {
	w := &to.target
	j.disguised(w)
	if to.op == "<<" || !strings.Contains(to.op, ">") || w.process {
		return
	}
	x := c.span.through(w.span)
	if x.to < w.to || x.to-x.from > maxExcerpt {
		x = w.span
	}
	_, shell := shells[commandName(c)]
	switch {
	case strings.HasPrefix(w.text, "/dev/tcp/") && shell:
		j.add(reverseShell, x)
	case strings.HasPrefix(w.text, "/dev/tcp/"):
		j.add(talks, x)
	case isDevice(w.text):
		j.add(writesDevice, x)
	case !strings.Contains(to.op, ">>") && slices.Contains(important, path.Base(w.text)) && j.locate(dir, w) == within:
		j.add(overwrites, x)
	default:
		j.writes(dir, w, x)
	}
}

// mode is chmod, chown and chgrp: what stands behind the first word is changed.
func (j *judge) mode(r *run) {
	if list := r.operands(); len(list) > 1 {
		r.args = list[1:]
		j.writesEach(r)
	}
}
