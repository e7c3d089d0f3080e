package hookrun

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// isInteractive reports whether a terminal is certainly attached to the agent that
// started this hook: the agent's stdin and stdout are terminals, it does not run in CI,
// and none of the excluded arguments is on its command line. It reads /proc, so it
// reports false on systems other than Linux.
func isInteractive(excluded ...string) bool {
	pid := os.Getppid()
	for range 4 {
		p := process(strconv.Itoa(pid))
		args, err := p.readList("cmdline")
		if err != nil || p.mayHaveTitle(args) {
			return false
		}
		if !slices.Contains(shells, filepath.Base(strings.TrimPrefix(args[0], "-"))) {
			// The agent's own environment: some agents do not pass CI on to their hooks.
			env, err := p.readList("environ")
			piped := slices.Contains(env, "CI=true") || slices.Contains(env, "GITHUB_ACTIONS=true")
			return err == nil && !piped && p.isTerminal(0) && p.isTerminal(1) && !slices.ContainsFunc(args[1:], matchesAny(excluded))
		}
		if pid, err = p.parentPID(); err != nil {
			return false
		}
	}
	return false
}

// shells are programs that may run between an agent and its hook.
var shells = []string{"sh", "bash", "dash", "ash", "zsh", "ksh", "fish", "busybox"}

// matchesAny returns a predicate that reports whether an argument is one of flags,
// including the forms --flag=value and -xyz. A false match, for example in the text of
// another argument, is safe: the terminal then counts as not attached.
func matchesAny(flags []string) func(arg string) bool {
	return func(arg string) bool {
		name, _, _ := strings.Cut(arg, "=")
		isShort := strings.HasPrefix(arg, "-") && !strings.HasPrefix(arg, "--")
		return slices.ContainsFunc(flags, func(flag string) bool {
			return name == flag || isShort && len(flag) == 2 && flag[0] == '-' && strings.Contains(arg, flag[1:])
		})
	}
}

// process is a process ID as it appears in /proc.
type process string

func (p process) path(name string) string { return filepath.Join("/proc", string(p), name) }

// readList reads a file of NUL-terminated strings, such as cmdline.
func (p process) readList(name string) ([]string, error) {
	text, err := os.ReadFile(p.path(name))
	return strings.Split(strings.TrimRight(string(text), "\x00"), "\x00"), err
}

// mayHaveTitle reports whether a script runtime may have replaced the arguments by a
// process title.
func (p process) mayHaveTitle(args []string) bool {
	if len(args) > 1 {
		return false
	}
	program, err := os.Readlink(p.path("exe"))
	return err != nil || slices.Contains([]string{"node", "bun", "deno"}, filepath.Base(program))
}

// isTerminal reports whether file descriptor fd of the process is a terminal.
func (p process) isTerminal(fd int) bool {
	target, err := os.Readlink(p.path(fmt.Sprintf("fd/%d", fd)))
	return err == nil && (strings.HasPrefix(target, "/dev/pts/") || strings.HasPrefix(target, "/dev/tty") || target == "/dev/console")
}

func (p process) parentPID() (int, error) {
	text, err := os.ReadFile(p.path("stat"))
	if err != nil {
		return 0, err
	}
	// The process name is in parentheses and may contain parentheses.
	rest := string(text[strings.LastIndexByte(string(text), ')')+1:])
	fields := strings.Fields(rest)
	if len(fields) < 2 {
		return 0, fmt.Errorf("parse %s: too few fields", p.path("stat"))
	}
	return strconv.Atoi(fields[1])
}
