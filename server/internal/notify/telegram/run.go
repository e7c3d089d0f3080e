package telegram

import (
	"context"
	"sync"
)

// Run takes answers and updates messages until ctx ends.
func (b *Bot) Run(ctx context.Context) error {
	var group sync.WaitGroup
	defer group.Wait()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	group.Go(func() { b.poll(ctx) })
	err := b.settleMessages(ctx)
	if ctx.Err() != nil {
		return nil
	}
	return err
}
