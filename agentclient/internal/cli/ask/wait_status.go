package ask

import (
	"cmp"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/hookback/hookback/agentclient"
	"github.com/hookback/hookback/agentclient/internal/cli"
)

// waitLine is a status line with the URL of the pending question and the time left. It is
// shown on terminals only.
type waitLine struct {
	w    io.Writer // nil if stderr is not a terminal
	stop chan struct{}
	done sync.WaitGroup
}

func newWaitLine(w io.Writer) *waitLine {
	l := &waitLine{stop: make(chan struct{})}
	if cli.IsTerminal(w) {
		l.w = w
	}
	return l
}

// show updates the line every second until clear is called.
func (l *waitLine) show(w agentclient.WaitStatus) {
	if l.w == nil {
		return
	}
	l.done.Go(func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			fmt.Fprint(l.w, "\r\x1b[K"+waitText(w, time.Now()))
			select {
			case <-tick.C:
			case <-l.stop:
				fmt.Fprint(l.w, "\r\x1b[K")
				return
			}
		}
	})
}

// clear removes the line and stops the updates. It must be called once.
func (l *waitLine) clear() {
	close(l.stop)
	l.done.Wait()
}

// waitText returns the text of the line at the time now.
func waitText(w agentclient.WaitStatus, now time.Time) string {
	text := "Waiting for an answer at " + cmp.Or(w.PageURL, "the dashboard") + " …"
	if w.Deadline.IsZero() {
		return text
	}
	left := max(w.Deadline.Sub(now), 0).Round(time.Second)
	h, m, s := int(left.Hours()), int(left.Minutes())%60, int(left.Seconds())%60
	if h > 0 {
		return fmt.Sprintf("%s %d:%02d:%02d left", text, h, m, s)
	}
	return fmt.Sprintf("%s %d:%02d left", text, m, s)
}
