package hookrun

import (
	"os"
	"time"
)

// parentPollInterval is the interval at which a waiting hook checks its parent process.
const parentPollInterval = 500 * time.Millisecond

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
