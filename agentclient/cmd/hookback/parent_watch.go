package main

import (
	"os"
	"time"
)

// parentPollInterval is how often a waiting hook looks after its agent.
const parentPollInterval = 500 * time.Millisecond

// onParentExit calls f when the program that started this one is gone. Claude Code runs
// a hook in a session of its own: when it is killed, nothing tells the hook, which
// would ask a person on behalf of nobody until its deadline.
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
