package up

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"time"
)

// serviceTimeout limits the start of a service.
const serviceTimeout = 10 * time.Second

// hubState describes the hub that answers at a port.
type hubState struct{ version string }

var (
	errForeign  = errors.New("another program answers there")
	errNotReady = errors.New("it is not ready")
)

// client uses no proxy: the hub is on this machine.
var client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 3 * time.Second}

// get decodes the JSON of a response with status 200 into result.
func get(ctx context.Context, address string, result any) error {
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

// probe finds the hub at url. The error is errForeign if another program has the port.
func probe(ctx context.Context, url string) (hubState, error) {
	var id struct {
		HubID string `json:"hubId"`
	}
	err := get(ctx, url+"/api/hub", &id)
	if err == nil && id.HubID != "" {
		var health struct {
			Version string `json:"version"`
		}
		_ = get(ctx, url+"/healthz", &health) // the version is only for a warning
		return hubState{version: health.Version}, nil
	}
	if ctx.Err() != nil {
		return hubState{}, ctx.Err()
	}
	if op := (*net.OpError)(nil); errors.As(err, &op) && op.Op == "dial" && !op.Timeout() {
		return hubState{}, err // the port is free
	}
	return hubState{}, errForeign
}

// waitReady waits until the hub at url is ready.
func waitReady(ctx context.Context, url string) (hubState, error) {
	ctx, cancel := context.WithTimeout(ctx, serviceTimeout)
	defer cancel()
	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	for {
		var health struct{}
		err := get(ctx, url+"/readyz", &health)
		if err == nil {
			return probe(ctx, url)
		}
		select {
		case <-ctx.Done():
			return hubState{}, err
		case <-again.C:
		}
	}
}
