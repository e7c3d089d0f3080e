package app

import (
	"context"
	"time"

	"github.com/hookback/hookback/server/internal/feed"
)

const signHeadEvery = time.Minute

// runLedgerHeads signs the head of the ledger every minute, until ctx ends. It starts with it.
func (a *App) runLedgerHeads(ctx context.Context) error {
	for {
		if err := a.store.SignLedgerHead(ctx); err != nil && ctx.Err() == nil {
			a.log.Error("audit log head not signed", "retry_in", signHeadEvery, "err", err)
		}
		if !feed.Sleep(ctx, signHeadEvery) {
			return nil
		}
	}
}
