// Package desktop finds the hub on this machine and opens its page in the account's browser.
package desktop

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"time"
)

// Hub describes the hub that answers at a port.
type Hub struct{ Version string }

var (
	// ErrForeign means that another program answers at the port.
	ErrForeign  = errors.New("another program answers there")
	errNotReady = errors.New("it is not ready")
)

// client uses no proxy: the hub is on this machine.
var client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 3 * time.Second}

// Get decodes the JSON of a response with status 200 into result.
func Get(ctx context.Context, address string, result any) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return err
	}
	res, err := client.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return errNotReady
	}
	return json.NewDecoder(io.LimitReader(res.Body, 1<<20)).Decode(result)
}

// Probe finds the hub at url. The error is ErrForeign if another program has the port.
func Probe(ctx context.Context, url string) (Hub, error) {
	var id struct {
		HubID string `json:"hubId"`
	}
	err := Get(ctx, url+"/api/hub", &id)
	if err == nil && id.HubID != "" {
		var health struct {
			Version string `json:"version"`
		}
		_ = Get(ctx, url+"/healthz", &health) // the version is only for a warning
		return Hub{Version: health.Version}, nil
	}
	if ctx.Err() != nil {
		return Hub{}, ctx.Err()
	}
	if op := (*net.OpError)(nil); errors.As(err, &op) && op.Op == "dial" && !op.Timeout() {
		return Hub{}, err // the port is free
	}
	return Hub{}, ErrForeign
}
