package risk

import (
	"path"
	"slices"
	"strings"

	"github.com/hookback/hookback/schema"
)

// Rules about deleting and writing files.

var (
	deletesFolder  = rule{"recursive_delete", medium, "It deletes folders and everything in them. This can't be undone."}
	deletesProject = rule{"recursive_delete", high, "It permanently deletes a whole project, or files outside of it."}
	deletesAll     = rule{"recursive_delete", critical, "It deletes a home folder, the system, or a folder that contains the project."}
	deletesSystem  = rule{"recursive_delete", high, "It deletes part of the operating system, or data that its programs store there."}
	deletesIfUnset = rule{"recursive_delete", high, "It deletes a path from a variable. If the variable is empty, it deletes something else."}
	deletesRoot    = rule{"recursive_delete", critical, "If the variable is empty, it deletes the whole disk."}
	deletesList    = rule{"recursive_delete", high, "It deletes every path in a list that is not shown here."}
	deletesHistory = rule{"recursive_delete", high, "It deletes the project's history, including everything that was not pushed."}

	writesOutside = rule{"outside_cwd", medium, "It changes something outside the working directory."}
	writesSystem  = rule{"outside_cwd", high, "It changes part of the operating system."}
	overwrites    = rule{"overwrite", medium, "It overwrites a file. The previous content is lost."}
	writesDevice  = rule{"system", critical, "It writes directly to a disk. Everything on the disk is lost."}
)

const maxPath = 4 << 10

func (a *assessor) cd(inv *invocation) {
	to := inv.operands()
	s := inv.cmd.scope
	a.currentDir(s)
	switch {
	case len(to) == 0:
		s.dir = a.home
	case to[0].isDynamic() || to[0].text == "-":
		s.dir = ""
	case strings.HasPrefix(to[0].text, "~"):
		s.dir = path.Join(a.home, to[0].text[1:])
	case isAbsolute(toSlashes(to[0].text)):
		s.dir = path.Clean(toSlashes(to[0].text))
	case s.dir != "":
		s.dir = path.Join(s.dir, toSlashes(to[0].text))
	}
	if len(s.dir) > maxPath {
		s.dir = ""
	}
}

func (a *assessor) rm(inv *invocation) {
	targets := inv.operands()
	if len(targets) == 0 && inv.pipedInput {
		a.add(deletesList, inv.cmd.span)
		return
	}
	if inv.name == "rm" && inv.findOption("rR", "--recursive") == nil && inv.findArgument("-Recurse", "-recurse") == nil {
		a.checkEachWrite(inv)
		return
	}
	if inv.findArgument("--no-preserve-root") != nil {
		a.add(deletesAll, inv.span)
	}
	a.checkDeletions(inv, targets)
}

// checkDeletions assesses targets that are deleted recursively.
func (a *assessor) checkDeletions(inv *invocation, targets []shellWord) {
	if len(targets) == 0 && inv.pipedInput {
		a.add(deletesList, inv.cmd.span)
	}
	var reported []rule
	for i := range targets {
		w := &targets[i]
		found := a.classifyDeletion(inv.dir, w)
		if slices.Contains(reported, found) {
			continue
		}
		reported = append(reported, found)
		if found == deletesFolder {
			a.add(found, inv.span)
		} else {
			a.add(found, inv.span.throughIfShort(w.span))
		}
	}
}

// classifyDeletion returns the rule for deleting the path in w.
func (a *assessor) classifyDeletion(dir string, w *shellWord) rule {
	text := toSlashes(w.text)
	switch class := a.classifyWord(dir, w); {
	case class == protectedPath && len(w.vars) > 0 && w.vars[0].name != "HOME" && w.vars[0].name != "PWD":
		return deletesRoot
	case class == protectedPath, class == systemPath && strings.Count(strings.TrimRight(text, "/*"), "/") < 3:
		return deletesAll
	case class == systemPath:
		return deletesSystem
	case class == unsetPath:
		return deletesIfUnset
	case class == cwdPath || class == outsidePath || class == autorunPath:
		return deletesProject
	case path.Base(text) == ".git":
		return deletesHistory
	default:
		return deletesFolder
	}
}

// throughIfShort returns the span from the start of sp to the end of other, or only other if that is longer
// than an excerpt.
func (sp span) throughIfShort(other span) span {
	if joined := sp.through(other); joined.to-joined.from <= maxExcerpt {
		return joined
	}
	return other
}

// rmdir handles rmdir and its Windows aliases. Without /s they delete only empty directories.
func (a *assessor) rmdir(inv *invocation) {
	if inv.findArgument("/s", "/S", "-r", "-Recurse", "-recurse") == nil {
		return
	}
	inv.args = slices.DeleteFunc(slices.Clone(inv.args), func(w shellWord) bool { return len(w.text) == 2 && w.text[0] == '/' })
	a.checkDeletions(inv, inv.operands())
}

func (a *assessor) removeItem(inv *invocation) {
	inv.pipedInput = inv.pipedInput || len(inv.cmd.upstream) > 0
	recursive := slices.ContainsFunc(inv.args, func(w shellWord) bool { return strings.HasPrefix(strings.ToLower(w.text), "-r") })
	if recursive {
		a.checkDeletions(inv, inv.operands("-Include", "-Exclude"))
	} else {
		a.checkEachWrite(inv)
	}
}

