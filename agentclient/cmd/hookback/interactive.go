package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// isInteractive reports whether it is certain that a person sits at the agent that started
// this hook: its process reads from a terminal and writes to one, and was started
// without any of these arguments. It looks into /proc, so only Linux is ever certain.
func isInteractive(excluded ...string) bool {
	pid := os.Getppid()
	for range 4 {
		p := process(strconv.Itoa(pid))
		args, err := p.readList("cmdline")
		if err != nil || p.mayHaveTitle(args) {
			return false
		}
		if !slices.Contains(shells, filepath.Base(strings.TrimPrefix(args[0], "-"))) {
			env, err := p.readList("environ") // what the agent keeps from its hooks counts, too
			piped := slices.Contains(env, "CI=true") || slices.Contains(env, "GITHUB_ACTIONS=true")
			return err == nil && !piped && p.isTerminal(0) && p.isTerminal(1) && !slices.ContainsFunc(args[1:], anyFlagOf(excluded))
		}
		if pid, err = p.parentPID(); err != nil {
			return false
		}
	}
	return false
}

// shells may stand between an agent and its hook.
var shells = []string{"sh", "bash", "dash", "ash", "zsh", "ksh", "fish", "busybox"}

// anyFlagOf tells the arguments that are one of these words: also with a value behind =,
// also a letter among other letters. What only looks like one, such as the text of
// another argument, makes it uncertain.
func anyFlagOf(flags []string) func(arg string) bool {
	return func(arg string) bool {
		name, _, _ := strings.Cut(arg, "=")
		isShort := strings.HasPrefix(arg, "-") && !strings.HasPrefix(arg, "--")
		return slices.ContainsFunc(flags, func(flag string) bool {
			return name == flag || isShort && len(flag) == 2 && flag[0] == '-' && strings.Contains(arg, flag[1:])
		})
	}
}

// process is a process, by its number.
type process string

func (p process) path(name string) string { return filepath.Join("/proc", string(p), name) }

// readList reads a file of texts with a zero byte behind each.
func (p process) readList(name string) ([]string, error) {
	text, err := os.ReadFile(p.path(name))
	return strings.Split(strings.TrimRight(string(text), "\x00"), "\x00"), err
}

// mayHaveTitle reports whether a script may have written a title over its arguments.
func (p process) mayHaveTitle(args []string) bool {
	if len(args) > 1 {
		return false
	}
	program, err := os.Readlink(p.path("exe"))
	return err != nil || slices.Contains([]string{"node", "bun", "deno"}, filepath.Base(program))
}

// isTerminal reports whether a file that the process has open is a terminal.
func (p process) isTerminal(fd int) bool {
	target, err := os.Readlink(p.path(fmt.Sprintf("fd/%d", fd)))
	return err == nil && (strings.HasPrefix(target, "/dev/pts/") || strings.HasPrefix(target, "/dev/tty") || target == "/dev/console")
}

func (p process) parentPID() (int, error) {
	text, err := os.ReadFile(p.path("stat"))
	if err != nil {
		return 0, err
	}
	// The name stands in parentheses, and may have some itself.
	rest := string(text[strings.LastIndexByte(string(text), ')')+1:])
	fields := strings.Fields(rest)
	if len(fields) < 2 {
		return 0, fmt.Errorf("%s is no status of a process", p.path("stat"))
	}
	return strconv.Atoi(fields[1])
}
