package risk

import (
	"path"
	"slices"
	"strings"

	"github.com/hookback/hookback/agentclient/call"
	"github.com/hookback/hookback/agentclient/call/paths"
	"github.com/hookback/hookback/agentclient/call/programs"
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/risk/oversight"
)

// Rules about deleting and writing files.

var (
	rawConnection  = rule{"network_write", medium, "It opens a raw network connection to another machine."}
	reverseShell   = rule{"network_write", critical, "It lets another machine run commands on this one."}
	changesAutorun = rule{"autostart", high, "It changes a file that runs automatically later, or that grants access."}
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

func (a *assessor) rm(inv *invocation) {
	targets := inv.operands()
	if len(targets) == 0 && inv.pipedInput {
		a.add(deletesList, inv.whole)
		return
	}
	if inv.name == "rm" && !inv.hasOption("r", "R", "recursive") {
		a.checkEachWrite(inv)
		return
	}
	if inv.hasArgument("--no-preserve-root") {
		a.add(deletesAll, inv.span)
	}
	a.checkDeletions(inv, targets)
}

// checkDeletions assesses targets that are deleted recursively.
func (a *assessor) checkDeletions(inv *invocation, targets []call.Word) {
	if len(targets) == 0 && inv.pipedInput {
		a.add(deletesList, inv.whole)
	}
	var reported []rule
	for i := range targets {
		w := &targets[i]
		a.checkSettingsFolder(inv.dir, w, throughIfShort(inv.span, w.Span))
		found := a.classifyDeletion(inv.dir, w)
		if slices.Contains(reported, found) {
			continue
		}
		reported = append(reported, found)
		if found == deletesFolder {
			a.add(found, inv.span)
		} else {
			a.add(found, throughIfShort(inv.span, w.Span))
		}
	}
}

// classifyDeletion returns the rule for deleting the path in w.
func (a *assessor) classifyDeletion(dir string, w *call.Word) rule {
	text := paths.ToSlashes(w.Text)
	switch class := a.classifyWord(dir, w); {
	case class == paths.Protected && len(w.Vars) > 0 && w.Vars[0].Name != "HOME" && w.Vars[0].Name != "PWD":
		return deletesRoot
	case class == paths.Protected, class == paths.System && strings.Count(strings.TrimRight(text, "/*"), "/") < 3:
		return deletesAll
	case class == paths.System:
		return deletesSystem
	case class == paths.Unset:
		return deletesIfUnset
	case class == paths.CWD || class == paths.Outside || class == paths.Autorun:
		return deletesProject
	case path.Base(text) == ".git":
		return deletesHistory
	default:
		return deletesFolder
	}
}

// rmdir handles rmdir and its Windows aliases. Without /s they delete only empty directories.
func (a *assessor) rmdir(inv *invocation) {
	if !inv.hasArgument("/s", "/S", "-r", "-Recurse", "-recurse") {
		return
	}
	inv.args = slices.DeleteFunc(slices.Clone(inv.args), func(w call.Word) bool { return len(w.Text) == 2 && w.Text[0] == '/' })
	a.checkDeletions(inv, inv.operands())
}

func (a *assessor) removeItem(inv *invocation) {
	inv.pipedInput = inv.pipedInput || len(a.writers(inv.cmd)) > 0
	recursive := slices.ContainsFunc(inv.args, func(w call.Word) bool { return strings.HasPrefix(strings.ToLower(w.Text), "-r") })
	if recursive {
		a.checkDeletions(inv, inv.operands("-Include", "-Exclude"))
	} else {
		a.checkEachWrite(inv)
	}
}

// find assesses the directories in which find deletes what it finds.
func (a *assessor) find(inv *invocation) {
	for i := range inv.args {
		if inv.args[i].Text == "-delete" {
			for j := range inv.args[:i] {
				a.checkSettingsFolder(inv.dir, &inv.args[j], inv.span)
			}
		}
	}
}

// checkFound adds a finding about a command that find or fd runs on each result, if it has no high one and is
// not known to be harmless. known is the number of findings before it.
func (a *assessor) checkFound(inv *invocation, known int) {
	if inv.cmd.By < 0 {
		return
	}
	finder := &a.call.Commands[inv.cmd.By]
	isHigh := func(f schema.Finding) bool { return severity(f.Risk) >= severity(high) }
	if name := commandName(finder); name != "find" && name != "fd" || slices.ContainsFunc(a.findings[known:], isHigh) {
		return
	}
	words := call.Texts(inv.cmd.Words)
	for i := range words {
		if strings.Contains(words[i], "{}") {
			words[i] = "x"
		}
	}
	if !programs.Harmless(words, programs.WorkingDir{Project: a.CWD}) {
		a.add(optionExecutes, wordsSpan(finder))
	}
}

func (a *assessor) dd(inv *invocation) {
	for i := range inv.args {
		if to, ok := strings.CutPrefix(inv.args[i].Text, "of="); ok {
			w := inv.args[i]
			w.Text = to
			if paths.IsDevice(to) {
				a.add(writesDevice, inv.span)
			} else {
				a.checkWrite(inv.dir, &w, inv.span)
			}
		}
	}
}

// checkWrite adds a finding if w names a path that should not be written without a look.
func (a *assessor) checkWrite(dir string, w *call.Word, sp call.Span) {
	a.addRepositoryFolder(dir, w, sp)
	a.checkChange(dir, w, sp, paths.IsRepositoryFile(w.Text))
}

// addRepositoryFolder records a folder objects or refs that the call creates, and adds a finding for both
// in one directory: with a HEAD they are a repository.
func (a *assessor) addRepositoryFolder(dir string, w *call.Word, sp call.Span) {
	if len(w.Text) > paths.MaxLength || len(a.repositoryFolders) > maxKept {
		return
	}
	parent, name := paths.RepositoryFolder(dir, w.Text)
	if name == "" {
		return
	}
	if other := a.repositoryFolders[parent]; other != "" && other != name {
		a.add(runsLater, sp)
	}
	if a.repositoryFolders == nil {
		a.repositoryFolders = map[string]string{}
	}
	a.repositoryFolders[parent] = name
}

// checkChange is checkWrite for a path that is changed or deleted. inRepository is set if git may read
// settings because of it.
func (a *assessor) checkChange(dir string, w *call.Word, sp call.Span, inRepository bool) {
	if w.Text == "" || strings.HasPrefix(w.Text, "&") {
		return
	}
	class := a.classifyWord(dir, w)
	switch {
	case oversight.IsPath(dir, w.Written()), oversight.IsProgramFile(w.Text), w.Subs != (call.Range{}) && a.hubProgram(w) != "":
		a.add(changesHooks, sp)
	case oversight.IsHubFile(dir, w.Written()):
		a.add(changesHub, sp)
	case paths.RunsLaterFile(dir, w.Text):
		a.add(runsLater, sp)
	case class == paths.Autorun:
		a.add(changesAutorun, sp)
	case class == paths.System:
		a.add(writesSystem, sp)
	case inRepository:
		a.add(runsLater, sp)
	case class == paths.Outside || class == paths.Protected:
		a.add(writesOutside, sp)
	}
}

func (a *assessor) checkEachWrite(inv *invocation) {
	list := inv.operands("-m", "--mode", "-t", "-d", "-r", "-s", "--size")
	for i := range list {
		sp := throughIfShort(inv.span, list[i].Span)
		switch inv.name {
		case "touch", "tee", "set-content", "out-file", "new-item":
			a.checkWrite(inv.dir, &list[i], sp)
			continue
		case "chmod", "chown", "chgrp", "chattr", "setfacl":
			a.checkSettingsFolder(inv.dir, &list[i], sp)
		case "mkdir":
			a.addRepositoryFolder(inv.dir, &list[i], sp)
		}
		a.checkChange(inv.dir, &list[i], sp, false)
	}
}

func (a *assessor) checkLastWrite(inv *invocation) {
	list := inv.operands("-e", "--exclude", "--include", "-m", "-o", "-g", "--rsh", "-S", "--suffix")
	if to := call.OptionValue(inv.args, "-t", "--target-directory"); to != nil {
		a.checkWrite(inv.dir, to, inv.span)
		a.checkCopies(inv, list, to)
	} else if n := len(list); n > 1 && !isRemote(list[n-1].Text) {
		a.checkWrite(inv.dir, &list[n-1], throughIfShort(inv.span, list[n-1].Span))
		a.checkCopies(inv, list[:n-1], &list[n-1])
	}
}

// checkCopies adds a finding if sources become settings of an agent in the directory to, or take its place.
func (a *assessor) checkCopies(inv *invocation, sources []call.Word, to *call.Word) {
	target := to.Written()
	holds := oversight.HoldsSettings(inv.dir, target)
	class := a.classifyWord(inv.dir, to)
	found := holds && inv.name == "ln" && !strings.HasSuffix(target, "/")
	for i := range sources {
		source := sources[i].Written()
		source = source[strings.LastIndexByte(source, ':')+1:] // HOST:PATH
		copied := strings.TrimRight(target, "/") + "/" + path.Base(source)
		isAll := strings.HasSuffix(source, "/") || strings.HasSuffix(source, "/.") || strings.HasSuffix(source, "*")
		found = found || holds && isAll || oversight.IsPath(inv.dir, copied) ||
			(class == paths.CWD || class == paths.Protected) && oversight.HoldsSettings(inv.dir, copied)
	}
	if found {
		a.add(changesHooks, throughIfShort(inv.span, to.Span))
	}
}

func (a *assessor) mv(inv *invocation) {
	a.checkLastWrite(inv)
	list := inv.operands("-t", "-S")
	for i := range list[:max(0, len(list)-1)] { // moving a file also removes it from its old place
		a.checkSettingsFolder(inv.dir, &list[i], throughIfShort(inv.span, list[i].Span))
		a.checkChange(inv.dir, &list[i], throughIfShort(inv.span, list[i].Span), false)
	}
}

// checkOutputs assesses the files that a program edits in place, or that its options name to write.
func (a *assessor) checkOutputs(inv *invocation) {
	edits := programs.EditsInPlace(inv.words())
	for _, i := range a.files[inv.index] {
		f, sp := &a.call.Files[i], inv.span
		if edits {
			sp = throughIfShort(inv.span, f.Span)
		}
		if f.Op == call.WriteFile {
			a.checkSettingsFolder(inv.dir, f.Word, sp)
			a.checkWrite(inv.dir, f.Word, sp)
		}
	}
}

// extract checks the target directory of tar, unzip and patch.
func (a *assessor) extract(inv *invocation) {
	extracts := inv.name == "unzip" || inv.name == "patch" || inv.hasOption("x", "extract") ||
		len(inv.args) > 0 && strings.HasPrefix(inv.args[0].Text, "x")
	if to := call.OptionValue(inv.args, "-C", "--directory", "-d"); to != nil && extracts {
		a.checkSettingsFolder(inv.dir, to, inv.span)
		a.checkChange(inv.dir, to, inv.span, false)
	}
}

// importantFiles are base names of project files that should not be overwritten unnoticed.
var importantFiles = []string{
	".env", ".gitignore", "package.json", "package-lock.json", "go.mod", "go.sum", "Cargo.toml", "pyproject.toml", "Makefile", "Dockerfile", "README.md",
	".gitattributes", "docker-compose.yml", "docker-compose.yaml", "CLAUDE.md", "AGENTS.md",
}

func (a *assessor) checkRedirect(inv *invocation, to *call.Redirect) {
	c, dir, w := inv.cmd, inv.dir, &to.Target
	if to.Op == "<" && oversight.IsHubFile(dir, w.Written()) {
		a.add(changesHub, through(inv.span, w.Span))
	}
	if strings.HasPrefix(to.Op, "<<") || !strings.Contains(to.Op, ">") || w.IsProcess {
		return
	}
	sp := through(inv.span, w.Span)
	if sp.To < w.Span.To || sp.To-sp.From > maxExcerpt {
		sp = w.Span
	}
	switch {
	case strings.HasPrefix(w.Text, "/dev/tcp/") && isShell(commandName(c)):
		a.add(reverseShell, sp)
	case strings.HasPrefix(w.Text, "/dev/tcp/"):
		a.add(rawConnection, sp)
	case paths.IsDevice(w.Text):
		a.add(writesDevice, sp)
	case paths.IsPackageFile(w.Text) &&
		slices.ContainsFunc(c.Redirects, func(r call.Redirect) bool {
			return strings.HasPrefix(r.Op, "<<") && paths.ChangesScripts(r.Target.Text)
		}):
		a.add(runsLater, sp)
	case !strings.Contains(to.Op, ">>") && slices.Contains(importantFiles, path.Base(w.Text)) && a.classifyWord(dir, w) == paths.Inside:
		a.add(overwrites, sp)
	default:
		a.checkWrite(dir, w, sp)
	}
}

// changeMode handles chmod, chown and chgrp, which change every operand after the first. The mode may look
// like an option, as in chmod -x.
func (a *assessor) changeMode(inv *invocation) {
	list := inv.operands()
	isMode := func(w call.Word) bool {
		return len(w.Text) > 1 && w.Text[0] == '-' && strings.Trim(w.Text[1:], "rwxXst") == ""
	}
	if !slices.ContainsFunc(inv.args, isMode) {
		list = list[min(1, len(list)):]
	}
	inv.args = list
	a.checkEachWrite(inv)
}

func isRemote(p string) bool {
	at := strings.IndexByte(p, ':')
	return at > 1 && !strings.ContainsAny(p[:at], "/$") || strings.HasPrefix(p, "rsync://") || strings.HasPrefix(p, "scp://")
}

// classifyWord classifies the path in w, relative to dir.
func (a *assessor) classifyWord(dir string, w *call.Word) paths.Class {
	text := paths.ToSlashes(w.Text)
	switch {
	case w.Subs != (call.Range{}):
		return paths.Unknown
	case len(w.Vars) > 0 && strings.Contains(text, call.Expansion):
		return a.classifyVariable(dir, w)
	case w.Dynamic:
		return paths.Unknown
	case strings.HasPrefix(text, "~"): // also "$HOME"
		if text != "~" && text[1] != '/' { // another user's home
			return paths.Outside
		}
		return a.ClassifyHome(text[1:])
	}
	return a.Classify(dir, text)
}

// classifyVariable classifies a path that contains a variable.
func (a *assessor) classifyVariable(dir string, w *call.Word) paths.Class {
	v := w.Vars[0]
	if at := strings.Index(w.Text, call.Expansion); at > 0 { // the part before the variable decides
		if to := strings.LastIndexByte(w.Text[:at], '/'); to > 0 {
			return max(a.Classify(dir, w.Text[:to]), paths.Unknown)
		}
		return paths.Unknown
	}
	_, rest, ok := strings.Cut(w.Text, "/")
	switch v.Name {
	case "USERPROFILE":
		return a.ClassifyHome(rest)
	case "PWD", "CLAUDE_PROJECT_DIR", "GITHUB_WORKSPACE", "CI_PROJECT_DIR", "WORKSPACE":
		return a.Classify(a.CWD, "./"+rest)
	case "TMPDIR", "TMP", "TEMP", "RUNNER_TEMP":
		return paths.Temporary
	}
	switch {
	case !v.MayBeEmpty || v.IsAssigned || a.assigned[v.Name]:
		return paths.Unknown
	case ok && strings.Trim(rest, "*./") == "":
		return paths.Protected // "$X/" is the root if X is empty
	default:
		return paths.Unset
	}
}