// find assesses the commands that find runs on its results.
func (a *assessor) find(inv *invocation) {
	for i := 0; i < len(inv.args); i++ {
		switch inv.args[i].text {
		case "-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch":
			found := *inv
			found.pipedInput = true
			end := i + 1
			for end < len(inv.args) && inv.args[end].text != ";" && inv.args[end].text != "+" {
				end++
			}
			found.args = slices.DeleteFunc(slices.Clone(inv.args[:end]), func(w shellWord) bool { return w.text == "{}" })
			known := len(a.findings)
			a.assessFrom(&found, i+1)
			if !slices.ContainsFunc(a.findings[known:], func(f schema.Finding) bool { return severity(f.Risk) >= severity(high) }) {
				a.findCommand(inv, inv.args[min(i+1, end):end])
			}
			i = end
		}
	}
}

func (a *assessor) dd(inv *invocation) {
	for i := range inv.args {
		if to, ok := strings.CutPrefix(inv.args[i].text, "of="); ok {
			w := inv.args[i]
			w.text = to
			if isDevice(to) {
				a.add(writesDevice, inv.span)
			} else {
				a.checkWrite(inv.dir, &w, inv.span)
			}
		}
	}
}

// isDevice reports whether a path names a disk device.
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

// checkWrite adds a finding if w names a path that should not be written without a look.
func (a *assessor) checkWrite(dir string, w *shellWord, sp span) {
	if w.text == "" || strings.HasPrefix(w.text, "&") {
		return
	}
	class := a.classifyWord(dir, w)
	switch {
	case isOversightPath(dir, w.text):
		a.add(changesHooks, sp)
	case isHubFile(w.text):
		a.add(changesHub, sp)
	case runsLaterFile(dir, w.text):
		a.add(runsLater, sp)
	case class == autorunPath:
		a.add(changesAutorun, sp)
	case class == systemPath:
		a.add(writesSystem, sp)
	case class == outsidePath || class == protectedPath:
		a.add(writesOutside, sp)
	}
}

func (a *assessor) checkEachWrite(inv *invocation) {
	list := inv.operands("-m", "--mode", "-t", "-d", "-r", "-s", "--size")
	for i := range list {
		a.checkWrite(inv.dir, &list[i], inv.span.throughIfShort(list[i].span))
	}
}

func (a *assessor) checkLastWrite(inv *invocation) {
	list := inv.operands("-e", "--exclude", "--include", "-m", "-o", "-g", "--rsh", "-S", "--suffix")
	if to := inv.optionValue("-t", "--target-directory"); to != nil {
		a.checkWrite(inv.dir, to, inv.span)
	} else if n := len(list); n > 1 && !isRemote(list[n-1].text) {
		a.checkWrite(inv.dir, &list[n-1], inv.span.throughIfShort(list[n-1].span))
	}
}

func (a *assessor) mv(inv *invocation) {
	a.checkLastWrite(inv)
	list := inv.operands("-t", "-S")
	for i := range list[:max(0, len(list)-1)] { // moving a file also removes it from its old place
		a.checkWrite(inv.dir, &list[i], inv.span.throughIfShort(list[i].span))
	}
}

func (a *assessor) editInPlace(inv *invocation) {
	edits := slices.ContainsFunc(inv.args, func(w shellWord) bool {
		return strings.HasPrefix(w.text, "-i") || strings.HasPrefix(w.text, "--in-place") || w.text == "-pi" || strings.HasPrefix(w.text, "-pi.")
	})
	if !edits {
		return
	}
	list := inv.operands("-e", "-f")
	for i := range list {
		if i > 0 || inv.findArgument("-e", "-f") != nil { // the first operand is the script
			a.checkWrite(inv.dir, &list[i], inv.span.throughIfShort(list[i].span))
		}
	}
}

// extract checks the target directory of tar and unzip.
func (a *assessor) extract(inv *invocation) {
	extracts := inv.name == "unzip" || inv.findOption("x", "--extract") != nil || len(inv.args) > 0 && strings.HasPrefix(inv.args[0].text, "x")
	if to := inv.optionValue("-C", "--directory", "-d"); to != nil && extracts {
		a.checkWrite(inv.dir, to, inv.span)
	}
}

// importantFiles are base names of project files that should not be overwritten unnoticed.
var importantFiles = []string{
	".env", ".gitignore", "package.json", "package-lock.json", "go.mod", "go.sum", "Cargo.toml", "pyproject.toml", "Makefile", "Dockerfile", "README.md",
	".gitattributes", "docker-compose.yml", "docker-compose.yaml", "CLAUDE.md", "AGENTS.md",
}

func (a *assessor) checkRedirect(c *command, to *redirect, dir string) {
	w := &to.target
	a.checkObfuscated(w)
	if to.op == "<<" || !strings.Contains(to.op, ">") || w.process {
		return
	}
	sp := c.span.through(w.span)
	if sp.to < w.to || sp.to-sp.from > maxExcerpt {
		sp = w.span
	}
	_, shell := shells[commandName(c)]
	switch {
	case strings.HasPrefix(w.text, "/dev/tcp/") && shell:
		a.add(reverseShell, sp)
	case strings.HasPrefix(w.text, "/dev/tcp/"):
		a.add(rawConnection, sp)
	case isDevice(w.text):
		a.add(writesDevice, sp)
	case isPackageFile(w.text) && slices.ContainsFunc(c.redirects, func(r redirect) bool { return r.op == "<<" && changesScripts(r.target.text) }):
		a.add(runsLater, sp)
	case !strings.Contains(to.op, ">>") && slices.Contains(importantFiles, path.Base(w.text)) && a.classifyWord(dir, w) == insidePath:
		a.add(overwrites, sp)
	default:
		a.checkWrite(dir, w, sp)
	}
}

// changeMode handles chmod, chown and chgrp, which change every operand after the first.
func (a *assessor) changeMode(inv *invocation) {
	if list := inv.operands(); len(list) > 1 {
		inv.args = list[1:]
		a.checkEachWrite(inv)
	}
}
