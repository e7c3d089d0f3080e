//go:build linux

package peer

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// startBelow starts cmd, which runs this test binary as a descendant that connects, and
// returns that descendant as ProcessOf reports it.
func startBelow(t *testing.T, cmd *exec.Cmd) *Process {
	t.Helper()
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = ln.Close() })
	cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0", childEnv+"="+ln.Addr().String())
	cmd.Stderr = os.Stderr
	if cmd.Stdin == nil {
		stdin, err := cmd.StdinPipe()
		require.NoError(t, err)
		t.Cleanup(func() { _ = stdin.Close() })
	}
	require.NoError(t, cmd.Start())
	conn, err := ln.Accept()
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	p, ok := ProcessOf(endpoints(conn))
	require.True(t, ok)
	return p
}

// waitAfterTest waits for the process when the test is over.
func waitAfterTest(t *testing.T, cmd *exec.Cmd) *exec.Cmd {
	t.Cleanup(func() { _ = cmd.Wait() }) // runs after the cleanups of startBelow
	return cmd
}

func TestParentCommand_SkipsShells(t *testing.T) {
	t.Parallel()
	self := os.Args[0]
	line := "'" + self + "'; true" // not the last command, or the shell would exec it
	script := filepath.Join(t.TempDir(), "hook.sh")
	require.NoError(t, os.WriteFile(script, []byte("#!/bin/sh\n"+line+"\n"), 0o700))
	for name, cmd := range map[string]*exec.Cmd{
		"no shell":        exec.Command(self),
		"a command line":  exec.Command("sh", "-c", line),
		"with options":    exec.Command("sh", "-e", "-o", "nounset", "-uc", line),
		"two shells":      exec.Command("sh", "-c", `sh -c "`+line+`"; true`),
		"a script":        exec.Command(script),
		"a shell's child": exec.Command("sh", script),
		"timeout":         exec.Command("timeout", "60", self),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := startBelow(t, waitAfterTest(t, cmd))
			agent, ok := ParentCommand(p)
			require.True(t, ok, "%v", p)
			require.Equal(t, os.Getpid(), agent.PID)
			require.Equal(t, os.Getpid(), agent.Chain[0].PID)
			require.Len(t, agent.Ancestors, len(agent.Chain)-1)
			exe, err := os.Executable()
			require.NoError(t, err)
			require.Equal(t, exe, agent.Exe)
			require.True(t, IsDescendant(p, agent))
		})
	}
}

// An interactive shell may run anything that the person types, so no parent is reported.
func TestParentCommand_NoneInInteractiveShell(t *testing.T) {
	t.Parallel()
	self := os.Args[0]
	typed := exec.Command("bash", "--rcfile", os.DevNull)
	commands, shell, err := os.Pipe()
	require.NoError(t, err)
	typed.Stdin = commands
	_, err = fmt.Fprintf(shell, "'%s'; true\n", self)
	require.NoError(t, err)
	t.Cleanup(func() { _ = commands.Close() })
	terminal := exec.Command("sh", "-c", "'"+self+"'; true")
	terminal.Stdin = openTerminal(t)
	terminal.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	for name, cmd := range map[string]*exec.Cmd{"an interactive shell": typed, "the session leader of a terminal": terminal} {
		p := startBelow(t, cmd)
		agent, ok := ParentCommand(p)
		require.False(t, ok, "%s: %v", name, agent)
	}
	require.NoError(t, shell.Close())
	_ = typed.Wait()
	require.NoError(t, terminal.Process.Kill())
	_ = terminal.Wait()
}

// openTerminal returns the slave side of a new pseudoterminal.
func openTerminal(t *testing.T) *os.File {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("no terminals here: ", err)
	}
	t.Cleanup(func() { _ = master.Close() })
	require.NoError(t, unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	require.NoError(t, err)
	tty, err := os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|syscall.O_NOCTTY, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = tty.Close() })
	return tty
}

func TestParentCommand_NoneForOrphan(t *testing.T) {
	t.Parallel()
	own, ok := describeProcess(os.Getpid())
	require.True(t, ok)
	first, ok := readStat(1)
	require.True(t, ok)
	up := &Process{Chain: []ProcessRef{own.Chain[0], {PID: 1, Start: first.start}}}
	up.Ancestors = []string{"/lib/init (1)"}
	_, ok = ParentCommand(up)
	require.False(t, ok, "pid 1 adopts orphans")
	user := &Process{Chain: own.Chain}
	user.Ancestors = append([]string{"/usr/lib/systemd/systemd (9)"}, own.Ancestors[1:]...)
	_, ok = ParentCommand(user)
	require.False(t, ok)
	gone := &Process{Chain: []ProcessRef{own.Chain[0], {PID: own.Chain[1].PID, Start: 1}}}
	gone.Ancestors = own.Ancestors
	_, ok = ParentCommand(gone)
	require.False(t, ok, "the PID was reused")
	_, ok = ParentCommand(&Process{})
	require.False(t, ok)
	require.True(t, strings.HasSuffix(own.Ancestors[0], ")"))
}
