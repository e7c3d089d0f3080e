package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"time"

	"github.com/hookback/hookback/agentclient"
	"github.com/hookback/hookback/agentclient/internal/transport"
)

// callTimeout limits one request of Call.
const callTimeout = 30 * time.Second

// Call makes one request to a hub, with the token and with body as JSON unless it is nil, and decodes the
// response. Its errors are those of the hub.
func (f *Flags) Call(ctx context.Context, r transport.Request, body, result any) (err error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if body != nil {
		if r.Body, err = json.Marshal(body); err != nil {
			return err
		}
	}
	token, refused := agentclient.TokenFor(f.Options(), r.Hub)
	client := transport.NewClient()
	defer client.CloseIdleConnections()
	reply, err := transport.Do(ctx, client, r, token, refused)
	for isSlow(err) && ctx.Err() == nil { // the client's limit for a connection is that of hooks
		reply, err = transport.Do(ctx, client, r, token, refused)
	}
	switch {
	case transport.IsUnstored(err):
		return fmt.Errorf("no hub answers at %s: %w", r.Hub, RootCause(err))
	case err != nil:
		return err
	}
	return json.Unmarshal(reply.Body, result)
}

// isSlow reports whether err is a connection that was not made in time.
func isSlow(err error) bool {
	var limit net.Error
	return errors.Is(err, transport.ErrNotListening) && errors.As(err, &limit) && limit.Timeout()
}

// RootCause strips the layers of a network error and returns the innermost one, such as
// "connection refused".
func RootCause(err error) error {
	if inner := (*url.Error)(nil); errors.As(err, &inner) {
		err = inner.Err
	}
	if inner := (*net.OpError)(nil); errors.As(err, &inner) {
		err = inner.Err
	}
	if inner := (*os.SyscallError)(nil); errors.As(err, &inner) {
		err = inner.Err
	}
	if inner := (*net.DNSError)(nil); errors.As(err, &inner) {
		err = inner
	}
	return err
}
