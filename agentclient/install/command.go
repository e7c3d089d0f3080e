package install

import (
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// call is what a handler runs: a binary and its arguments.
type call struct {
	binary string // absolute, or "hookback" for whichever is on the PATH
	args   []string
}

// name of the program, as a command line without a path has it.
const program = "hookback"

// arguments are those of hookback hook for an event.
func (w *wiring) arguments(e event, o Options) []string {
	args := []string{"hook", w.agent}
	if w.form.event {
		args = append(args, "--event", e.name)
	}
	switch {
	case o.Mode == Observe:
		args = append(args, "--observe")
	case e.does != tells:
		args = append(args, "--limit", strconv.Itoa(e.limit(o.Mode))+"s")
	}
	if o.Hub != "" {
		args = append(args, "--hub", w.hubFlag(o.Hub))
	}
	return args
}

// hubFlag is the hub's address as this agent's file may hold it.
func (w *wiring) hubFlag(hub string) string {
	if w.form.slashes {
		return strings.TrimPrefix(hub, "http://")
	}
	return hub
}

// limit is how long the agent lets the hook run, in seconds.
func (e event) limit(m Mode) int {
	switch {
	case e.seconds > 0:
		return e.seconds
	case e.does == tells || m == Observe:
		return briefSeconds
	case e.does == opens:
		return openSeconds
	}
	return waitSeconds
}

// shellLine is the call as a POSIX shell runs it. A binary that is gone is no
// opinion: Gemini CLI would block every tool over the shell's complaint, others
// would show it with each call.
func (c call) shellLine(windows bool) string {
	line := shellWord(c.binary)
	for _, a := range c.args {
		line += " " + shellWord(a)
	}
	switch {
	case windows:
		return line
	case c.binary == program:
		return "command -v " + program + " >/dev/null 2>&1 || exit 0; exec " + line
	default:
		return "[ -x " + shellWord(c.binary) + " ] || exit 0; exec " + line
	}
}

var plainWord = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./*-]+$`) })

// shellWord quotes s for a POSIX shell where that is needed.
func shellWord(s string) string {
	if plainWord().MatchString(s) && !strings.Contains(s, "*") {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// words splits a simple command line; ok is false for anything that needs a shell
// to be understood.
func words(line string) (all []string, ok bool) {
	for line = strings.TrimLeft(line, " "); line != ""; line = strings.TrimLeft(line, " ") {
		word := ""
		for line != "" && line[0] != ' ' {
			switch {
			case line[0] == '\'':
				end := strings.IndexByte(line[1:], '\'')
				if end < 0 {
					return nil, false
				}
				word, line = word+line[1:1+end], line[end+2:]
			case strings.HasPrefix(line, `\'`):
				word, line = word+"'", line[2:]
			case strings.IndexByte("|&;<>()$`\\\"*?[]#~!{}\n\t", line[0]) >= 0:
				return nil, false
			default:
				word, line = word+line[:1], line[1:]
			}
		}
		all = append(all, word)
	}
	return all, true
}

var (
	guarded = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?s)^\[ -x (.+) \] \|\| exit 0; exec (.+)$`) })
	onPath  = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?s)^command -v hookback >/dev/null 2>&1 \|\| exit 0; exec (.+)$`)
	})
)

// readCall takes a shell's command line apart, when it is one that shellLine writes,
// or the plain call of a program.
func readCall(line string) (call, bool) {
	guard := ""
	if m := guarded().FindStringSubmatch(line); m != nil {
		guard, line = m[1], m[2]
	} else if m := onPath().FindStringSubmatch(line); m != nil {
		guard, line = program, m[1]
	}
	all, ok := words(line)
	if !ok || len(all) == 0 {
		return call{}, false
	}
	if guard != "" {
		if w, ok := words(guard); !ok || len(w) != 1 || w[0] != all[0] {
			return call{}, false
		}
	}
	return call{all[0], all[1:]}, true
}

// ours reports whether the call is Hookback's hook for this agent. The program must
// be named hookback and stand at an absolute path or on the PATH, or be one that
// the manifest knows.
func (c call) ours(agent string, known []string) bool {
	base := strings.TrimSuffix(filepath.Base(c.binary), ".exe")
	named := base == program && (c.binary == program || c.binary == program+".exe" || isAbs(c.binary))
	if !named && !slices.Contains(known, c.binary) {
		return false
	}
	return len(c.args) >= 2 && c.args[0] == "hook" && c.args[1] == agent
}

var drive = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z]:[\\/]`) })

// isAbs knows the paths of Windows too: settings may be shared with it.
func isAbs(path string) bool { return strings.HasPrefix(path, "/") || drive().MatchString(path) }
