package app

import (
	"context"
	"encoding/json"

	"github.com/hookback/hookback/server/internal/testagent"
)

// runTestRequest sends a test request and prints each of its steps as one JSON line, for the program
// that started the hub. The hub goes on without one.
func (a *App) runTestRequest(ctx context.Context) error {
	id, err := a.tests.Start(ctx)
	if err == nil {
		out := json.NewEncoder(a.cfg.Stdout)
		err = a.tests.Follow(ctx, id, func(p testagent.Progress) {
			_ = out.Encode(map[string]testagent.Progress{"testRequest": p}) // its reader is gone, and the hub goes on
		})
	}
	if err != nil && ctx.Err() == nil {
		a.log.Error("test request not sent", "err", err)
	}
	return nil
}
