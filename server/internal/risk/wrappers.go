package risk

import (
	"slices"
	"strings"
)

var (
	leftRunning = rule{"background", low, "It keeps running in the background after the call has returned."}
	hiddenEval  = rule{"obfuscated", medium, "It runs a text that is put together only when it runs."}
	decodedRun  = rule{"obfuscated", high, "It decodes a hidden text and runs it as a program."}
	fromNetwork = rule{"pipe_to_shell", high, "It downloads a program and runs it at once, unseen by anyone."}
	startupRule = rule{"autostart", high, "It changes a file that runs, or lets someone in, by itself later on."}
)

// command is the index of the first argument that is no option.
func (r *run) command(valued ...string) int {
	for i := 0; i < len(r.args); i++ {
		text := r.args[i].text
		switch {
		case text == "--":
			return i + 1
		case len(text) > 1 && text[0] == '-':
			if slices.Contains(valued, text) {
				i++
			}
		case isAssignment(&r.args[i]):
		default:
			return i
		}
	}
	return -1
}

func after(valued ...string) func(j *judge, r *run) { return skipping(0, valued...) }

// skipping is for wrappers with n words of their own before the command.
func skipping(n int, valued ...string) func(j *judge, r *run) {
	return func(j *judge, r *run) {
		if i := r.command(valued...); i >= 0 {
			j.inner(r, i+n)
		}
	}
}

func onlyAfter(subs ...string) func(j *judge, r *run) {
	return func(j *judge, r *run) {
		if name, rest := r.sub(); slices.Contains(subs, name) {
			j.inner(rest, rest.command("-e", "--extra", "--env-file", "-p", "-c"))
		}
	}
}

func (j *judge) su(r *run) {
	if script := r.value("-c", "--command"); script != nil {
		j.text(r, script, posix)
	}
}

func (j *judge) env(r *run) {
	if s := r.value("-S", "--split-string"); s != nil {
		j.text(r, s, posix)
		return
	}
	if i := r.command("-u", "--unset", "-C", "--chdir"); i >= 0 {
		j.inner(r, i)
		return
	}
	if r.has("iu0") == nil {
		j.printsEnvironment(r)
	}
}

func (j *judge) watch(r *run) {
	if i := r.command("-n", "--interval"); i >= 0 {
		j.words2script(r, r.args[i:])
	}
}

// words2script judges words that a program joins to a command line.
func (j *judge) words2script(r *run, words []word) {
	switch len(words) {
	case 0:
	case 1:
		j.text(r, &words[0], posix)
	default:
		next := *r
		j.start(&next, words)
	}
}

func (j *judge) xargs(r *run) {
	if i := r.command("-n", "-P", "-L", "-I", "-J", "-d", "-s", "-a", "-j", "-E", "--max-args", "--max-procs", "--delimiter", "--jobs", "--arg-file"); i >= 0 {
		r.fed = true
		j.inner(r, i)
	}
}

// shell is sh and its like: a script in -c, or one that comes from somewhere.
func (j *judge) shell(r *run) {
	for i := range r.args {
		w := &r.args[i]
		if !strings.HasPrefix(w.text, "-") && !strings.HasPrefix(w.text, "+") {
			if w.process {
				j.runsOutput(r, w.subs, r.span)
			}
			return
		}
		if isCluster(w.text) && strings.Contains(w.text, "c") {
			if i+1 < len(r.args) {
				j.runsText(r, &r.args[i+1])
			}
			return
		}
	}
	j.fedScript(r)
}

// fedScript is a program that runs what it reads.
func (j *judge) fedScript(r *run) {
	for i := range r.cmd.redirects {
		switch in := &r.cmd.redirects[i]; in.op {
		case "<<", "<<<":
			j.text(r, &in.target, posix)
			return
		case "<":
			if in.target.process {
				j.runsOutput(r, in.target.subs, r.span)
			}
			return
		}
	}
	if len(r.cmd.from) > 0 {
		j.runsOutput(r, r.cmd.from, r.cmd.from[0].span.through(r.span))
	}
}

// runsText is for a word that is run as a script.
func (j *judge) runsText(r *run, w *word) {
	if len(w.subs) > 0 && j.runsOutput(r, w.subs, r.span) {
		return
	}
	if len(w.vars) > 0 && strings.HasPrefix(w.text, "$") && nameLen(strings.Trim(w.text[1:], "{}")) == len(strings.Trim(w.text[1:], "{}")) {
		if !j.assigned[w.vars[0].name] {
			j.add(hiddenEval, r.span)
		}
		return
	}
	j.text(r, w, posix)
}

// runsOutput is for a program that runs what commands print. It reports whether
// that is a finding.
func (j *judge) runsOutput(r *run, from []*command, x span) bool {
	for _, c := range from {
		if j.looks--; j.looks < 0 {
			return false
		}
		if downloads(c) {
			bad := fromNetwork
			if slices.ContainsFunc(r.cmd.words, func(w word) bool { return w.text == "sudo" || w.text == "doas" }) {
				bad = rule{"pipe_to_shell", critical, "It downloads a program and runs it at once as administrator, unseen by anyone."}
			}
			j.add(bad, x)
			return true
		}
		if decodes(c) {
			j.add(decodedRun, x)
			return true
		}
		if j.runsOutput(r, c.from, x) {
			return true
		}
		if name := commandName(c); name == "echo" || name == "printf" {
			j.echoed(r, c)
		}
	}
	return false
}

// echoed judges what echo hands to a shell.
func (j *judge) echoed(r *run, c *command) {
	for i := range c.words[1:] {
		if w := &c.words[i+1]; !strings.HasPrefix(w.text, "-") {
			j.text(r, w, posix)
		}
	}
}

