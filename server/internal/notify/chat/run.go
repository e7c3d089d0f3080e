package chat

import (
	"context"
	"sync"

	"github.com/hookback/hookback/server/internal/feed"
)

// Reader reads answers from a chat service: from one connection until it ends, or the next ones.
type Reader struct {
	// Read reports whether the service accepted the bot. Without an error it is called again at once.
	Read func(ctx context.Context) (accepted bool, err error)
	// StopReason returns why a bot can't read answers any more; empty: a repetition may succeed.
	StopReason func(err error) string
}

// RunBot takes answers and updates messages until ctx ends.
func (d *Desk) RunBot(ctx context.Context, r Reader, update Update) error {
	var group sync.WaitGroup
	defer group.Wait()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	group.Go(func() { d.readAnswers(ctx, r) })
	return d.settleMessages(ctx, update)
}

// readAnswers reads until ctx ends or the service refuses the bot.
func (d *Desk) readAnswers(ctx context.Context, r Reader) {
	failures := 0
	for ctx.Err() == nil && d.Stopped() == "" {
		accepted, err := r.Read(ctx)
		if ctx.Err() != nil {
			return
		}
		if accepted {
			failures = 0
		}
		if err == nil {
			continue
		}
		if why := r.StopReason(err); why != "" {
			d.Stop(why)
			d.Log.Error("answers from a chat service stopped", "service", d.via, "channel", d.Channel, "err", err)
			return
		}
		failures++
		delay := RetryDelay(err, failures)
		d.Log.Warn("answers from a chat service not read", "service", d.via, "channel", d.Channel, "retry_in", delay, "err", err)
		if !feed.Sleep(ctx, delay) {
			return
		}
	}
}
