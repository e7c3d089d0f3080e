package install

import (
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/hookback/hookback/agentclient/call"
)

// hookCommand is the command that a handler runs.
type hookCommand struct {
	binary string // absolute path, or "hookback" to search the PATH
	args   []string
}

// programName is the program in a command line without a path.
const programName = "hookback"

// waitCommand is the command of hookback that wakes idle sessions.
const waitCommand = "wait"

// hookArguments returns the arguments of hookback hook for an event.
func (a *agentConfig) hookArguments(e event, o Options) []string {
	args := []string{"hook", a.name}
	if e.wake {
		args[0] = waitCommand
	}
	if o.forPlugin {
		args = append(args, "--plugin")
	}
	if gates := e.mode != observe && o.Mode != Observe && !e.allEvents; gates || a.format.needsEventFlag || o.forPlugin {
		args = append(args, "--event", e.name)
	}
	switch {
	case o.Mode == Observe:
		args = append(args, "--observe")
	case e.mode != observe && !e.fixedTimeout:
		args = append(args, "--limit", strconv.Itoa(e.timeout(o.Mode))+"s")
	}
	if o.Hub != "" {
		args = append(args, "--hub", a.hubFlag(o.Hub))
	}
	if o.KnownHubs != "" {
		args = append(args, "--known-hubs", o.KnownHubs)
	}
	return args
}

// hubFlag returns the hub's address in the form that the agent's file can hold.
func (a *agentConfig) hubFlag(hub string) string {
	if a.format.forbidsSlashes {
		return strings.TrimPrefix(hub, "http://")
	}
	return hub
}

// timeout returns the agent's timeout for this hook in seconds.
func (e event) timeout(m Mode) int {
	switch {
	case e.timeoutSeconds > 0:
		return e.timeoutSeconds
	case e.wake:
		return wakeSeconds
	case e.mode == observe || m == Observe:
		return observeSeconds
	case e.mode == block:
		return blockSeconds
	}
	return askSeconds
}

// line returns the command line for a shell.
func (c hookCommand) line() string {
	line := quoteWord(c.binary)
	for _, a := range c.args {
		line += " " + quoteWord(a)
	}
	return line
}

// guardedLine returns the command line for a POSIX shell. If the binary is missing, the
// line exits with no opinion. Otherwise the shell's error would block every tool in
// Gemini CLI, and other agents would show it with each call.
func (c hookCommand) guardedLine(windows bool) string {
	line := c.line()
	switch {
	case windows:
		return line
	case c.binary == programName:
		return "command -v " + programName + " >/dev/null 2>&1 || exit 0; exec " + line
	default:
		return "[ -x " + quoteWord(c.binary) + " ] || exit 0; exec " + line
	}
}

// quoteWord quotes s for a POSIX shell if necessary.
func quoteWord(s string) string { return call.Quote(s, "_@%+=:,./-", call.POSIX) }

// splitWords splits a simple command line. ok is false for a line with any shell syntax
// other than quoting.
func splitWords(line string) (all []string, ok bool) {
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
	guardedLine     = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?s)^\[ -x (.+) \] \|\| exit 0; exec (.+)$`) })
	pathGuardedLine = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?s)^command -v hookback >/dev/null 2>&1 \|\| exit 0; exec (.+)$`)
	})
)

// isGuarded reports whether a shell's command line has no effect without its program.
func isGuarded(line string) bool {
	return guardedLine().MatchString(line) || pathGuardedLine().MatchString(line)
}

// parseCommand parses a shell's command line if it has the form of guardedLine or is a
// plain invocation of a program.
func parseCommand(line string) (hookCommand, bool) {
	guard := ""
	if m := guardedLine().FindStringSubmatch(line); m != nil {
		guard, line = m[1], m[2]
	} else if m := pathGuardedLine().FindStringSubmatch(line); m != nil {
		guard, line = programName, m[1]
	}
	all, ok := splitWords(line)
	if !ok || len(all) == 0 {
		return hookCommand{}, false
	}
	if guard != "" {
		if w, ok := splitWords(guard); !ok || len(w) != 1 || w[0] != all[0] {
			return hookCommand{}, false
		}
	}
	return hookCommand{all[0], all[1:]}, true
}

// isOurs reports whether c is Hookback's hook for this agent. The program must be named
// hookback, with an absolute path or from the PATH, or be listed in the manifest.
func (c hookCommand) isOurs(agent string, known []string) bool {
	base := strings.TrimSuffix(filepath.Base(c.binary), ".exe")
	named := base == programName && (c.binary == programName || c.binary == programName+".exe" || isAbs(c.binary))
	if !named && !slices.Contains(known, c.binary) {
		return false
	}
	return len(c.args) >= 2 && (c.args[0] == "hook" || c.wakes()) && c.args[1] == agent
}

// wakes reports whether c waits in the background to wake idle sessions.
func (c hookCommand) wakes() bool { return len(c.args) > 0 && c.args[0] == waitCommand }

var driveLetter = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z]:[\\/]`) })

// isAbs also accepts Windows paths, because settings can be shared between systems.
func isAbs(path string) bool { return strings.HasPrefix(path, "/") || driveLetter().MatchString(path) }
