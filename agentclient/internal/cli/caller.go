package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/hookback/hookback/agentclient/socket"
	"github.com/hookback/hookback/schema"
)

// callTimeout limits one request of a Caller.
const callTimeout = 30 * time.Second

// Caller sends requests to one hub.
type Caller struct {
	flags *Flags
	Hub   string // its address
}

// Caller returns a Caller for a hub of the flags.
func (f *Flags) Caller(hub string) Caller { return Caller{f, hub} }

// Call sends body as JSON and decodes the response. Its errors are those of the hub.
func (c Caller) Call(ctx context.Context, method, path string, body, result any) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, method, socket.HTTPAddress(c.Hub)+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	SetToken(req.Header, c.flags.Options(), c.Hub)
	client := &http.Client{Transport: socket.NewTransport(&http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true})}
	res, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("no hub answers at %s: %w", c.Hub, err)
	}
	defer func() { _ = res.Body.Close() }()
	reply, err := io.ReadAll(io.LimitReader(res.Body, schema.MaxBody))
	if err != nil {
		return err
	}
	if res.StatusCode >= http.StatusBadRequest {
		var p schema.Problem
		if json.Unmarshal(reply, &p) != nil || p.Code == "" {
			return fmt.Errorf("the server at %s replied %s to %s %s, which no hub of this version does", c.Hub, res.Status, method, path)
		}
		return p.Err()
	}
	return json.Unmarshal(reply, result)
}
