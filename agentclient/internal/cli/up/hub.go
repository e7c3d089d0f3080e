package up

import (
	"context"
	"time"

	"github.com/hookback/hookback/agentclient/internal/cli/desktop"
)

// serviceTimeout limits the start of a service.
const serviceTimeout = 10 * time.Second

// waitReady waits until the hub at url is ready.
func waitReady(ctx context.Context, url string) (desktop.Hub, error) {
	ctx, cancel := context.WithTimeout(ctx, serviceTimeout)
	defer cancel()
	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	for {
		var health struct{}
		err := desktop.Get(ctx, url+"/readyz", &health)
		if err == nil {
			return desktop.Probe(ctx, url)
		}
		select {
		case <-ctx.Done():
			return desktop.Hub{}, err
		case <-again.C:
		}
	}
}
