package hookrun

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// parentPollInterval is the interval at which a waiting hook checks its parent process.
const parentPollInterval = 500 * time.Millisecond

// agentProcess is the process that runs the hook.
type agentProcess struct {
	parent int // of the hook
	agent  int // the parent, or the process that started the shell that is the parent
}

// findAgentProcess returns the agent's process. It reads /proc to look behind a shell, so on
// systems other than Linux the parent counts as the agent.
func findAgentProcess() agentProcess {
	a := agentProcess{parent: os.Getppid(), agent: os.Getppid()}
	p := process(strconv.Itoa(a.parent))
	args, err := p.readList("cmdline")
	if err != nil || !slices.Contains(shells, filepath.Base(strings.TrimPrefix(args[0], "-"))) {
		return a
	}
	if pid, err := p.parentPID(); err == nil && pid > 1 {
		a.agent = pid
	}
	return a
}

// interruption returns why a hook that was interrupted stops waiting: its user dismissed the
// agent's prompt, or the agent has exited.
func (a agentProcess) interruption() error {
	if os.Getppid() == a.parent || a.agent != a.parent && isRunning(a.agent) {
		return errDismissed
	}
	return errAgentExited
}

// interruption returns why the hook stops waiting after a signal. OpenCode's plugin ends it when the prompt
// there was answered, either way.
func (h *hookRun) interruption(a agentProcess) error {
	if err := a.interruption(); !errors.Is(err, errDismissed) || h.agent.Name != "opencode" {
		return err
	}
	return errAnsweredThere
}

func isRunning(pid int) bool {
	p, err := os.FindProcess(pid)
	return err == nil && p.Signal(syscall.Signal(0)) == nil
}

// onParentExit calls f when the parent process has exited. Claude Code runs each hook in
// a separate session, so a killed agent does not signal its hooks: they would wait for an
// answer until their deadline. stop ends the watch.
func onParentExit(f func()) (stop func()) {
	parent, done := os.Getppid(), make(chan struct{})
	ticker := time.NewTicker(parentPollInterval)
	go func() {
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				if os.Getppid() != parent {
					f()
					return
				}
			case <-done:
				return
			}
		}
	}()
	return func() { close(done) }
}