func commandName(c *command) string {
	if len(c.words) == 0 {
		return ""
	}
	return programName(c.words[0].text, posix)
}

// downloads reports whether a command prints what it gets from the network.
func downloads(c *command) bool {
	for i := range c.words {
		switch name := strings.ToLower(programName(c.words[i].text, posix)); name {
		case "curl", "wget", "iwr", "irm", "invoke-webrequest", "invoke-restmethod", "aria2c", "http", "https", "fetch", "nc", "ncat":
			return true
		case "sudo", "doas", "env", "timeout", "time", "nice", "command", "exec":
		default:
			if i == 0 || !strings.HasPrefix(c.words[i-1].text, "-") && !strings.HasPrefix(c.words[i].text, "-") && !isNumber(strings.TrimRight(name, "smh")) {
				return false
			}
		}
	}
	return false
}

// decodes reports whether a command makes text of what nobody can read.
func decodes(c *command) bool {
	has := func(options ...string) bool {
		return slices.ContainsFunc(c.words, func(w word) bool { return slices.Contains(options, w.text) })
	}
	switch commandName(c) {
	case "base64", "base32", "gbase64":
		return has("-d", "-D", "--decode", "-di", "-id")
	case "xxd":
		return has("-r", "-rp", "-pr", "-r -p")
	case "openssl":
		return has("-d")
	case "rev", "uudecode":
		return true
	case "tr":
		return len(c.words) == 3 && strings.Contains(c.words[1].text, "-") && strings.Contains(c.words[2].text, "n-z")
	default:
		return false
	}
}

func (j *judge) eval(r *run) {
	if len(r.args) == 0 {
		if len(r.cmd.from) > 0 { // iwr … | iex
			j.runsOutput(r, r.cmd.from, r.cmd.from[0].span.through(r.span))
		}
		return
	}
	for i := range r.args {
		if len(r.args[i].subs) > 0 {
			j.runsOutput(r, r.args[i].subs, r.span)
			return
		}
	}
	if len(r.args) == 1 {
		j.runsText(r, &r.args[0])
		return
	}
	if r.args[0].dynamic() {
		j.add(hiddenEval, r.span)
		return
	}
	j.inner(r, 0)
}

func (j *judge) source(r *run) {
	if len(r.args) > 0 && r.args[0].process {
		j.runsOutput(r, r.args[0].subs, r.span)
	}
}

func (j *judge) trap(r *run) {
	if len(r.args) > 1 && r.args[0].text != "-" {
		j.text(r, &r.args[0], posix)
	}
}

func (j *judge) pwsh(r *run) {
	for i := range r.args {
		switch text := strings.ToLower(r.args[i].text); {
		case strings.HasPrefix(text, "-enc") || text == "-e" || text == "-ec":
			j.add(decodedRun, r.span)
			return
		case strings.HasPrefix(text, "-c") && i+1 < len(r.args):
			if i+2 == len(r.args) {
				j.text(r, &r.args[i+1], powershell)
			} else {
				next := *r
				next.d = powershell
				j.start(&next, r.args[i+1:])
			}
			return
		}
	}
}

func (j *judge) cmdExe(r *run) {
	for i := range r.args {
		if text := strings.ToLower(r.args[i].text); (text == "/c" || text == "/k") && i+1 < len(r.args) {
			next := *r
			if next.d = cmd; i+2 == len(r.args) {
				j.text(r, &r.args[i+1], cmd)
			} else {
				j.start(&next, r.args[i+1:])
			}
			return
		}
	}
}

func (j *judge) ssh(r *run) {
	i := r.command("-i", "-p", "-l", "-o", "-F", "-J", "-L", "-R", "-D", "-b", "-c", "-E", "-m", "-O", "-Q", "-S", "-W", "-w", "-e", "-I")
	if i < 0 || i+1 >= len(r.args) {
		if i >= 0 && len(r.cmd.redirects) > 0 {
			j.fedScript(r)
		}
		return
	}
	elsewhere := &judge{words: j.words, bytes: j.bytes, looks: j.looks, assigned: j.assigned, found: j.found} // the folder here means nothing there
	remote := *r
	remote.dir, remote.cmd = "", &command{span: r.cmd.span, words: r.cmd.words, scope: &scope{entered: true}}
	elsewhere.words2script(&remote, r.args[i+1:])
	j.words, j.bytes, j.looks, j.found = elsewhere.words, elsewhere.bytes, elsewhere.looks, elsewhere.found
}

func (j *judge) docker(r *run) {
	name, rest := r.sub("-H", "--context", "-f", "--file", "-p", "--project-name")
	if name == "compose" {
		name, rest = rest.sub("-f", "--file", "-p", "--project-name", "--env-file", "--profile")
	}
	if name == "exec" || name == "run" {
		i := rest.command("-e", "--env", "-u", "--user", "-w", "--workdir", "-v", "--volume", "-p", "--publish", "--name", "--network", "--entrypoint", "--env-file", "--mount", "--platform")
		if i >= 0 {
			j.insideContainer(rest, i+1)
		}
	}
}

// insideContainer judges a command that sees another file system.
func (j *judge) insideContainer(r *run, i int) {
	outer := j.place
	j.place = place{}
	defer func() { j.place = outer }()
	next := *r
	next.dir = ""
	j.inner(&next, i)
}

func (j *judge) kubectl(r *run) {
	at := slices.IndexFunc(r.args, func(w word) bool { return w.text == "--" })
	if sub := operand(r.args); at >= 0 && r.args[sub].text == "exec" {
		j.insideContainer(r, at+1)
	}
}
