package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
	"unicode"
)

// stateDir is where the program keeps what may be lost, its log and what it could
// not send: $XDG_STATE_HOME/hookback, ~/.local/state/hookback, Library/Application
// Support/hookback on a Mac, %LocalAppData%\hookback on Windows. Empty: this user
// has no such directory.
func stateDir(env func(string) string) string {
	dir := env("XDG_STATE_HOME")
	switch {
	case filepath.IsAbs(dir): // as its specification wants it
	case runtime.GOOS == "windows":
		dir = env("LocalAppData")
	case env("HOME") == "":
		return ""
	case runtime.GOOS == "darwin":
		dir = filepath.Join(env("HOME"), "Library", "Application Support")
	default:
		dir = filepath.Join(env("HOME"), ".local", "state")
	}
	if !filepath.IsAbs(dir) {
		return ""
	}
	return filepath.Join(dir, "hookback")
}

// isRegularFile reports whether it is a file that can be read without waiting: a pipe would
// wait for whoever writes it.
func isRegularFile(file string) bool {
	info, err := os.Stat(file)
	return err == nil && info.Mode().IsRegular()
}

// maxHookLog is when a log is put aside, in bytes. One that was put aside is kept.
const maxHookLog = 256 << 10

// hookLog is the log of hooks, which can say nothing to anybody else. It does its
// best: a home that can't be written to has no log.
type hookLog struct{ file string } // "": none

func newHookLog(env func(string) string) hookLog {
	dir := stateDir(env)
	if dir == "" {
		return hookLog{}
	}
	return hookLog{filepath.Join(dir, "hook.log")}
}

// printf writes one line.
func (l hookLog) printf(format string, args ...any) {
	if l.file == "" {
		return
	}
	if os.MkdirAll(filepath.Dir(l.file), 0o700) != nil {
		return
	}
	switch info, err := os.Stat(l.file); {
	case err == nil && !info.Mode().IsRegular():
		return // to open a pipe would wait for its reader, and the agent with it
	case err == nil && info.Size() > maxHookLog:
		_ = os.Rename(l.file, l.file+".1")
	}
	f, err := os.OpenFile(l.file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	defer func() { _ = f.Close() }()
	text := strings.ToValidUTF8(fmt.Sprintf(format, args...), "�")
	if len(text) > maxHookLog/16 {
		text = text[:maxHookLog/16]
	}
	text = strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && !unicode.IsPrint(r) {
			return '�' // an agent's words are read at a terminal, which obeys some
		}
		return r
	}, text)
	text = strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n\t")
	// In one write, so that lines of hooks that run at the same time don't mix.
	_, _ = f.WriteString(time.Now().UTC().Format("2006-01-02T15:04:05.000Z ") + text + "\n")
}
