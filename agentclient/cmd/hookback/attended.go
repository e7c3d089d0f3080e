package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// attended reports whether it is certain that a person sits at the agent that started
// this hook: its process reads from a terminal and writes to one, and was started
// without any of these arguments. It looks into /proc, so only Linux is ever certain.
func attended(without ...string) bool {
	pid := os.Getppid()
	for range 4 {
		p := proc(strconv.Itoa(pid))
		args, err := p.list("cmdline")
		if err != nil || p.titled(args) {
			return false
		}
		if !slices.Contains(shells, filepath.Base(strings.TrimPrefix(args[0], "-"))) {
			env, err := p.list("environ") // what the agent keeps from its hooks counts, too
			piped := slices.Contains(env, "CI=true") || slices.Contains(env, "GITHUB_ACTIONS=true")
			return err == nil && !piped && p.terminal(0) && p.terminal(1) && !slices.ContainsFunc(args[1:], among(without))
		}
		if pid, err = p.parent(); err != nil {
			return false
		}
	}
	return false
}

// shells may stand between an agent and its hook.
var shells = []string{"sh", "bash", "dash", "ash", "zsh", "ksh", "fish", "busybox"}

// among tells the arguments that are one of these words: also with a value behind =,
// also a letter among other letters. What only looks like one, such as the text of
// another argument, makes it uncertain.
func among(words []string) func(arg string) bool {
	return func(arg string) bool {
		name, _, _ := strings.Cut(arg, "=")
		letters := strings.HasPrefix(arg, "-") && !strings.HasPrefix(arg, "--")
		return slices.ContainsFunc(words, func(word string) bool {
			return name == word || letters && len(word) == 2 && word[0] == '-' && strings.Contains(arg, word[1:])
		})
	}
}

// proc is a process, by its number.
type proc string

func (p proc) path(name string) string { return filepath.Join("/proc", string(p), name) }

// list reads a file of texts with a zero byte behind each.
func (p proc) list(name string) ([]string, error) {
	text, err := os.ReadFile(p.path(name))
	return strings.Split(strings.TrimRight(string(text), "\x00"), "\x00"), err
}

// titled reports whether a script may have written a title over its arguments.
func (p proc) titled(args []string) bool {
	if len(args) > 1 {
		return false
	}
	program, err := os.Readlink(p.path("exe"))
	return err != nil || slices.Contains([]string{"node", "bun", "deno"}, filepath.Base(program))
}

// terminal reports whether a file that the process has open is a terminal.
func (p proc) terminal(fd int) bool {
	to, err := os.Readlink(p.path(fmt.Sprintf("fd/%d", fd)))
	return err == nil && (strings.HasPrefix(to, "/dev/pts/") || strings.HasPrefix(to, "/dev/tty") || to == "/dev/console")
}

func (p proc) parent() (int, error) {
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
